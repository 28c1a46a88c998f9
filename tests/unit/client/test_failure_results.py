"""enqueue_many(..., results="failures"): all are counted, only the others are kept."""

from __future__ import annotations

import asyncio
import tracemalloc
from datetime import date
from decimal import Decimal

import pytest

from queuepool import EnqueueStatus, InvalidInputError, Job, QueueFullError, Registry
from queuepool.testing import MemoryPool, run_jobs


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()

    @registry.task
    def send(to: int = 0) -> None:
        """Do nothing."""

    return MemoryPool(4, registry=registry)


def test_only_jobs_that_were_not_newly_enqueued_are_kept_in_order(pool: MemoryPool) -> None:
    pool.enqueue("send", partition_key="a", job_id="seven")
    jobs = [Job({"to": n}, job_id="seven" if n == 7 else None) for n in range(500)]

    results = pool.enqueue_many("send", jobs, partition_key="a", results="failures")

    assert (results.jobs, results.accepted, results.duplicates) == (500, 499, 1)
    assert [(one.job_id, one.status) for one in results] == [("seven", EnqueueStatus.DUPLICATE)]
    assert results[0].job.job_id == results[:1][0].job_id == "seven"
    assert len(results) == 1
    assert str(results) == "EnqueueResults(accepted=499, duplicates=1, rejected=0, unknown=0)"


def test_a_full_partition_keeps_what_was_rejected() -> None:
    registry = Registry()
    registry.task(name="send")(lambda to: None)
    pool = MemoryPool(1, registry=registry, max_depth=400)

    rows = [{"to": n} for n in range(1_000)]

    with pytest.raises(QueueFullError) as caught:
        pool.enqueue_many("send", rows, partition_key="a", results="failures")

    results = caught.value.results
    assert results.jobs >= 600
    assert results.accepted == 400
    assert results.rejected == results.jobs - 400 == len(results)


def test_an_async_pool_and_jobs_of_several_tasks_do_the_same(pool: MemoryPool) -> None:
    async def enqueue() -> tuple[int, int]:
        async with pool.asyncio() as aio:
            jobs = (Job({"to": n}, task="send") for n in range(300))
            results = await aio.enqueue_many(jobs, partition_key="a", results="failures")
            return results.accepted, len(results)

    assert asyncio.run(enqueue()) == (300, 0)


@pytest.mark.thorough
def test_what_it_takes_is_what_is_on_its_way(pool: MemoryPool) -> None:
    tracemalloc.start()
    rows = ({"to": n} for n in range(15_000))
    results = pool.enqueue_many("send", rows, partition_key="a", results="failures")
    of_results = tracemalloc.Filter(True, "*/client/results.py")
    found = tracemalloc.take_snapshot().filter_traces([of_results]).statistics("filename")
    tracemalloc.stop()

    assert results.accepted == 15_000
    assert sum(one.size for one in found) < 250_000, "bytes; all results would take 855,000"


def test_another_word_is_refused_before_the_first_job(pool: MemoryPool) -> None:
    with pytest.raises(InvalidInputError, match='"all" or "failures"'):
        pool.enqueue_many("send", iter(()), partition_key="a", results="some")  # type: ignore[call-overload]  # that is it


def test_the_handles_convert_results_as_those_of_all_do(pool: MemoryPool) -> None:
    registry = pool.producer.registry

    @registry.task
    def price(x: int) -> Decimal:
        return Decimal("1.10")

    @registry.task
    def day(x: int) -> date:
        return date(2026, 11, 27)

    jobs = [price.job(x=1).with_options(job_id="p"), day.job(x=1).with_options(job_id="d")]
    pool.enqueue_many(jobs, partition_key="a")
    run_jobs(pool)
    mixed = [price.job(x=0), *jobs, day.job(x=0)]

    results = pool.enqueue_many(mixed, partition_key="a", results="failures")

    assert [one.job.result() for one in results] == [Decimal("1.10"), date(2026, 11, 27)]


@pytest.mark.thorough
def test_the_tasks_of_jobs_that_were_newly_enqueued_are_dropped(pool: MemoryPool) -> None:
    tracemalloc.start()
    jobs = (Job({"to": n}, task="send") for n in range(15_000))
    results = pool.enqueue_many(jobs, partition_key="a", results="failures")
    of_calls = tracemalloc.Filter(True, "*/client/calls.py")
    found = tracemalloc.take_snapshot().filter_traces([of_calls]).statistics("filename")
    tracemalloc.stop()

    assert results.accepted == 15_000
    assert sum(one.size for one in found) < 250_000, "bytes; the tasks of all would take 1 MB"
