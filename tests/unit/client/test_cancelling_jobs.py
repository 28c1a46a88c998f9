"""What cancelling a job says of one that has ended: how it ended, as its status does."""

from __future__ import annotations

import asyncio

import pytest

from queuepool import JobState, Registry
from queuepool.testing import MemoryPool, run_jobs
from tests.unit.client.faulty import faulty_pool

KEY = "import-42"


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()
    registry.task(name="t")(lambda: None)
    return MemoryPool(registry=registry, partitions=4)


def enqueue(pool: MemoryPool, job_id: str) -> None:
    pool.enqueue("t", {}, partition_key=KEY, job_id=job_id, delay_s=60)


def test_a_job_that_was_cancelled_already_is_cancelled(pool: MemoryPool) -> None:
    enqueue(pool, "mine")

    assert pool.cancel("mine") is JobState.DELAYED
    assert pool.cancel("mine") is JobState.CANCELLED
    assert pool.cancel("mine", partition_key=KEY) is JobState.CANCELLED


def test_a_job_that_is_done_is_done(pool: MemoryPool) -> None:
    enqueue(pool, "mine")
    pool.clock.advance(60)
    assert run_jobs(pool).done == 1

    assert pool.cancel("mine") is JobState.DONE
    assert pool.job("mine", partition_key=KEY).cancel() is JobState.DONE
    assert pool.cancel("never") is JobState.UNKNOWN


def test_the_asyncio_pool_says_the_same(pool: MemoryPool) -> None:
    enqueue(pool, "mine")
    twin = pool.asyncio()

    async def cancel_twice() -> list[JobState]:
        return [await twin.cancel("mine"), await twin.cancel("mine", partition_key=KEY)]

    assert asyncio.run(cancel_twice()) == [JobState.DELAYED, JobState.CANCELLED]


def test_a_cancellation_whose_answer_was_lost_is_known_to_be_one() -> None:
    pool, server = faulty_pool([])
    pool.enqueue("t", {}, partition_key=KEY, job_id="mine")
    server.plan.append("lost")

    assert pool.cancel("mine", partition_key=KEY) is JobState.CANCELLED
    assert server.calls.count("cancel") == 2
