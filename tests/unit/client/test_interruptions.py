"""An exception from outside ends an enqueue at any step: it comes out, and says what is in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from queuepool import AsyncQueuePool, EnqueueStatus, Job, JobTimeoutError, QueuePool
from queuepool.client import chunker
from queuepool.testing import AsyncMemoryServer
from tests.sampling import one_in
from tests.striking import Struck, struck_at
from tests.unit.client.faulty import FaultyServer, faulty_pool, stored

pytestmark = [pytest.mark.usefixtures("unraisable_is_dropped"), pytest.mark.thorough]
OURS = tuple(
    f"queuepool/{name}.py"
    for name in (
        "client/pool",
        "client/sender",
        "client/pipeline",
        "client/network",
        "client/effects",
        "client/delivery",
        "client/interruption",
        "client/producer",
        "client/chunker",
        "client/chunks",
        "client/durability",
        "client/results",
        "protocol/codec",
    )
)
ROWS = [{"i": i} for i in range(27)]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunker, "CHUNK", 6)


class OddError(Exception):
    """An error that strikes, of a kind that anybody's code may catch."""


def statuses(results: Any, status: EnqueueStatus) -> set[str]:
    return {r.job_id for r in results if r.status is status}


def check(error: BaseException, server: FaultyServer, total: int) -> None:
    """What the exception tells agrees with what is stored."""
    there = stored(server)
    results = getattr(error, "results", None)
    assert len(there) == len(set(there))
    if results is None:  # before the first job was taken, or when all was over
        assert len(there) in (0, total)
        return
    accepted = statuses(results, EnqueueStatus.ACCEPTED)
    maybe = statuses(results, EnqueueStatus.UNKNOWN)
    assert accepted <= set(there) <= accepted | maybe
    assert any("interrupted during an enqueue" in note for note in error.__notes__)


def bulk(pool: QueuePool) -> Any:
    return pool.enqueue_many("t", ROWS, partition_key="g")


def steps(stride: int, half: int = 0, halves: int = 1) -> Iterator[int]:
    """Every so many-th step of an action, or every other of them."""
    step = stride // 2 + half * stride
    while True:
        yield step
        step += halves * stride


FAULTS = ["ok", "oom", "lost"]


@pytest.mark.parametrize(
    ("error", "plan"),
    [(Struck, []), (Struck, FAULTS), (KeyboardInterrupt, FAULTS), (JobTimeoutError, FAULTS)],
    ids=["well", "faults", "ctrl-c", "timeout"],
)
@pytest.mark.parametrize("half", one_in(2, range(2)))
def test_wherever_a_bulk_call_is_struck_it_tells_what_is_in(
    error: type[BaseException], plan: list[str], half: int
) -> None:
    struck = 0
    for step in steps(31 if not plan else 101, half, 2):
        pool, server = faulty_pool(plan, retry_for_s=30.0)
        try:
            reached, _ = struck_at(step, partial(bulk, pool), files=OURS, error=error)
        except error as caught:
            struck += 1
            check(caught, server, len(ROWS))
        else:
            assert not reached, step
            break

    assert struck > 10


@pytest.mark.parametrize("durability", ["fast", "replicated"])
@pytest.mark.parametrize("half", one_in(2, range(2)))
def test_wherever_a_call_that_keeps_failures_is_struck_its_counts_hold(
    durability: str, half: int
) -> None:
    struck = 0
    for step in steps(89, half, 2):
        pool, server = faulty_pool(durability=durability)
        many = partial(pool.enqueue_many, "t", ROWS, partition_key="g", results="failures")
        try:
            reached, _ = struck_at(step, many, files=OURS)
        except Struck as caught:
            struck += 1
            there, results = len(stored(server)), getattr(caught, "results", None)
            if results is None:  # before the first job was taken, or when all was over
                assert there in (0, len(ROWS))
            else:
                assert results.accepted <= there <= results.accepted + results.unknown, step
        else:
            assert not reached, step
            break

    assert struck > 10


