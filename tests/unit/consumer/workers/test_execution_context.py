"""What a running handler sees of its job, and how long it may run."""

import sys
import threading
from contextvars import ContextVar

import pytest

from consumer.core.jobs import End, Outcome
from queuepool import JobContext, Registry
from queuepool.errors import JobTimeoutError
from queuepool.protocol import codec
from tests.unit.consumer.workers.executing import (
    GROUP,
    OWNERSHIP,
    Bench,
    error_of,
    make_body,
    make_job,
)

# -- its context variables -------------------------------------------------------------------------


@pytest.mark.parametrize("timeout_s", [None, 30])
def test_what_a_handler_sets_ends_with_its_job(bench: Bench, timeout_s: float | None) -> None:
    tenant: ContextVar[str] = ContextVar("tenant", default="none")
    seen: list[str] = []

    def handler() -> None:
        seen.append(tenant.get())
        tenant.set("acme")

    for _ in range(2):
        assert bench.run(handler, timeout_s=timeout_s).end is End.DONE

    assert seen == ["none"] * 2
    assert tenant.get() == "none"


# -- its arguments ---------------------------------------------------------------------------------


def test_the_context_tells_all_about_the_job(bench: Bench) -> None:
    seen: list[JobContext] = []

    def handler(value: int, context: JobContext) -> None:
        seen.append(context)
        context.progress("half")

    outcome = bench.run(handler, {"value": 1}, attempt=4, timeout_s=30)

    (ctx,) = seen
    assert outcome.end is End.DONE
    assert (ctx.job_id, ctx.task, ctx.attempt, ctx.group) == ("job-1", "t", 4, GROUP)
    assert (ctx.partition, ctx.fencing_token) == (OWNERSHIP.partition, OWNERSHIP.epoch)
    assert ctx.deadline == pytest.approx(outcome.started_s + 30)
    assert not ctx.cancel_requested
    assert bench.runner.progress == {b"job-1": b"half"}
    outcome.job.cancelled = True
    assert ctx.cancel_requested


def test_a_payload_cannot_pass_itself_off_as_the_context(bench: Bench) -> None:
    seen: list[object] = []

    def handler(ctx: JobContext, **others: object) -> None:
        seen.append(ctx.job_id)

    outcome = bench.run(handler, {"ctx": {"job_id": "forged"}})

    assert outcome.end is End.RETRY
    assert error_of(outcome)["type"] == "TypeError"
    assert "handler() got an unexpected keyword argument 'ctx'" in error_of(outcome)["message"]
    assert seen == []


def test_without_a_timeout_there_is_no_deadline(bench: Bench) -> None:
    seen: list[float | None] = []

    def handler(ctx: JobContext) -> None:
        seen.append(ctx.deadline)

    bench.run(handler)
    bench.run(handler, options=codec.Options(timeout_s=9))
    assert seen[0] is None
    assert seen[1] is not None


@pytest.mark.parametrize(("text", "stored"), [("é" * 400, 256), ("x" * 256, 256)])
def test_progress_is_cut_to_its_bytes(bench: Bench, text: str, stored: int) -> None:
    def handler(ctx: JobContext) -> None:
        ctx.progress(text)

    bench.run(handler)
    assert len(bench.runner.progress[b"job-1"]) == stored


def test_progress_that_is_no_text_fails_the_job_and_says_so(bench: Bench) -> None:
    def handler(ctx: JobContext) -> None:
        ctx.progress(50)  # type: ignore[arg-type]

    assert "progress takes text, not int" in error_of(bench.run(handler))["message"]


# -- timeouts -------------------------------------------------------------------------------------


def test_a_plain_handler_that_loops_is_struck(bench: Bench) -> None:
    def handler() -> None:
        while True:
            pass

    outcome = bench.run(handler, timeout_s=0.1)
    assert (outcome.end, outcome.reason) == (End.RETRY, "timeout")
    assert error_of(outcome)["type"] == JobTimeoutError.__name__
    assert 0.1 <= outcome.ended_s - outcome.started_s < 60


def test_an_async_handler_is_cancelled_at_its_next_await(bench: Bench) -> None:
    import asyncio

    async def handler() -> None:
        await asyncio.sleep(60)

    outcome = bench.run(handler, timeout_s=0.1, max_attempts=1)
    assert (outcome.end, outcome.reason) == (End.BURY, "timeout")


def test_a_handler_that_outlives_its_strike_still_ends_as_what_it_did(bench: Bench) -> None:
    def handler() -> str:
        try:
            while True:
                pass
        except JobTimeoutError:
            return "late but done"

    outcome = bench.run(handler, timeout_s=0.05)
    for _ in range(9):  # on a busy machine it may be struck before it tries
        if outcome.end is not End.DONE:
            outcome = bench.run(handler, timeout_s=0.05)
    assert (outcome.end, outcome.result) == (End.DONE, b'"late but done"')


def test_the_producers_timeout_comes_before_the_tasks(bench: Bench) -> None:
    def handler() -> None:
        while True:
            pass

    outcome = bench.run(handler, options=codec.Options(timeout_s=0.05), timeout_s=3600)
    assert outcome.reason == "timeout"


# -- threads --------------------------------------------------------------------------------------


def test_many_threads_may_run_jobs_at_once(bench: Bench) -> None:
    registry = Registry()

    @registry.task
    def double(n: int, ctx: JobContext) -> int:
        ctx.progress(str(n))
        return 2 * n

    bench.runner._registry = registry
    outcomes: list[Outcome] = []

    def worker(numbers: range) -> None:
        for n in numbers:
            outcomes.append(bench.runner.run(make_job(make_body("double", {"n": n}))))  # noqa: PERF401

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=worker, args=(range(k, 400, 4),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)

    assert sorted(int(o.result or b"-1") for o in outcomes) == [2 * n for n in range(400)]
