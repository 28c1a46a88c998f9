"""Groups that are spread over several slots, so that more than one process runs them. Pure.

    part 0      the group itself, at its own slot: its record says over how many slots it is spread
    part 1..    a group of its own at another slot; its name is that of the group, marked

    FF FF FF 01 import-7      part 1 of group import-7
    FF FF acme FF FF FF FF 02 import-7      part 2 of group import-7 of tenant acme

No text is such a name, and a key of bytes that looks like one is replaced by its digest. Which
slots a group gets depends on its name (shuffle sharding), so two large groups rarely share all of
them; and part n is at the same slot however many parts there are, so that a group can be spread
over more later. Slots of parts are a prime number of slots apart, so up to 16 parts, or any number
where the one of partitions divides that of slots, are in different partitions if there are as many
(unless their number is a multiple of that prime, which is at least 67).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any
from zlib import crc32

from queuepool.errors import InvalidInputError
from queuepool.models.spread import MARK
from queuepool.models.tenants import key_in, prefix_of, tenant_of
from queuepool.routing.slots import MAX_GROUP_BYTES, SLOTS

MOST_PARTS = 64
_STEPS = (67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127)


def check_spread(spread: object) -> int:
    """Return over how many slots a caller spreads a group. Raises InvalidInputError."""
    if type(spread) is not int or not 1 <= spread <= MOST_PARTS:
        raise InvalidInputError(
            f"spread={spread!r}: use 2 to {MOST_PARTS} slots, about as many as processes are to "
            "run the group; 1: it is not spread"
        )
    return spread


def part_of_group(group: bytes, part: int) -> bytes:
    """Return the name of a part; part 0 is the group itself."""
    if not part:
        return group
    tenant = tenant_of(group)
    prefix, key = prefix_of(tenant) if tenant else b"", key_in(group)
    mark = b"%s%c" % (MARK, part)
    if len(prefix) + len(mark) + len(key) > MAX_GROUP_BYTES:
        key = blake2b(key, digest_size=16).digest()
    return prefix + mark + key


def slot_of_part(slot: int, group: bytes, part: int) -> int:
    """Return the slot of a part, given that of the group."""
    drawn = int.from_bytes(blake2b(group, digest_size=8, person=b"spread").digest(), "big")
    step = _STEPS[drawn % len(_STEPS)]
    if slot >= SLOTS // 2:  # downwards, so that few parts do not go round the end
        step = -step
    return (slot + part * step) % SLOTS


def part_of_job(job_id: bytes, parts: int) -> int:
    """Return the part for a job whose id its producer chose: each time the same."""
    return crc32(job_id) % parts


def shares(most: int, parts: int) -> list[int]:
    """Return how many jobs each part may run at once, of those of a group. 0: any number."""
    return [most // parts + (n < most % parts) for n in range(parts)] if most else [0] * parts


def refuse_unfit(chunk: Any) -> Any:
    """Return a chunk of jobs of a spread group. Raises InvalidInputError for unique keys."""
    if any(chunk.wishes[2::5]):
        raise InvalidInputError(
            "a job of a spread group cannot have a unique key, which counts within one partition: "
            "use a job_id, or do without spread"
        )
    return chunk