@pytest.mark.parametrize("durability", ["fast", "replicated"])
@pytest.mark.parametrize("half", one_in(2, range(2)))
def test_wherever_an_error_of_any_kind_strikes_it_comes_out_itself(
    durability: str, half: int
) -> None:
    struck = 0
    for step in steps(31, half, 2):
        pool, server = faulty_pool(durability=durability)
        try:
            reached, _ = struck_at(step, partial(bulk, pool), files=OURS, error=OddError)
        except OddError as caught:
            struck += 1
            # Amid the items it cannot be told from an error of theirs.
            before = [n for n in getattr(caught, "__notes__", ()) if "jobs before it" in n]
            if before:
                assert before == [f"{len(stored(server))} jobs before it were enqueued"]
            else:
                check(caught, server, len(ROWS))
        else:
            assert not reached, step
            break

    assert struck > 10


def test_wherever_a_single_enqueue_is_struck_it_tells_whether_it_may_be_in() -> None:
    struck = 0
    for step in steps(2):
        pool, server = faulty_pool()
        try:
            act = partial(pool.enqueue, "t", {}, partition_key="g")
            reached, _ = struck_at(step, act, files=OURS)
        except Struck as caught:
            struck += 1
            check(caught, server, 1)
        else:
            assert not reached, step
            break

    assert struck > 50


def test_ctrl_c_amid_the_items_tells_exactly_what_is_in() -> None:
    pool, server = faulty_pool()

    def items() -> Iterator[Any]:
        yield from ROWS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        pool.enqueue_many("t", items(), partition_key="g")

    results = caught.value.results  # type: ignore[attr-defined]
    assert (results.accepted, results.unknown, results.rejected) == (24, 0, 3)
    assert statuses(results, EnqueueStatus.ACCEPTED) == set(stored(server))
    (note,) = caught.value.__notes__
    assert "24 jobs are stored, 0 may be, 3 are not" in note


def test_a_confirmed_bulk_call_tells_it_too() -> None:
    pool, server = faulty_pool(durability="replicated")

    def items() -> Iterator[Any]:
        yield from [{"i": i} for i in range(900)]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        pool.enqueue_many("t", items(), partition_key="g")

    results = caught.value.results  # type: ignore[attr-defined]
    assert results.accepted + results.rejected == 900
    assert statuses(results, EnqueueStatus.ACCEPTED) == set(stored(server))


class Slow(AsyncMemoryServer):
    """Answers after so many turns of the loop; what it was asked is done at once, or at the end."""

    def __init__(self, server: FaultyServer, *, late: bool) -> None:
        super().__init__(server)
        self._late = late

    async def run(self, key: bytes, verbs: Any) -> Any:
        if self._late:
            await asyncio.sleep(0)
        replies = await super().run(key, verbs)
        await asyncio.sleep(0)
        return replies


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("turns", range(8))
def test_a_cancelled_bulk_call_tells_what_is_in(turns: int, late: bool) -> None:
    async def act(pool: AsyncQueuePool) -> BaseException | None:
        caught: BaseException | None = None

        async def enqueue() -> None:
            nonlocal caught
            try:
                await pool.enqueue_many("t", ROWS, partition_key="g")
            except asyncio.CancelledError as error:
                caught = error
                raise

        task = asyncio.create_task(enqueue())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return caught

    sync, server = faulty_pool()
    error = asyncio.run(
        act(AsyncQueuePool(config=sync.config, servers={"m": Slow(server, late=late)}))
    )

    if error is not None:
        check(error, server, len(ROWS))
    else:
        assert len(stored(server)) in (0, 27)  # before it began, or after it was over


def test_a_job_of_the_application_is_known_by_its_id_after_a_strike() -> None:
    pool, _ = faulty_pool()

    def strike(*_: Any) -> Any:
        raise Struck

    pool.partition(0).server.run = strike  # type: ignore[assignment]

    with pytest.raises(Struck) as caught:
        pool.enqueue("t", {}, partition_key="g", job_id="mine")

    (result,) = caught.value.results  # type: ignore[attr-defined]
    assert (result.job_id, result.status) == ("mine", EnqueueStatus.UNKNOWN)


def test_an_item_that_raises_ends_as_before() -> None:
    pool, server = faulty_pool()

    def items() -> Iterator[Job]:
        yield from (Job(row) for row in ROWS)
        raise LookupError("no such row")

    with pytest.raises(LookupError) as caught:
        pool.enqueue_many("t", items(), partition_key="g")

    assert caught.value.__notes__ == ["27 jobs before it were enqueued"]
    assert len(stored(server)) == 27
    assert isinstance(pool, QueuePool)
