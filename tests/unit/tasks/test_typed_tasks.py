"""`@task` keeps the function, and makes jobs of its arguments."""

import asyncio
import copy
import dataclasses
import functools
import inspect
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from queuepool import (
    Enqueued,
    EnqueueStatus,
    InvalidInputError,
    Job,
    JobCancelled,
    JobContext,
    JobDiedError,
    JobId,
    JobState,
    RateLimited,
    Registry,
    RetryLater,
    Tier,
    WaitTimeoutError,
)
from queuepool.testing import MemoryPool, run_jobs

KEY = "k"


def test_a_task_is_still_the_function(registry: Registry) -> None:
    @registry.task
    def price(count: int, each: Decimal = Decimal(1)) -> Decimal:
        """Multiply."""
        return count * each

    assert price(2, each=Decimal(3)) == 6
    assert (price.__name__, price.__doc__, price.__module__) == ("price", "Multiply.", __name__)
    assert list(inspect.signature(price).parameters) == ["count", "each"]
    assert price.__wrapped__(2) == 2
    assert inspect.unwrap(price) is price.__wrapped__
    assert price.name == registry.name_of(price) == "price"
    assert repr(price).startswith("<task 'price': test_a_task")
    assert functools.partial(price, 2)() == 2


def test_an_async_task_gives_its_coroutine(registry: Registry) -> None:
    @registry.task(max_attempts=2)
    async def fetch(url: str) -> int:
        await asyncio.sleep(0)
        return len(url)

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch("abc")) == 3
    assert registry.get("fetch").is_async


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (int, "a class"), (5, "not callable"), (lambda: None, "not a named"),
        ("name", "not callable"), (functools.partial(int), "not a named function"),
    ],
)  # fmt: skip
def test_what_is_no_function_is_refused(registry: Registry, wrong: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        registry.task(wrong)

    assert list(registry) == []


def test_a_function_is_decorated_once(registry: Registry) -> None:
    @registry.task
    def once() -> None: ...

    with pytest.raises(InvalidInputError, match="decorate it once"):
        registry.task(max_attempts=1)(once)
    other = registry.task(name="other", max_attempts=1)(once)
    elsewhere = Registry().task(once)

    assert (registry.get("once").max_attempts, registry.get("other").max_attempts) == (5, 1)
    assert (other.name, elsewhere.name) == ("other", "once")


def test_a_job_is_enqueued_and_run(pool: MemoryPool, registry: Registry) -> None:
    seen: list[Any] = []

    @registry.task
    def write_row(ctx: JobContext, id: int, name: str = "nobody") -> str:
        seen.append((ctx.attempt, id, name))
        return f"{id} {name}"

    jobs = [
        pool.enqueue(write_row.job(id=1, name="Ada"), partition_key=KEY),
        pool.enqueue(write_row.job(2), partition_key=KEY),
    ]
    run_jobs(pool).raise_errors()

    assert seen == [(1, 1, "Ada"), (1, 2, "nobody")]
    assert [job.result() for job in jobs] == ["1 Ada", "2 nobody"]


def test_jobs_of_several_tasks_go_through_one_bulk_call(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(tier="low")
    def a(n: int) -> Decimal:
        return Decimal(n)

    @registry.task
    def b(text: str) -> str:
        return text

    jobs = (a.job(n) if n % 2 else b.job(text=str(n)) for n in range(6))
    results = pool.enqueue_many(jobs, partition_key=KEY, max_attempts=2)

    assert results.accepted == 6
    assert [r.job_status().tier for r in results] == [Tier.DEFAULT, Tier.LOW] * 3
    run_jobs(pool).raise_errors()
    assert [r.result() for r in results] == ["0", Decimal(1), "2", Decimal(3), "4", Decimal(5)]
    assert results[-1].result() == Decimal(5)


def test_items_may_be_jobs_of_the_task_that_the_call_names(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task
    def a(n: int) -> int:
        return n

    @registry.task
    def b(n: int) -> int:
        return n

    results = pool.enqueue_many(a, [a.job(1), Job({"n": 2}), {"n": 3}], partition_key=KEY)

    assert results.accepted == 3
    with pytest.raises(InvalidInputError, match="a job of task 'b' in a call for task 'a'"):
        pool.enqueue_many("a", [b.job(1)], partition_key=KEY)


@pytest.mark.parametrize("items", [[{"n": 1}], [Job({"n": 1})]])
def test_without_a_task_every_item_must_name_its_own(pool: MemoryPool, items: Any) -> None:
    with pytest.raises(InvalidInputError, match="names a task"):
        pool.enqueue_many(items, partition_key=KEY)


@pytest.mark.parametrize("task", ["name", Job({}, task="t"), 5])
def test_a_bulk_call_without_items_says_so(pool: MemoryPool, task: Any) -> None:
    with pytest.raises(InvalidInputError, match="no items"):
        pool.enqueue_many(task, partition_key=KEY)


def test_options_of_a_job_come_before_those_of_the_call(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(tier="low")
    def a(n: int) -> None: ...

    job = a.job(1).with_options(partition_key="own", job_id="mine", tier="high", delay=90)
    single = pool.enqueue(job, partition_key=KEY, tier="critical", delay=timedelta(hours=1))
    (bulk,) = pool.enqueue_many([job.with_options(job_id="2")], partition_key=KEY, tier="critical")

    assert (single.job_id, bulk.job_id) == ("mine", "2")
    for status in (single.status(), bulk.job_status()):
        assert (status.state, status.tier, status.group) == (JobState.DELAYED, Tier.HIGH, b"own")
    assert run_jobs(pool).next_due_s == 90


@pytest.mark.parametrize(
    "how", [{"delay": timedelta(minutes=5)}, {"delay": 300}, {"delay_s": 300.0}]
)
def test_a_delay_is_a_timedelta_or_seconds(
    pool: MemoryPool, registry: Registry, how: dict[str, Any]
) -> None:
    @registry.task
    def a(n: int = 0) -> None:
        if n:
            raise RetryLater(how.get("delay", 300))

    pool.enqueue("a", {}, partition_key=KEY, **how)
    pool.enqueue(a.job(), partition_key=KEY, **how)
    pool.enqueue(a.job().with_options(**how), partition_key=KEY)
    pool.enqueue_many("a", [{}], partition_key=KEY, **how)
    pool.enqueue_many([a.job().with_options(**how), Job({}, task="a", **how)], partition_key=KEY)
    assert run_jobs(pool).next_due_s == 300

    pool.clock.advance(300)
    pool.enqueue(a.job(1), partition_key=KEY)
    report = run_jobs(pool)
    assert (report.done, report.retried, report.next_due_s) == (6, 1, 300)


@pytest.mark.parametrize(
    "how",
    [
        {"delay": 1, "delay_s": 1}, {"delay": timedelta(days=400)}, {"delay": timedelta(-1)},
        {"delay": "1"}, {"delay_s": timedelta(1)}, {"delay": True},
    ],
)  # fmt: skip
def test_a_bad_delay_is_refused(pool: MemoryPool, how: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="delay"):
        pool.enqueue("t", {}, partition_key=KEY, **how)
    with pytest.raises(InvalidInputError, match="delay"):
        pool.enqueue_many("t", [Job({}, **how)], partition_key=KEY)


@pytest.mark.parametrize("wrong", [None, -1, timedelta(days=400), "30", float("nan")])
def test_retry_later_refuses_what_is_no_delay(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="RetryLater"):
        RetryLater(wrong)
    with pytest.raises(InvalidInputError, match="RateLimited"):
        RateLimited(wrong)


def test_retry_later_takes_its_delay_by_either_name() -> None:
    assert RetryLater(delay_s=30, reason="busy").delay_s == 30
    assert RetryLater(delay=timedelta(minutes=1)).delay_s == 60
    assert str(RetryLater(timedelta(minutes=1))) == "requested a retry in 60 s"


def test_rate_limited_takes_a_timedelta_or_seconds() -> None:
    assert RateLimited(retry_after_s=30, reason="busy").delay_s == 30
    assert RateLimited(timedelta(minutes=1)).delay_s == 60
    assert str(RateLimited(0, "429")) == "429"


def test_arguments_are_checked_at_the_enqueue_and_nothing_is_enqueued(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task
    def a(n: int) -> None: ...

    for wrong in (
        lambda: pool.enqueue("a", {"n": "x"}, partition_key=KEY),
        lambda: pool.enqueue(a, {}, partition_key=KEY),
        lambda: pool.enqueue(a.job(n="x"), partition_key=KEY),  # type: ignore[arg-type]
        lambda: pool.enqueue(a.job(m=1), partition_key=KEY),  # type: ignore[call-arg]
        lambda: pool.enqueue(a.job(1, 2), partition_key=KEY),  # type: ignore[call-arg]
        lambda: pool.enqueue(a.job(1, n=2), partition_key=KEY),  # type: ignore[misc]
        lambda: pool.enqueue(a.job(1), {"n": 2}, partition_key=KEY),  # type: ignore[call-overload]
        lambda: pool.enqueue(a.job(1)),
        lambda: pool.enqueue(Job({"n": 1}), partition_key=KEY),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
    with pytest.raises(InvalidInputError) as caught:
        pool.enqueue_many("a", [{"n": "1"}, {"n": 2}, {"n": "x"}, {"n": 3}], partition_key=KEY)

    assert caught.value.__notes__ == ["2 jobs before it were enqueued"]
    assert pool.group(KEY).status().total == 2


def test_a_task_of_another_registry_is_refused(pool: MemoryPool) -> None:
    @Registry().task
    def a() -> None: ...

    with pytest.raises(InvalidInputError, match="not a registered task"):
        pool.enqueue(a.job(), partition_key=KEY)


def test_a_parameter_may_have_any_name(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def a(self: int, args: int = 1, function: int = 2, payload: int = 3) -> int:
        return self + args + function + payload

    job = pool.enqueue(a.job(self=4, function=1), partition_key=KEY)
    twin = pool.enqueue(a.job(args=0, self=1), partition_key=KEY)
    named = pool.enqueue("a", {"self": 2, "payload": 0}, partition_key=KEY)
    run_jobs(pool)

    assert [each.result() for each in (job, twin, named)] == [9, 6, 5]
    assert a(self=1) == 7


def test_a_handle_asks_without_the_key(pool: MemoryPool, registry: Registry) -> None:
    @registry.task(max_attempts=1)
    def a(n: int) -> Decimal:
        return Decimal(1) / n

    good = pool.enqueue(a.job(4), partition_key=KEY)
    bad = pool.enqueue(a.job(0), partition_key=KEY)
    named = pool.enqueue("a", {"n": 4}, partition_key=KEY)
    later = pool.enqueue(a.job(4), partition_key=KEY, delay=60)
    again = pool.enqueue(a.job(4), partition_key=KEY, job_id=good.job_id)

    assert (good.enqueue_status, named.status) == (EnqueueStatus.ACCEPTED, EnqueueStatus.ACCEPTED)
    assert (good.accepted, again.accepted) == (True, False)
    assert good.status().state is named.job_status().state is JobState.READY
    with pytest.raises(WaitTimeoutError, match=r"after .* s, job .* is ready"):
        good.result(timeout_s=0.01)
    run_jobs(pool)
    assert good.result() == named.result() == Decimal("0.25")
    assert pool.job(good.job_id, partition_key=KEY).result() == "0.25"  # as it is stored
    by_id = pool.job(good.job_id)
    assert (by_id.partition, by_id.status().state, by_id.partition) == (None, JobState.DONE, 0)
    assert pool.job("nobody").cancel() is JobState.UNKNOWN
    with pytest.raises(
        WaitTimeoutError, match=r"after .* s, job .* is unknown; it ended so long ago"
    ):
        pool.job("nobody").result(timeout_s=0.01)
    with pytest.raises(JobDiedError, match="Division"):
        bad.result()
    assert later.cancel() is JobState.DELAYED
    with pytest.raises(JobCancelled):
        later.result()


def test_asyncio_has_the_same_forms_awaited(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def a(n: int) -> Decimal:
        return Decimal(n)

    async def main() -> list[Any]:
        twin = pool.asyncio()
        one = await twin.enqueue(a.job(1), partition_key=KEY)
        two = await twin.enqueue("a", {"n": 2}, partition_key=KEY)
        bulk = await twin.enqueue_many((a.job(n) for n in (3, 4)), partition_key=KEY)
        gone = await twin.enqueue(a.job(5), partition_key=KEY, delay=timedelta(1))
        assert await gone.cancel() is JobState.DELAYED
        assert (await one.status()).state is (await two.job_status()).state is JobState.READY
        with pytest.raises(WaitTimeoutError):
            await one.result(timeout_s=0.01)
        await asyncio.to_thread(run_jobs, pool)
        found = twin.job(one.job_id)
        assert await twin.job("nobody").cancel() is JobState.UNKNOWN
        with pytest.raises(WaitTimeoutError, match="waiting longer does not help"):
            await twin.job("nobody").result(timeout_s=0.01)
        results = [await one.result(), await two.result(), *[await r.result() for r in bulk]]
        return [*results, await found.result()]

    assert asyncio.run(main()) == [Decimal(1), Decimal(2), Decimal(3), Decimal(4), "1"]


def test_an_answer_is_still_plain_data(pool: MemoryPool) -> None:
    one = pool.enqueue("t", {}, partition_key=KEY, job_id="j")
    (many,) = pool.enqueue_many("t", [Job({}, job_id="j")], partition_key=KEY)
    made = Enqueued(JobId("j"), EnqueueStatus.ACCEPTED, 0)

    assert one == made
    assert hash(one) == hash(made)
    assert dataclasses.asdict(one) == {"job_id": "j", "status": "accepted", "partition": 0}
    assert (many.status, many.job_status().job_id) == (EnqueueStatus.DUPLICATE, "j")
    assert copy.copy(one) == one
    with pytest.raises(InvalidInputError, match=r"pool\.job"):
        made.result()


def test_records_print_as_words(pool: MemoryPool, registry: Registry) -> None:
    @registry.task(tier="low")
    def a() -> None: ...

    job = pool.enqueue(a.job(), partition_key="import-1", job_id="j1")
    named = pool.enqueue("a", partition_key="import-1", job_id="j2")
    status = repr(job.status())

    assert str(Tier.LOW) == f"{Tier.LOW}" == "low"
    assert repr(job) == "JobHandle(job_id='j1', partition=0, enqueue_status='accepted')"
    assert repr(named) == str(named) == "Enqueued(job_id='j2', status='accepted', partition=0)"
    assert "state='ready'" in status
    assert "tier='low'" in status
    assert "group='import-1'" in status
    assert "error" not in status
    assert "tier='low'" in repr(pool.enqueue_many("a", [{}], partition_key=b"\xff\x00")[0].
                                job_status())  # fmt: skip
