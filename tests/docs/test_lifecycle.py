"""How long things are remembered, as docs/lifecycle.md says; in memory, with a clock to move."""

import pytest

from queuepool import JobState, Registry
from queuepool.testing import MemoryPool, run_jobs

MINUTE_S, DAY_S = 60.0, 86_400.0


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()

    @registry.task(max_attempts=1, result_ttl_s=3600)
    def work(fail: bool = False) -> str:
        if fail:
            raise RuntimeError("broken")
        return "made"

    return MemoryPool(registry=registry)


def enqueue(pool: MemoryPool, job_id: str | None = None, *, fail: bool = False) -> str:
    """Enqueue one job; return the outcome, or the id when none was given."""
    enqueued = pool.enqueue("work", {"fail": fail}, partition_key="k", job_id=job_id)
    return enqueued.status if job_id else enqueued.job_id


def test_an_id_is_accepted_once_for_at_least_a_minute_after_its_job_ended(pool: MemoryPool) -> None:
    assert enqueue(pool, "mine") == "accepted"
    assert enqueue(pool, "mine") == "duplicate"
    run_jobs(pool)

    pool.clock.advance(MINUTE_S - 1)
    assert enqueue(pool, "mine") == "duplicate"

    pool.clock.advance(MINUTE_S + 2)
    assert enqueue(pool, "mine") == "accepted"


def test_the_id_of_a_dead_job_stays_taken(pool: MemoryPool) -> None:
    enqueue(pool, "mine", fail=True)
    run_jobs(pool)

    pool.clock.advance(DAY_S)

    assert enqueue(pool, "mine") == "duplicate"
    assert pool.status("mine", partition_key="k").state is JobState.DEAD


def test_that_a_job_is_done_is_known_as_long_as_its_result(pool: MemoryPool) -> None:
    job_id = enqueue(pool)
    run_jobs(pool)

    pool.clock.advance(3599)
    assert pool.status(job_id, partition_key="k").state is JobState.DONE

    pool.clock.advance(2)
    assert pool.status(job_id, partition_key="k").state is JobState.UNKNOWN


def test_totals_of_a_group_are_kept_for_a_minute_a_job(pool: MemoryPool) -> None:
    for _ in range(10):
        enqueue(pool)
    run_jobs(pool)

    pool.clock.advance(10 * MINUTE_S - 1)
    assert pool.group("k").status().done == 10

    pool.clock.advance(2)
    assert pool.group("k").status().total == 0


def test_totals_of_a_group_with_dead_jobs_stay_until_after_their_discard(pool: MemoryPool) -> None:
    enqueue(pool, "mine", fail=True)
    enqueue(pool)
    run_jobs(pool)

    pool.clock.advance(7 * DAY_S)
    assert pool.group("k").status().dead == 1

    pool.partition(0).discard(["mine"])
    pool.clock.advance(2 * MINUTE_S - 1)
    assert pool.group("k").status().total == 2

    pool.clock.advance(2)
    assert pool.group("k").status().total == 0


def test_totals_of_a_cancelled_group_are_kept_for_a_minute_a_job(pool: MemoryPool) -> None:
    enqueue(pool)
    pool.group("k").cancel()

    pool.clock.advance(MINUTE_S - 1)
    assert pool.group("k").status().cancelled == 1

    pool.clock.advance(2)
    assert pool.group("k").status().total == 0
