"""The pool of coroutines: thousands of slots, one loop, and a size that changes meanwhile."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from consumer.core.jobs import ClaimedJob, End, Outcome, claimed
from consumer.workers.async_pool import AsyncPool
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.runner import Runner
from consumer.workers.timeouts import Timekeeper
from queuepool import (
    JobCancelled,
    JobContext,
    PermanentError,
    Registry,
    RetryLater,
    job_fields,
)
from tests.unit.consumer.workers.executing import OWNERSHIP, make_body
from tests.waiting import wait_until


class Bench:
    """An async pool, its registry, and a gate that handlers may wait for."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.loop, self.keeper = HandlerLoop(), Timekeeper()
        self.runner = Runner(self.registry, OWNERSHIP, self.loop, self.keeper)
        self.rang = threading.Event()
        self.pool = AsyncPool(self.runner, self.loop, self.rang.set)
        self.ended: list[Outcome] = []
        self.running = self.most = 0
        self.open = threading.Event()

    def task(self, handler: Callable[..., Any], **options: Any) -> None:
        self.registry.task(name=handler.__name__, **options)(handler)

    def gated(self) -> None:
        """Register `gate`, which runs until `open` is set."""

        async def gate() -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            while not self.open.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.002)
            self.running -= 1

        self.task(gate)

    def jobs(self, task: str, count: int = 1, **payload: Any) -> list[ClaimedJob]:
        body = make_body(task, payload)
        return [claimed(b"job-%d" % n, body, 1, 0, 0, monotonic()) for n in range(count)]

    def outcomes(self, count: int, timeout_s: float = 60.0) -> list[Outcome]:
        def there() -> bool:
            self.ended += self.pool.take_ended()
            return len(self.ended) >= count

        wait_until(there, timeout_s)
        return self.ended

    def one(self, task: str, **payload: Any) -> Outcome:
        self.pool.resize(max(1, self.pool.target))
        self.pool.submit(self.jobs(task, **payload))
        return self.outcomes(1)[0]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.open.set()
    made.pool.close(1.0)
    made.loop.stop()
    made.keeper.stop()


def error_of(outcome: Outcome) -> dict[str, Any]:
    return json.loads(outcome.error)  # type: ignore[no-any-return]


def test_a_coroutine_runs_to_its_result(bench: Bench) -> None:
    async def double(ctx: JobContext, n: int) -> int:
        ctx.progress("half")
        return 2 * n

    bench.task(double)

    outcome = bench.one("double", n="21")

    assert (outcome.end, outcome.result, outcome.task) == (End.DONE, b"42", "double")
    assert bench.rang.is_set()
    assert bench.runner.progress == {b"job-0": b"half"}


def test_coroutines_side_by_side_each_tell_their_own_job_in_log_lines(bench: Bench) -> None:
    seen: list[tuple[str, str]] = []

    async def tell(ctx: JobContext) -> None:
        for _ in range(3):
            seen.append((ctx.job_id, job_fields()["job"]))
            await asyncio.sleep(0)

    bench.task(tell)
    bench.pool.resize(5)
    bench.pool.submit(bench.jobs("tell", 5))
    bench.outcomes(5)

    assert set(seen) == {(f"job-{n}", f"job-{n}") for n in range(5)}
    assert len(seen) == 15


@pytest.mark.serial
def test_two_thousand_sleepers_end_together_on_a_handful_of_threads(bench: Bench) -> None:
    async def sleeper() -> None:
        await asyncio.sleep(1)

    bench.task(sleeper)
    before, began = threading.active_count(), monotonic()
    bench.pool.resize(2000)

    bench.pool.submit(bench.jobs("sleeper", 2000))
    wait_until(lambda: len(bench.pool._running) == 2000)
    threads = threading.active_count() - before
    bench.outcomes(2000)

    assert monotonic() - began < 10  # one after the other: 2,000 s
    assert threads <= 1


def test_no_more_run_than_there_are_slots(bench: Bench) -> None:
    bench.gated()
    bench.pool.resize(3)

    bench.pool.submit(bench.jobs("gate", 10))
    wait_until(lambda: bench.running == 3)

    assert (bench.pool.alive, bench.pool.queued) == (3, 7)
    bench.open.set()
    bench.outcomes(10)
    assert bench.most == 3


