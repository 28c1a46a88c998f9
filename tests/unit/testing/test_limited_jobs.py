"""run_jobs: limits hold no job back, whatever else does."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool import JobExpired, JobState, Limit, RateLimited, Registry
from queuepool.testing import MemoryPool, run_jobs

KEY = "k"


def recorded(registry: Registry, **options: Any) -> list[Any]:
    """Register a task "t"; return what its jobs append when they run."""
    ran: list[Any] = []

    @registry.task(name="t", **options)
    def t(n: Any) -> None:
        ran.append(n)

    return ran


def test_parked_jobs_run_at_once(pool: MemoryPool, registry: Registry) -> None:
    ran: list[int] = []

    @registry.task(limit=[Limit("mail:{n}", rate=1, per_s=3600), "all"])
    def send(n: int) -> int:
        ran.append(n)
        return n

    jobs = pool.enqueue_many((send.job(n % 3) for n in range(500)), partition_key=KEY)
    assert jobs[0].job_status().state is JobState.PARKED

    assert run_jobs(pool).done == 500

    assert sorted(ran) == sorted(n % 3 for n in range(500))
    assert pool.group(KEY).wait(show=False).done == 500


def test_gates_of_many_names_are_emptied(pool: MemoryPool) -> None:
    rows = [{"n": n} for n in range(450)]
    recorded(pool.producer.registry)
    pool.enqueue_many("t", rows, partition_key=KEY, limit="account:{n}")

    assert run_jobs(pool).done == 450


def test_limited_and_plain_jobs_run_in_the_order_of_their_tiers(
    pool: MemoryPool, registry: Registry
) -> None:
    ran = recorded(registry)
    for tier in ("low", "critical"):
        pool.enqueue("t", {"n": tier}, partition_key=tier, tier=tier)
        pool.enqueue("t", {"n": f"{tier} limited"}, partition_key=tier, tier=tier, limit="a")

    run_jobs(pool)

    assert ran == ["critical", "critical limited", "low", "low limited"]


def test_a_bound_of_jobs_holds_and_the_rest_keeps_its_order(
    pool: MemoryPool, registry: Registry
) -> None:
    ran = recorded(registry, limit="mail")
    pool.enqueue_many("t", [{"n": n} for n in range(5)], partition_key=KEY)

    assert [run_jobs(pool, max_jobs=2).done for _ in range(3)] == [2, 2, 1]

    assert ran == [0, 1, 2, 3, 4]


def test_what_a_handler_enqueues_is_run_and_what_was_rate_limited_when_it_is_due(
    pool: MemoryPool, registry: Registry
) -> None:
    attempts: list[int] = []

    @registry.task(limit="mail")
    def send(n: int) -> None:
        attempts.append(n)
        if n == 0:
            pool.enqueue(send.job(1), partition_key=KEY)
        elif len(attempts) == 2:
            raise RateLimited(30)

    pool.enqueue(send.job(0), partition_key=KEY)
    first = run_jobs(pool)
    assert (first.done, first.retried, first.next_due_s, first.errors) == (1, 1, 30.0, ())

    pool.clock.advance(30)

    assert run_jobs(pool).done == 1
    assert attempts == [0, 1, 1]


@pytest.mark.parametrize("serial", [True, False])
def test_groups_with_settings_are_no_obstacle(
    pool: MemoryPool, registry: Registry, serial: bool
) -> None:
    ran = recorded(registry, limit="mail")
    pool.enqueue("t", {"n": 0}, partition_key=KEY, limit=())
    pool.group(KEY).configure(**({"serial": True} if serial else {"max_running": 2}))
    pool.enqueue_many("t", [{"n": n} for n in range(1, 5)], partition_key=KEY)
    held = pool.enqueue("t", {"n": 9}, partition_key="held")
    pool.group("held").hold()

    assert run_jobs(pool).done == 5

    assert ran == [0, 1, 2, 3, 4]
    assert held.job_status().state is JobState.PARKED
    pool.group("held").release()
    assert run_jobs(pool).done == 1


def test_a_parked_job_that_is_cancelled_or_too_late_never_runs(
    pool: MemoryPool, registry: Registry
) -> None:
    ran = recorded(registry, limit="mail")
    late = pool.enqueue("t", {"n": 1}, partition_key=KEY, expires_s=5)
    gone = pool.enqueue("t", {"n": 2}, partition_key=KEY)
    gone.cancel()
    pool.clock.advance(6)

    assert run_jobs(pool).ended == ()

    assert ran == []
    with pytest.raises(JobExpired):
        late.result()
    assert gone.job_status().state is JobState.CANCELLED
    assert pool.group(KEY).wait(show=False).expired == 1
