"""Bodies as they must never be, and how to put them in the place of sound ones."""

from typing import cast

from queuepool.testing import MemoryServer
from tests.contract.world import World

SOUND = b"12019a3b2c4d57a105group" + b'["work",{"n":1}]'

DAMAGED = {
    "empty": b"",
    "one byte": SOUND[:1],
    "cut in the stamp": SOUND[:5],
    "cut before the size": SOUND[:16],
    "cut in the size": SOUND[:17],
    "cut before the group": SOUND[:18],
    "cut in the group": SOUND[:20],
    "cut before the envelope": SOUND[:23],
    "cut in the envelope": SOUND[:-5],
    "of layout 9": b"9" + SOUND[1:],
    "of tier 7": b"17" + SOUND[2:],
    "of tier x": b"1x" + SOUND[2:],
    "of no time": SOUND[:2] + b"z" * 11 + SOUND[13:],
    "of no slot": SOUND[:13] + b"zzz" + SOUND[16:],
    "of no size": SOUND[:16] + b"zz" + SOUND[18:],
    "of size -1": SOUND[:16] + b"-1" + SOUND[18:],
    "of size 0": SOUND[:16] + b"00" + SOUND[18:],
    "of size 255": SOUND[:16] + b"ff" + SOUND[18:],
    "of random bytes": b"\xff\x00\x0d\x0a{}\xfe garbage of some length",
    "of null": SOUND[:23] + b"null",
    "of a task that is a number": SOUND[:23] + b"[7,{}]",
    "of invalid UTF-8": SOUND[:23] + b'["work",{"n":"\xff"}]',
    "of depth 100,000": SOUND[:23] + b'["work",{"n":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
}


def replace(world: World, job_id: str, body: bytes) -> None:
    """Put these bytes in the place of a stored body."""
    if world.in_memory:
        server = cast(MemoryServer, world.partition.server)
        server.data(world.partition.key).jobs[job_id.encode()] = body
    else:
        world.client.hset(world.partition.key + b":j", job_id, body)


def stored(world: World, job_id: str) -> bytes | None:
    """Return a stored body."""
    if world.in_memory:
        server = cast(MemoryServer, world.partition.server)
        return server.data(world.partition.key).jobs.get(job_id.encode())
    return cast("bytes | None", world.client.hget(world.partition.key + b":j", job_id))
