"""What applications hand to a pool, on a server and in memory: taken as it is, or refused whole."""

from collections.abc import Iterator
from itertools import repeat
from time import process_time
from typing import Any, NoReturn

import pytest

from queuepool import InvalidInputError, PayloadTooLargeError, QueuePool
from queuepool.models import EnqueueStatus
from queuepool.routing.slots import partition_of, slot_of
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from tests.bad_inputs.conftest import MakePool

LIMIT = 1_000
EMPTY = len('["work",{"x":""}]')
KEYS: list[str | bytes] = [
    "plain", "plai", "plain2", b"\x00", "nul\x00in it", "*", "?", "[a-z]", "}{", "{partition_0}",
    "\r\n", "$3\r\nDEL\r\n", " ", "ä", "👩‍👩‍👧‍👦", b"\xff\xfe", b"\x80", "\ud800",
    "x" * 64, "x" * 65, "x" * 65_536,
    "a:b", "a", "ready", "2:a", "../a", "%00", "\u202e", b"!x",
]  # fmt: skip


class NoServer:
    """A server that no one may ask."""

    name = "none"

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} of the server was asked for")

    def close(self) -> None:
        """Have nothing to close."""


@pytest.fixture
def offline() -> Iterator[QueuePool]:
    """A pool whose servers fail the test when they are touched."""
    config = PoolConfig(topology=single("redis://none", 1))
    server: Any = NoServer()
    with QueuePool(config=config, servers={"main": server}) as pool:
        yield pool


def text(size: int) -> dict[str, str]:
    """Return a payload whose job takes so many bytes."""
    return {"x": "a" * (size - EMPTY)}


@pytest.mark.parametrize("size", [256 * 1024 + 1, 100_000_000])
def test_a_payload_beyond_the_limit_is_refused_at_once_and_without_a_server(
    offline: QueuePool, size: int
) -> None:
    payload = text(size)
    begun_s = process_time()

    with pytest.raises(PayloadTooLargeError) as caught:
        offline.enqueue("work", payload, partition_key="g")
    with pytest.raises(PayloadTooLargeError):
        offline.enqueue_many("work", [payload], partition_key="g")

    assert (caught.value.size, caught.value.limit) == (size, 256 * 1024)
    assert len(str(caught.value)) < 500
    assert process_time() - begun_s < 5.0


def test_a_payload_of_nothing_and_one_at_the_limit_are_taken(make_pool: MakePool) -> None:
    pool = make_pool(max_payload_bytes=LIMIT)

    pool.enqueue("work", partition_key="g")
    pool.enqueue_many("work", [{}, text(LIMIT)], partition_key="g")
    with pytest.raises(PayloadTooLargeError):
        pool.enqueue_many("work", [{}, text(LIMIT + 1), {}], partition_key="g")

    assert pool.partition(0).observe().jobs == 4  # what came before the one too large is in


def test_a_key_of_any_bytes_has_one_partition_and_a_group_of_its_own(make_pool: MakePool) -> None:
    pool = make_pool(8)

    for _ in range(2):
        for key in KEYS:
            (result,) = pool.enqueue_many("work", [{}], partition_key=key)
            raw = key if isinstance(key, bytes) else key.encode("utf-8", "surrogatepass")
            assert result.partition == partition_of(slot_of(raw), 8), key
    pool.group(KEYS[0]).cancel()

    assert pool.group(KEYS[0]).status().ready == 0
    for key in KEYS[1:]:
        status = pool.group(key).status()
        assert (status.total, status.ready) == (2, 2), key
    assert sum(p.observe().jobs for p in pool.partitions()) == 2 * (len(KEYS) - 1)
    assert all(p.audit().clean for p in pool.partitions())


@pytest.mark.parametrize("key", ["", b"", "x" * 65_537, None, 7, ["a"]])
def test_a_key_that_is_none_is_refused_and_nothing_is_enqueued(
    offline: QueuePool, key: Any
) -> None:
    with pytest.raises(InvalidInputError, match="partition_key"):
        offline.enqueue("work", {}, partition_key=key)
    with pytest.raises(InvalidInputError, match="partition_key"):
        offline.enqueue_many("work", [{}], partition_key=key)
    with pytest.raises(InvalidInputError, match="partition_key"):
        offline.group(key)


OPTIONS: list[dict[str, Any]] = [
    *({"tier": t} for t in (5, -1, "high ", float("nan"))),
    *({"delay_s": d} for d in (-1, float("inf"), float("nan"), 1e18)),
    *({"max_attempts": n} for n in (0, 2**31)),
    *({"timeout_s": s} for s in (0, float("nan"))),
    *({"job_id": i} for i in ("", "a" * 65, "a\x00", "ä", b"a")),
]


@pytest.mark.parametrize("option", OPTIONS, ids=str)
def test_an_option_out_of_range_enqueues_nothing(
    offline: QueuePool, option: dict[str, Any]
) -> None:
    (name,) = option
    with pytest.raises(InvalidInputError, match=name):
        offline.enqueue("work", {}, partition_key="g", **option)
    with pytest.raises(InvalidInputError, match=name):
        offline.enqueue_many("work", [Job({}, **option)], partition_key="g")


@pytest.mark.parametrize("size", [0, 1, 200, 201])
def test_a_batch_of_any_size_has_a_result_a_job(make_pool: MakePool, size: int) -> None:
    pool = make_pool(3)

    results = pool.enqueue_many("work", ({"n": n} for n in range(size)), partition_key=str)

    assert len(results) == results.accepted == size
    assert sum(p.observe().jobs for p in pool.partitions()) == size


def test_an_id_twice_in_one_call_is_one_job(make_pool: MakePool) -> None:
    pool = make_pool()
    ids = ["a", "b", "a", "a", "c"]

    results = pool.enqueue_many("work", [Job({}, job_id=i) for i in ids], partition_key="g")
    again = pool.enqueue("work", {}, partition_key="g", job_id="b")

    taken, twice = EnqueueStatus.ACCEPTED, EnqueueStatus.DUPLICATE
    assert [r.status for r in results] == [taken, taken, twice, twice, taken]
    assert again.status is twice
    assert pool.partition(0).observe().jobs == 3
    assert pool.group("g").status().total == 3


def test_an_iterable_that_fails_leaves_what_came_before(make_pool: MakePool) -> None:
    pool = make_pool()

    def rows() -> Iterator[dict[str, int]]:
        yield from ({"n": n} for n in range(250))
        raise OSError("the file ended")

    with pytest.raises(OSError, match="the file ended"):
        pool.enqueue_many("work", rows(), partition_key="g")

    assert pool.partition(0).observe().jobs == 250


@pytest.mark.slow
def test_a_million_jobs_in_one_call_have_a_result_each(make_pool: MakePool) -> None:
    pool = make_pool()

    results = pool.enqueue_many("work", repeat({}, 1_000_000), partition_key="g")

    assert len(results) == results.accepted == 1_000_000
    assert pool.partition(0).observe().jobs == 1_000_000
