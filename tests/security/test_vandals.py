"""A stolen producer's password writes nonsense wherever it may, beside a consumer that works.

Each act of vandalism is followed by an honest job of another group: it runs within a bound, by the
same consumer, which no act ends. At the end an audit puts in order what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import QueuePool
from queuepool.errors import QueueFullError, ScriptError
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import PARTITION_KEYS
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.verbs.acl import ROLES
from tests.integration.consumer.processes import ConsumerProcess, Records
from tests.security.roles import GuardedServer
from tests.waiting import wait_until

Act = tuple[str | bytes | int | float, ...]  # a command; its key is the suffix alone

NUMBERS = (
    *(b"", b"notanumber", b"NaN", b"inf", b"-inf", b"1e400", b"1e300", b"-1e300", b"-7", b"2.5"),
    *(b"99999999999999999999", b"9223372036854775807", b"-9223372036854775808", b"0x7fffffff"),
    *(b"\xff\xfe", b"1\x00", b" 1", b"x" * 100_000),
)
COUNTERS = (
    *("r0", "r1", "r2", "r3", "k0", "k1", "k2", "k3", "bytes", "dead_bytes", "largest", "cut"),
    *("aside", "dn", "dn_since", "enqueued", "done", "duplicate", "recovered", "fenced", "died"),
)
TOTALS = (
    *("total", "left", "done", "dead", "cancelled", "delayed", "evicted", "discarded"),
    *("created", "finished", "cancelled_at"),
)
IDS = (b"", b"\xff\xfe\xfd", b"a\r\nb", b"\x1b[2J", b"x" * 65, b"x" * 5000, b"y" * 2_000_000)
SEATS = (
    b"",
    b"2",
    b"x" * 12,
    b"9" + b"0" * 11 + b"g",
    b"\xff" * 20,
    b"2zzzzzzzzzzzg",
    b"x" * 50_000,
)
BODY = b"121a202d9ea6c00701v" + b'["work",{}]'


def counters() -> Iterator[Act]:
    for field in COUNTERS:
        for value in NUMBERS:
            yield "HSET", "c", field, value
    yield "HSET", "c", *[x for n in range(1000) for x in (f"junk{n}", "x")]


def totals() -> Iterator[Act]:
    for field in TOTALS:
        for value in NUMBERS:
            yield "HSET", "g:victims", field, value


def notes() -> Iterator[Act]:
    for key in ("at", "cr", "er", "cn", "cx", "ua"):
        for n, value in enumerate(NUMBERS):
            yield "HSET", key, f"victim-{key}-{n}", value
        for job_id in IDS:
            yield "HSET", key, job_id, 1


def lanes() -> Iterator[Act]:
    for seat in SEATS:
        for tier in range(4):
            yield "RPUSH", f"ring:{tier}", seat, seat
    yield "RPUSH", "ring:2", *[b"2%011x%d" % (n, n) for n in range(3000)]
    for job_id in IDS:
        yield "RPUSH", "q:2:victims", job_id, job_id
        yield "HSET", "j", job_id, BODY
        yield "RPUSH", "q:2:v", job_id
        yield "RPUSH", "ring:2", b"2%011xv" % 1
    yield "RPUSH", "q:x:odd", b"odd"
    yield "HSET", "j", b"odd", BODY
    yield "RPUSH", "ring:2", b"x%011xodd" % 1
    yield "HSET", "j", b"huge", BODY + b" " * (70 * 1024**2)
    yield "RPUSH", "q:2:v", b"huge"
    yield "RPUSH", "ring:2", b"2%011xv" % 1
    yield "RPUSH", "wk", *[b"w"] * 500, b"", b"\xff", b"x" * 100_000


def delayed() -> Iterator[Act]:
    for score in ("-inf", "inf", "1e300", "-1e300", "0", "0.5"):
        for job_id in (b"nobody", *IDS):
            yield "ZADD", "dl", score, job_id
            yield "SADD", "dg:victims", job_id


def gates() -> Iterator[Act]:
    names = (b"", b",,", b"mail,mail", b",mail", b"a b", b"\xff\xfe", b"x" * 5000, b"mail")
    for gate in names:
        yield "HSET", "gt", gate, 5
        yield "HSET", "ga", gate, NUMBERS[len(gate) % len(NUMBERS)]
        yield "RPUSH", b"gr:2:" + gate, b"victims", b"", b"\xff", b"nobody"
        yield "RPUSH", b"gq:2:" + gate + b"~victims", *IDS[:-1]
        yield "SADD", "gg:victims", b"2:" + gate, gate, b"9:" + gate
        for number, state in enumerate((b"p", b"0", b"c", b"", b"9" * 20)):
            yield "HSET", "lm", f"victim-at-{number}", state + b"|" + gate
    yield "HSET", "gt", *[x for n in range(3000) for x in (f"junk{n}", "3")]


def batches() -> Iterator[Act]:
    name = b"AAabcdefghijkl"
    sound = {"state": "open", "then": "victim", "how": "f", "late": "f", "due": "1", "keep": "1"}
    sound |= {"sealed": "1", "total": "1", "done": "1"}
    for field in (*sound, "top", "swept", "part", "tells", "graph", "said", "returns"):
        for value in NUMBERS[:8] if field != "part" else (b"f", b"s", b"g", b"\xff"):
            fields: list[str | bytes] = [x for pair in sound.items() for x in pair]
            yield "HSET", b"b:" + name, *fields, field, value
            yield "ZADD", "bd", "0", name
    for score in ("inf", "-inf", "1e300"):
        yield "ZADD", "bd", score, b"", score, b"\xff", score, b"x" * 5000, score, name + b"-video"
    children = (b"AA" + name + b"~0", b"AA" + name + b"~99999999", b"zz" + name + b"-video~1")
    for job_id in (*IDS[:-1], *children):
        for end in (b"", b"d", b"x00000000000\xff", b"qzzzzzzzzzzz", b"x" + b"f" * 11 + b"{bad"):
            yield "XADD", "fo", "*", job_id, end, job_id, end


def types() -> Iterator[Act]:
    """Every key that a producer may write becomes a value of another type."""
    writable = [s for s in PARTITION_KEYS if s.partition(":")[0] in ROLES["producer"].writes]
    for suffix in writable:
        kind = PARTITION_KEYS[suffix][0]
        stem, _, rest = suffix.partition(":")
        names = {"": [stem], "<set>": ["dn:0", "dn:1"], "<tier>": ["ring:2"]}
        for key in names.get(
            rest, [f"{stem}:{rest.replace('<tier>', '2').replace('<group>', 'victims')}"]
        ):
            yield "SEIZE", key, "SADD" if kind in ("LIST", "HASH") else "RPUSH"


FAMILIES: tuple[Callable[[], Iterator[Act]], ...] = (
    *(counters, totals, notes, lanes, delayed, gates, batches, types),
)
_BOUND_S = 60.0


class Scene:
    """A partition with a consumer, an honest producer, and one that went bad."""

    def __init__(self, guarded: GuardedServer, directory: Path) -> None:
        topology = single(guarded.url("producer"), 1)
        self.pool = QueuePool(config=PoolConfig(topology=topology, keyspace=guarded.space))
        ops = PoolConfig(topology=single(guarded.url("ops"), 1), keyspace=guarded.space)
        self._ops = QueuePool(config=ops)
        self.partition: Partition = self._ops.partition(0)
        self.vandal: Any = redis.Redis.from_url(guarded.url("admin"))
        self._seize = self.vandal.register_script(
            "redis.call('UNLINK', KEYS[1]) redis.call(ARGV[1], KEYS[1], 'x')"
        )
        self.records = Records(directory)
        self.consumer = ConsumerProcess(
            guarded.url("consumer"), guarded.space.stage, directory, metrics_port=0
        )
        self._honest = 0

    def commit(self, act: Act) -> None:
        """Do what a producer's user may do without our scripts."""
        command, suffix, *words = act
        suffix = suffix.encode() if isinstance(suffix, str) else suffix
        assert isinstance(suffix, bytes)
        key = self.partition.key + b":" + suffix
        if command == "SEIZE":  # any role may load any script
            self._seize(keys=[key], args=words)
        else:
            self.vandal.execute_command(command, key, *words)

    def enqueue(self, group: str, job_id: str | None = None, limit: tuple[str, ...] = ()) -> str:
        """Enqueue a job, as often as it takes until a refusal is over."""
        accepted: list[str] = []

        def is_accepted() -> bool:
            try:
                accepted.append(
                    self.pool.enqueue(
                        "work", {}, partition_key=group, job_id=job_id, limit=limit
                    ).job_id
                )
            except (ScriptError, QueueFullError):
                return False
            return True

        wait_until(is_accepted, _BOUND_S, f"{group} is enqueued:\n{self.consumer.log}")
        return accepted[-1]

    def honest_jobs_run(self) -> None:
        """Fail unless a job of another group, enqueued now, is run within the bound."""
        self._honest += 1
        job_id = self.enqueue(f"honest-{self._honest % 7}")
        wait_until(
            lambda: self.records.begun()[job_id] > 0, _BOUND_S, f"it runs:\n{self.consumer.log}"
        )

    def close(self) -> None:
        self.consumer.kill()
        for each in (self.pool, self._ops, self.vandal):
            each.close()