def test_it_grows_at_once_and_shrinks_without_an_interruption(bench: Bench) -> None:
    bench.gated()
    bench.pool.resize(1)
    bench.pool.submit(bench.jobs("gate", 8))
    bench.pool.resize(6)
    wait_until(lambda: bench.running == 6)

    bench.pool.resize(2)

    assert (bench.pool.alive, bench.running) == (6, 6)
    bench.open.set()
    assert {o.end for o in bench.outcomes(8)} == {End.DONE}
    wait_until(lambda: bench.pool.alive == 2)


def test_what_has_no_slot_can_be_taken_back_in_order(bench: Bench) -> None:
    bench.gated()
    bench.pool.resize(2)
    bench.pool.submit(bench.jobs("gate", 5))
    wait_until(lambda: bench.running == 2)

    assert [job.id for job in bench.pool.withdraw()] == [b"job-2", b"job-3", b"job-4"]
    assert bench.pool.queued == 0
    bench.open.set()
    bench.outcomes(2)


def test_a_timeout_cancels_at_the_next_await(bench: Bench) -> None:
    cleaned = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    bench.task(slow, timeout_s=0.05)

    outcome = bench.one("slow")

    assert (outcome.end, outcome.reason) == (End.RETRY, "timeout")
    assert cleaned.is_set()


def test_a_cancel_request_is_seen_while_it_runs(bench: Bench) -> None:
    async def patient(ctx: JobContext) -> None:
        while not ctx.cancel_requested:  # noqa: ASYNC110 - what handlers do
            await asyncio.sleep(0.002)
        raise JobCancelled

    bench.task(patient)
    bench.pool.resize(1)
    (job,) = bench.jobs("patient")
    bench.pool.submit([job])
    job.cancelled = True

    assert bench.outcomes(1)[0].end is End.CANCELLED


@pytest.mark.parametrize(
    ("error", "end", "reason"),
    [
        (ValueError("no"), End.RETRY, "failed"),
        (PermanentError("never"), End.BURY, "permanent"),
        (RetryLater(3.0), End.RETRY, ""),
        (SystemExit(1), End.RETRY, "failed"),
        (KeyboardInterrupt(), End.RETRY, "failed"),
        (asyncio.CancelledError(), End.RETRY, "failed"),
    ],
)
def test_whatever_a_handler_raises_ends_its_job_alone(
    bench: Bench, error: BaseException, end: End, reason: str
) -> None:
    async def handler() -> None:
        raise error

    bench.gated()
    bench.task(handler)
    bench.pool.resize(2)
    bench.pool.submit(bench.jobs("gate"))

    bench.pool.submit(bench.jobs("handler"))
    outcome = bench.outcomes(1)[0]

    assert (outcome.end, outcome.reason) == (end, reason)
    bench.open.set()
    assert bench.outcomes(2)[1].end is End.DONE


def test_a_plain_function_is_refused_by_name(bench: Bench) -> None:
    def plain() -> None: ...

    bench.task(plain)

    assert "'plain' is a plain function" in error_of(bench.one("plain"))["message"]


def test_a_handler_that_closes_the_loop_fails_those_on_it_and_the_next_ones_run(
    bench: Bench,
) -> None:
    async def vandal() -> None:
        asyncio.get_running_loop().stop()
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().close)
        asyncio.get_running_loop().close()

    async def fine() -> int:
        return 1

    bench.task(vandal)
    bench.task(fine)
    bench.pool.resize(1)

    bench.pool.submit(bench.jobs("vandal") + bench.jobs("fine", 3))

    ends = [o.end for o in bench.outcomes(4)]
    assert ends[1:] == [End.DONE] * 3


def test_without_a_loop_each_job_fails_and_none_is_lost(bench: Bench) -> None:
    bench.gated()
    bench.loop.stop()
    bench.pool.resize(5)

    bench.pool.submit(bench.jobs("gate", 2000))

    assert {o.reason for o in bench.outcomes(2000)} == {"failed"}
    assert not bench.pool._running


def test_nothing_starts_when_the_lease_may_be_over(bench: Bench) -> None:
    bench.gated()
    bench.pool.start_until_s = monotonic() - 1

    assert bench.one("gate").end is End.HAND_BACK


def test_sizes_that_change_while_jobs_run_lose_none(bench: Bench) -> None:
    async def short() -> None:
        await asyncio.sleep(0.001)

    bench.task(short)
    jobs = bench.jobs("short", 600)
    for start in range(0, 600, 20):
        bench.pool.resize(1 + start % 37)
        bench.pool.submit(jobs[start : start + 20])
    bench.pool.resize(50)

    assert {o.job for o in bench.outcomes(600)} == set(jobs)
    assert len(bench.ended) == 600
