"""What is asked behind an enqueue, what the answers mean, which chunks are confirmed together."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from queuepool import (
    ConfigurationError,
    Durability,
    EnqueueStatus,
    InvalidInputError,
    NotConfirmedError,
    PoolConfig,
    UnavailableError,
    UnconfirmableError,
)
from queuepool.client.chunks import Chunk
from queuepool.client.delivery import answers, call, note_settled
from queuepool.client.durability import Confirmation, batched, confirmation_for
from queuepool.client.results import EnqueueResults
from queuepool.errors import ScriptError
from queuepool.routing.topology import single
from queuepool.servers import wire
from queuepool.testing import MemoryPool, run_jobs
from queuepool.verbs import Verb
from queuepool.verbs.producer import confirm

UNKNOWN_COMMAND = ScriptError("h:1 refused: unknown command 'WAITAOF', with args. See the log.")
ALWAYS = [b"appendonly", b"yes", b"appendfsync", b"always", b"no-appendfsync-on-rewrite", b"no"]


def changed(place: int, value: bytes) -> list[bytes]:
    """Return the settings of a server that always fsyncs, but for one."""
    return [*ALWAYS[:place], value, *ALWAYS[place + 1 :]]


def asked(durability: str, replicas: int | None = None) -> Confirmation:
    config = PoolConfig(
        topology=single("redis://h", 4), durability=durability, confirm_replicas=replicas
    )
    return confirmation_for(config, None)


def words(confirmation: Confirmation) -> list[list[Any]]:
    return [list(verb.args) for verb in confirmation.verbs]


def chunk(job_id: bytes = b"a", partition: int = 0, size: int = 4) -> Chunk:
    made = Chunk(partition, b"key-%d" % partition)
    made.add((2, b"g", 0), job_id, b"t" * size)
    made.positions.append(0)
    return made


def test_each_durability_asks_for_its_own_confirmation() -> None:
    assert words(asked("fast")) == []
    assert not asked("fast")
    assert words(asked("replicated")) == [[b"WAIT", 1, 3000]]
    assert words(asked("replicated", 2)) == [[b"WAIT", 2, 3000]]
    assert words(asked("fsynced"))[0] == [b"WAITAOF", 1, 0, 3000]
    assert words(asked("fsynced", 1))[0] == [b"WAITAOF", 1, 1, 3000]
    assert words(asked("fsynced"))[1][:2] == [b"CONFIG", b"GET"]


def test_a_fast_enqueue_sends_its_script_and_nothing_else() -> None:
    (verb,) = call([chunk()], PoolConfig(topology=single("redis://h", 1)), asked("fast"))

    assert verb.script == "enqueue"


def test_several_chunks_load_their_script_first_and_are_confirmed_last() -> None:
    config = PoolConfig(topology=single("redis://h", 1))

    sent = call([chunk(b"a"), chunk(b"b")], config, asked("replicated"))

    assert [verb.script or verb.args[0] for verb in sent] == [
        b"SCRIPT",
        "enqueue",
        "enqueue",
        b"WAIT",
    ]


def test_a_chunk_is_turned_away_with_those_ahead_of_it_unless_all_are_of_its_slot() -> None:
    def versions(*slots: tuple[str, ...]) -> list[object]:
        chunks = [Chunk(0, b"key", version=7) for _ in slots]
        for made, several in zip(chunks, slots, strict=True):
            for n, slot in enumerate(several):
                made.add((2, slot.encode(), 0), b"%d" % n, slot.encode() + b"01g{}")
        return [verb.args[5] for verb in call(chunks, config, asked("replicated")) if verb.script]

    config = PoolConfig(topology=single("redis://h", 1))
    one, other = "00a", "00b"

    assert versions((one, one), (one,), (one,)) == [7, 7, 7]
    assert versions((one,), (other,), (one,)) == [7, "+7", "+7"]
    assert versions((one, other), (one,), (other,)) == [7, "+7", "+7"]
    assert versions((one,), (one, other), (one,)) == [7, "+7", "+7"]


@pytest.mark.parametrize(
    ("durability", "replicas", "replies", "problem"),
    [
        ("fast", None, [], None),
        ("replicated", None, [1], None),
        ("replicated", None, [3], None),
        ("replicated", None, [0], NotConfirmedError),
        ("replicated", 2, [1], NotConfirmedError),
        ("replicated", None, [UnavailableError("demoted")], UnavailableError),
        ("replicated", None, [ScriptError("no permissions")], UnconfirmableError),
        ("fsynced", None, [[1, 0], ALWAYS], None),
        ("fsynced", None, [[0, 0], ALWAYS], NotConfirmedError),
        ("fsynced", 1, [[1, 0], ALWAYS], NotConfirmedError),
        ("fsynced", 1, [[1, 1], ALWAYS], None),
        ("fsynced", None, [[1, 0], changed(1, b"no")], UnconfirmableError),
        ("fsynced", None, [[1, 0], changed(3, b"everysec")], UnconfirmableError),
        ("fsynced", None, [[1, 0], changed(5, b"yes")], UnconfirmableError),
        ("fsynced", None, [[1, 0], []], UnconfirmableError),
        ("fsynced", None, [[1, 0], ScriptError("no permissions")], UnconfirmableError),
        ("fsynced", None, [UnavailableError("demoted"), ALWAYS], UnavailableError),
        ("fsynced", None, [UnavailableError("demoted"), []], UnavailableError),
        ("fsynced", None, [[1, 0], UnavailableError("busy")], UnavailableError),
        ("fsynced", None, [ScriptError("no permissions"), ALWAYS], UnconfirmableError),
        ("fsynced", None, [UNKNOWN_COMMAND, ALWAYS], None),
        ("fsynced", 1, [UNKNOWN_COMMAND, ALWAYS], UnconfirmableError),
        ("fsynced", None, [UNKNOWN_COMMAND, changed(3, b"everysec")], UnconfirmableError),
    ],
)  # fmt: skip
def test_what_the_server_said_decides(
    durability: str, replicas: int | None, replies: list[Any], problem: type | None
) -> None:
    found = asked(durability, replicas).problem(replies, 3)

    assert type(found) is (type(None) if problem is None else problem)


def test_the_error_says_what_state_things_are_in() -> None:
    error = asked("replicated", 2).problem([1], 3)

    assert isinstance(error, NotConfirmedError)
    assert (error.partition, error.durability, error.replicas, error.wanted) == (
        3,
        "replicated",
        1,
        2,
    )
    assert "stored on the primary" in str(error)
    assert "1 of 2 replicas" in str(error)
    assert "same ids" in str(error)
    assert "not fsynced" in str(asked("fsynced").problem([[0, 0], ALWAYS], 3))


def test_only_what_was_stored_is_unconfirmed() -> None:
    full, refused = [b"FULL", 9, 99], UnavailableError("busy")
    chunks = [chunk(b"a"), chunk(b"b"), chunk(b"c")]

    told = answers(chunks, [b"sha", b"1", full, refused, 0], asked("replicated"), begun_s=7.0)

    assert isinstance(told[0], NotConfirmedError)
    assert told[2] is refused
    assert [c.unanswered_since_s for c in chunks] == [7.0, None, None]
    left = note_settled(EnqueueResults(), chunks, told)
    assert [c for c, _answer in left] == chunks


def test_chunks_of_a_partition_are_gathered_in_order() -> None:
    def chunks() -> Iterator[Chunk]:
        for n in range(70):
            yield chunk(b"%d" % n, partition=n % 2)
        yield chunk(b"large", partition=1, size=5 * 1024**2)
        raise RuntimeError("no more")

    held: dict[bytes, list[Chunk]] = {}
    seen: list[list[Chunk]] = []

    with pytest.raises(RuntimeError, match="no more"):
        seen.extend(batched(chunks(), held, together=True))

    sizes = [(batch[0].partition, len(batch)) for batch in seen]
    assert sizes == [(0, 32), (1, 32), (1, 4), (0, 3)]
    for partition in (0, 1):
        ids = [c.ids[0] for batch in seen for c in batch if c.partition == partition]
        numbers = [b"%d" % n for n in range(partition, 70, 2)]
        assert ids == numbers + ([b"large"] if partition else [])
    assert held == {}


def test_chunks_go_alone_where_nothing_is_confirmed() -> None:
    batches = list(batched([chunk(b"%d" % n) for n in range(5)], {}, together=False))

    assert [len(batch) for batch in batches] == [1] * 5


def test_chunks_by_a_newer_route_come_after_all_that_were_gathered_by_the_older_one() -> None:
    older, newer = [chunk(b"%d" % n, partition=n) for n in range(3)], chunk(b"new", partition=1)
    newer.since = 2

    batches = list(batched([*older, newer], {}, together=True))

    assert batches == [[older[0]], [older[1]], [older[2]], [newer]]


def test_few_partitions_are_gathered_at_a_time() -> None:
    held: dict[bytes, list[Chunk]] = {}
    most = 0
    for _batch in batched([chunk(partition=n) for n in range(200)], held, together=True):
        most = max(most, len(held))

    assert most <= 17  # one of them has just come out


@pytest.mark.parametrize("value", ["slow", "", None, 1, "FAST"])
def test_a_durability_that_does_not_exist_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="QUEUEPOOL_DURABILITY"):
        PoolConfig(topology=single("redis://h", 1), durability=value)
    if value is not None:
        with pytest.raises(InvalidInputError, match="fast, replicated, fsynced"):
            MemoryPool().enqueue("t", partition_key="k", durability=value)


def test_replicas_are_at_least_one() -> None:
    with pytest.raises(ConfigurationError, match="QUEUEPOOL_CONFIRM_REPLICAS"):
        PoolConfig(topology=single("redis://h", 1), confirm_replicas=0)


@pytest.mark.parametrize("durability", list(Durability))
def test_in_memory_every_durability_is_accepted(durability: Durability) -> None:
    pool = MemoryPool(durability=durability)

    assert pool.enqueue("t", partition_key="k").status is EnqueueStatus.ACCEPTED
    found = pool.enqueue_many("t", [{}] * 500, partition_key="k", durability=durability.value)
    assert found.accepted == 500
    run_jobs(pool)
    assert pool.config.durability is durability


@pytest.mark.thorough
def test_the_settings_are_read_from_the_environment() -> None:
    code = (
        "import queuepool; c = queuepool.QueuePool.from_env().config;"
        "print(c.durability, c.confirm_replicas)"
    )
    env = {
        "QUEUEPOOL_URL": "redis://h",
        "QUEUEPOOL_DURABILITY": "replicated",
        "QUEUEPOOL_CONFIRM_REPLICAS": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.split() == ["replicated", "2"]


def test_a_confirmation_behind_an_unknown_script_is_sent_again_behind_it() -> None:
    def verb(name: str) -> tuple[bytes, Verb[Any]]:
        return b"k", Verb(name, [], bytes)

    wait = (b"k", confirm.wait(1, 5))
    unknown = redis.exceptions.NoScriptError("NOSCRIPT")
    calls = [wait, verb("cancel"), verb("group"), wait, verb("group"), wait]

    places, loads, again = wire.repetition(calls, [1, b"", unknown, 1, unknown, 1])

    assert places == [2, 3, 4, 5]
    assert len(loads) == 1
    assert again[1] == again[3] == wire.pack(*wait)
    assert wire.repetition(calls, [1, b"", [], 1, [], 1]) == ([], [], [])