@pytest.fixture
def scene(guarded: GuardedServer, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(guarded, tmp_path)
    yield made
    made.close()


# On one engine: what scripts make of damaged values on each, tests/contract tries.
@pytest.mark.parametrize("engine_binary", ["bundled"], indirect=True, scope="session")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_nothing_that_a_producer_may_write_stops_a_partition(
    scene: Scene, family: Callable[[], Iterator[Act]]
) -> None:
    scene.honest_jobs_run()

    for number, act in enumerate(family()):
        scene.commit(act)
        if act[1] in ("at", "cr"):
            scene.enqueue("victims", f"victim-{act[1]}-{number % len(NUMBERS)}")
        elif act[1] == "lm":
            scene.enqueue("victims", str(act[2]), ("mail",))
        else:
            scene.enqueue("victims")
        if family is types or number % 5 == 0:
            scene.honest_jobs_run()
    scene.honest_jobs_run()

    assert scene.consumer.is_running(), scene.consumer.log
    assert "Traceback" not in scene.consumer.log
    assert scene.consumer.get("/healthz")[0] == 200
    wait_until(
        lambda: scene.partition.observe().backlog <= 0 or scene.partition.audit(repair=True).clean,
        _BOUND_S,
    )
    wait_until(lambda: scene.partition.audit(repair=True).clean, _BOUND_S, "an audit ends clean")
    assert scene.consumer.stop() == 0
