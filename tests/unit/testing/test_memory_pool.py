"""Users' tests without a server: the pool in memory and run_jobs."""

import asyncio
import doctest
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest

import queuepool.testing
from queuepool import (
    Backoff,
    BadPayloadError,
    InvalidInputError,
    JobCancelled,
    JobContext,
    JobDiedError,
    JobState,
    PermanentError,
    QueueFullError,
    Registry,
    RetryLater,
    UnavailableError,
)
from queuepool.tasks.job import Job
from queuepool.testing import FakeClock, MemoryPool, run_jobs

KEY = "orders"


def test_the_documented_example_is_true() -> None:
    result = doctest.testmod(queuepool.testing)

    assert result.attempted > 10
    assert result.failed == 0


def test_a_handler_gets_its_fields_and_its_result_is_kept(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task
    def add(a: int, b: int) -> int:
        return a + b

    job = pool.enqueue(add, {"a": 1, "b": 2}, partition_key=KEY)
    report = run_jobs(pool)

    assert (report.done, report.next_due_s) == (1, None)
    assert report.ended[0].result == 3
    assert pool.result(job.job_id, partition_key=KEY) == 3
    assert pool.group(KEY).wait(show=False).done == 1


def test_jobs_of_all_partitions_run(registry: Registry) -> None:
    seen: list[int] = []

    @registry.task
    def see(n: int) -> None:
        seen.append(n)

    pool = MemoryPool(4, registry=registry)

    pool.enqueue_many("see", [{"n": n} for n in range(500)], partition_key=lambda p: f"k{p['n']}")
    report = run_jobs(pool)

    assert report.done == 500
    assert sorted(seen) == list(range(500))


def test_async_handlers_run_and_time_out(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    async def quick(n: int) -> int:
        await asyncio.sleep(0)
        return n * 2

    @registry.task(max_attempts=1)
    async def stuck() -> None:
        await asyncio.Event().wait()

    job = pool.enqueue(quick, {"n": 4}, partition_key=KEY)
    slow = pool.enqueue(stuck, {}, partition_key=KEY, timeout_s=0.01)
    report = run_jobs(pool)

    assert (report.done, report.dead) == (1, 1)
    assert pool.result(job.job_id, partition_key=KEY) == 8
    with pytest.raises(JobDiedError, match="ran longer than 0"):
        pool.result(slow.job_id, partition_key=KEY)
    error = pool.status(slow.job_id, partition_key=KEY).error
    assert error is not None
    assert error.reason == "timeout"


def test_a_handlers_own_timeout_error_is_an_ordinary_failure(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(max_attempts=1)
    async def impatient() -> None:
        raise TimeoutError("a downstream call")

    pool.enqueue(impatient, {}, partition_key=KEY, timeout_s=60)
    [ended] = run_jobs(pool).ended

    assert ended.error is not None
    assert (ended.error.reason, ended.error.message) == ("failed", "a downstream call")


def test_failures_are_retried_with_backoff_until_attempts_are_used_up(
    pool: MemoryPool, registry: Registry
) -> None:
    attempts: list[int] = []

    @registry.task(max_attempts=3, backoff=Backoff(base_s=10, factor=3))
    def fails(ctx: JobContext) -> None:
        attempts.append(ctx.attempt)
        raise ValueError("always")

    job = pool.enqueue(fails, {}, partition_key=KEY)
    waits = []
    while (report := run_jobs(pool)).next_due_s is not None:
        waits.append(report.next_due_s)
        assert run_jobs(pool).ended == ()  # not due yet
        pool.clock.advance(report.next_due_s)

    assert attempts == [1, 2, 3]
    assert waits == [5.0, 15.0]  # half of the ceiling, the default jitter
    status = pool.status(job.job_id, partition_key=KEY)
    assert (status.state, status.attempts) == (JobState.DEAD, 3)
    assert status.error is not None
    assert (status.error.type, status.error.message) == ("ValueError", "always")
    assert "ValueError: always" in status.error.traceback


def test_the_producers_max_attempts_counts(pool: MemoryPool, registry: Registry) -> None:
    registry.task(name="fails")(lambda: 1 / 0)

    pool.enqueue("fails", partition_key=KEY, max_attempts=1)

    assert run_jobs(pool).dead == 1


def test_permanent_errors_kill_and_retry_later_burns_nothing(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(max_attempts=1)
    def choose(what: str, ctx: JobContext) -> str:
        if what == "kill":
            raise PermanentError("no such row")
        if what == "later" and pool.clock() == started:
            raise RetryLater(30)
        return f"{what} {ctx.attempt}"

    started = pool.clock()
    kill = pool.enqueue(choose, {"what": "kill"}, partition_key=KEY)
    later = pool.enqueue(choose, {"what": "later"}, partition_key=KEY)
    first = run_jobs(pool)
    pool.clock.advance(30)
    run_jobs(pool)

    assert (first.dead, first.retried, first.next_due_s) == (1, 1, 30.0)
    assert pool.status(kill.job_id, partition_key=KEY).state is JobState.DEAD
    assert pool.result(later.job_id, partition_key=KEY) == "later 1"


def test_a_handler_stops_when_it_is_asked_to(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def long(ctx: JobContext) -> None:
        ctx.progress("half")
        assert pool.status(ctx.job_id, partition_key=KEY).progress == "half"
        pool.cancel(ctx.job_id, partition_key=KEY)
        if ctx.cancel_requested:
            raise JobCancelled("stopped half-way")

    job = pool.enqueue(long, {}, partition_key=KEY)

    assert run_jobs(pool).cancelled == 1
    assert pool.status(job.job_id, partition_key=KEY).state is JobState.CANCELLED


def test_job_cancelled_without_a_request_is_a_failure(pool: MemoryPool, registry: Registry) -> None:
    @registry.task(max_attempts=1)
    def rude() -> None:
        raise JobCancelled("nobody asked")

    pool.enqueue(rude, {}, partition_key=KEY)

    assert run_jobs(pool).dead == 1


def test_the_context_knows_its_job(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def tell(ctx: JobContext) -> list[object]:
        return [ctx.job_id, ctx.task, ctx.attempt, ctx.group.decode(), ctx.partition, ctx.deadline]

    job = pool.enqueue(tell, {}, partition_key=KEY)
    run_jobs(pool)

    told = pool.result(job.job_id, partition_key=KEY)
    assert told == [job.job_id, "tell", 1, KEY, 0, None]


def test_what_cannot_run_is_an_ending_not_an_exception(
    pool: MemoryPool, registry: Registry
) -> None:
    for name in ("bad-result", "wrong-fields", "exits", "unknown"):
        pool.enqueue(name, {}, partition_key=KEY, max_attempts=1)
    registry.task(name="bad-result", max_attempts=1)(lambda: {1, ...})
    registry.task(name="wrong-fields", max_attempts=1)(lambda a: a)
    registry.task(name="exits", max_attempts=1)(lambda: sys.exit(3))
    report = run_jobs(pool)

    assert (report.dead, report.retried) == (3, 1)
    reasons = {e.task: e.error.reason for e in report.ended if e.error}
    assert reasons == {
        "bad-result": "bad-result", "wrong-fields": "failed", "exits": "failed",
        "unknown": "unknown-task",
    }  # fmt: skip


def test_what_a_handler_does_wrong_is_no_bad_result(pool: MemoryPool, registry: Registry) -> None:
    @registry.task(max_attempts=1)
    def checks() -> None:
        raise InvalidInputError("no such customer")

    @registry.task(max_attempts=1)
    def enqueues() -> None:
        pool.enqueue("checks", {}, partition_key=KEY, tier="urgent")

    @registry.task(max_attempts=1)
    async def returns() -> object:
        return object()

    for name in ("checks", "enqueues", "returns"):
        pool.enqueue(name, {}, partition_key=KEY)

    reasons = {e.task: e.error.reason for e in run_jobs(pool).ended if e.error}
    assert reasons == {"checks": "failed", "enqueues": "failed", "returns": "bad-result"}


def test_a_job_of_an_unknown_task_runs_once_the_task_is_registered(
    pool: MemoryPool, registry: Registry
) -> None:
    job = pool.enqueue("late", {}, partition_key=KEY, max_attempts=1)
    for _ in range(5):
        pool.clock.advance(61)
        (ended,) = run_jobs(pool).ended
        assert (ended.state, ended.charged, ended.attempt) == (JobState.DELAYED, False, 1)

    registry.task(name="late")(lambda: "at last")

    assert run_jobs(pool).done == 1  # at once, whatever was left of its pause
    assert pool.result(job.job_id, partition_key=KEY) == "at last"


def test_a_job_of_an_unknown_task_is_due_again_at_the_time_told(pool: MemoryPool) -> None:
    pool.enqueue_many("late", [{}] * 3, partition_key=KEY)
    for _ in range(3):
        report = run_jobs(pool)

        assert report.retried == 3
        assert report.next_due_s is not None
        assert report.next_due_s > 0
        pool.clock.advance(report.next_due_s + 0.002)  # one millisecond after the other


def test_the_time_until_the_next_job_is_due_suffices(pool: MemoryPool) -> None:
    pool.enqueue("late", {}, partition_key=KEY)
    for _ in range(20):
        report = run_jobs(pool)

        assert report.retried == 1
        assert report.next_due_s is not None
        pool.clock.advance(report.next_due_s)


def test_jobs_run_in_order_and_no_more_than_asked_for(pool: MemoryPool, registry: Registry) -> None:
    seen: list[int] = []

    @registry.task
    def see(n: int) -> None:
        seen.append(n)

    pool.enqueue_many("see", [{"n": n} for n in range(10)], partition_key=KEY)

    report = run_jobs(pool, max_jobs=3)

    assert len(report.ended) == 3
    assert seen == [0, 1, 2]
    assert pool.group(KEY).status().ready == 7
    run_jobs(pool)
    assert seen == list(range(10))


def test_a_job_may_enqueue_another(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def parent() -> None:
        pool.enqueue("child", {}, partition_key=KEY)

    registry.task(name="child")(lambda: "grown")
    pool.enqueue(parent, {}, partition_key=KEY)

    assert run_jobs(pool).done == 2


def test_cancelled_places_do_not_end_the_run(pool: MemoryPool, registry: Registry) -> None:
    registry.task(name="see")(lambda: None)
    jobs = pool.enqueue_many("see", [{}] * 20, partition_key=KEY)
    for job in list(jobs)[:19]:
        pool.cancel(job.job_id, partition_key=KEY)

    assert run_jobs(pool).done == 1


def test_delays_and_dates_follow_the_pools_clock(pool: MemoryPool, registry: Registry) -> None:
    registry.task(name="see")(lambda: None)
    pool.enqueue("see", partition_key=KEY, delay_s=60)
    pool.enqueue("see", partition_key=KEY, run_at=datetime.now(UTC) + timedelta(seconds=120))

    assert run_jobs(pool).next_due_s == 60.0
    pool.clock.advance(61)
    assert run_jobs(pool).done == 1
    pool.clock.advance(60)
    assert run_jobs(pool).done == 1


def test_dead_jobs_are_replayed(pool: MemoryPool, registry: Registry) -> None:
    broken = [True]

    @registry.task(max_attempts=1)
    def sometimes() -> None:
        if broken.pop():
            raise RuntimeError("down")

    job = pool.enqueue(sometimes, {}, partition_key=KEY)
    run_jobs(pool)
    broken.append(False)

    assert pool.partition(0).replay([job.job_id]).replayed == 1
    assert run_jobs(pool).done == 1


def test_own_ids_are_accepted_once(pool: MemoryPool, registry: Registry) -> None:
    registry.task(name="see")(lambda: None)

    first = pool.enqueue("see", partition_key=KEY, job_id="order-1")
    run_jobs(pool)
    again = pool.enqueue_many("see", [Job({}, job_id="order-1")], partition_key=KEY)

    assert (first.status.value, again[0].status.value) == ("accepted", "duplicate")


def test_limits_refuse_as_a_server_does(registry: Registry) -> None:
    pool = MemoryPool(registry=registry, max_depth=2)

    with pytest.raises(QueueFullError):
        pool.enqueue_many("see", [{}] * 3, partition_key=KEY)
    assert pool.group(KEY).status().total == 0


def test_the_asyncio_twin_sees_the_same_jobs(pool: MemoryPool, registry: Registry) -> None:
    registry.task(name="double")(lambda n: 2 * n)

    async def scenario() -> int:
        twin = pool.asyncio()
        job = await twin.enqueue("double", {"n": 21}, partition_key=KEY)
        await asyncio.to_thread(run_jobs, pool)
        result: int = await twin.result(job.job_id, partition_key=KEY)
        await twin.close()
        return result

    assert asyncio.run(scenario()) == 42


def test_async_handlers_inside_a_running_loop_name_the_remedy(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task
    async def handler() -> None: ...

    pool.enqueue(handler, {}, partition_key=KEY)

    async def scenario() -> None:
        run_jobs(pool)

    with pytest.raises(InvalidInputError, match="to_thread"):
        asyncio.run(scenario())
    assert run_jobs(pool).done == 1  # the refusal charged the job nothing


def test_a_partition_that_somebody_owns_is_not_run(pool: MemoryPool) -> None:
    pool.partition(0).acquire(lease_s=30, host="another")

    with pytest.raises(UnavailableError, match="advance the clock"):
        run_jobs(pool)
    pool.clock.advance(31)
    assert run_jobs(pool).ended == ()


def test_many_threads_may_share_a_pool(pool: MemoryPool, registry: Registry) -> None:
    registry.task(name="see")(lambda n: n)

    def produce(start: int) -> None:
        for n in range(start, start + 200):
            pool.enqueue("see", {"n": n}, partition_key=f"k{n % 7}")

    threads = [threading.Thread(target=produce, args=(i * 200,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert run_jobs(pool).done == 800
    assert pool.partition(0).audit().clean


def test_a_clock_neither_goes_back_nor_starts_before_the_queue_could() -> None:
    clock = FakeClock()

    with pytest.raises(InvalidInputError, match="cannot go back"):
        clock.advance(-1)
    with pytest.raises(InvalidInputError, match="2002"):
        FakeClock(0)


def test_an_id_alone_finds_its_job_here_too() -> None:
    pool = MemoryPool(7)
    for key in ("a", "b", "c", "d"):
        made = pool.enqueue("t", {}, partition_key=key).job_id
        mine = pool.enqueue("t", {}, partition_key=key, job_id=f"mine-{key}").job_id

        assert pool.status(made).group == pool.status(mine).group == key.encode()
        assert (pool.cancel(made), pool.cancel(mine)) == ("ready", "ready")

    async def ask() -> str:
        twin = pool.asyncio()
        job = await twin.enqueue("t", {}, partition_key="e")
        return (await twin.status(job.job_id)).state

    assert asyncio.run(ask()) == "ready"


def test_a_report_shows_what_failed_and_raises_it(pool: MemoryPool, registry: Registry) -> None:
    @registry.task(max_attempts=2)
    def fails(n: int) -> None:
        if n < 0:
            raise RetryLater(5)
        raise ValueError(f"no\n{n}")

    job = pool.enqueue(fails.job(1), partition_key=KEY)
    pool.enqueue(fails.job(-1), partition_key=KEY)
    once = run_jobs(pool)

    assert repr(once).endswith("errors=['fails: ValueError: no 1'])")
    assert [(e.job_id, e.state) for e in once.errors] == [(job.job_id, JobState.DELAYED)]
    for _ in range(2):  # the second time says it no longer
        with pytest.raises(ValueError, match="no") as caught:
            once.raise_errors()
    assert caught.value.__notes__ == [f"in attempt 1 of job {job.job_id} of task 'fails'"]

    for n in range(9):
        pool.enqueue("fails", {"n": n}, partition_key=KEY)
    several = run_jobs(pool)
    with pytest.raises(ExceptionGroup, match="9 executions") as group:
        several.raise_errors()
    assert len(group.value.exceptions) == 9
    assert repr(several).endswith("'fails: ValueError: no 4', 'and 4 more'])")


def test_a_report_without_errors_raises_nothing(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def fine() -> None: ...

    pool.enqueue(fine.job(), partition_key=KEY)
    report = run_jobs(pool)

    report.raise_errors()
    assert repr(report) == "RunReport(done=1, retried=0, dead=0, cancelled=0, next_due_s=None)"


def test_a_payload_that_does_not_fit_is_dead_at_once(pool: MemoryPool, registry: Registry) -> None:
    job = pool.enqueue("typed", {"n": "x"}, partition_key=KEY)  # not known here yet

    @registry.task
    def typed(n: int) -> None: ...

    report = run_jobs(pool)

    assert (report.dead, report.errors[0].attempt) == (1, 1)
    with pytest.raises(BadPayloadError, match="argument 'n'"):
        report.raise_errors()
    found = job.job_status().error
    assert found is not None
    assert found.reason == "bad-payload"
