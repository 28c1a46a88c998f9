"""The asyncio pool over a network that fails: as the sync one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuepool import (
    AsyncQueuePool,
    EnqueueStatus,
    InvalidInputError,
    Job,
    QueueFullError,
    UnavailableError,
)
from queuepool.testing import AsyncMemoryServer
from tests.unit.client.faulty import FaultyServer, faulty_pool, stored

pytestmark = pytest.mark.thorough

Act = Callable[[AsyncQueuePool], Coroutine[Any, Any, Any]]


def run(plan: Iterable[str], act: Act, **limits: Any) -> tuple[Any, FaultyServer]:
    """Return what an application gets from an asyncio pool on a faulty server."""
    pool, server = faulty_pool(plan, **limits)
    twin = AsyncQueuePool(config=pool.config, servers={"m": AsyncMemoryServer(server)})
    return asyncio.run(act(twin)), server


def rows(n: int) -> list[dict[str, int]]:
    return [{"i": i} for i in range(n)]


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["ok", "ok", "cut", "lost", "oom"]), max_size=5))
def test_no_fault_loses_or_doubles_or_reorders(plan: list[str]) -> None:
    results, server = run(plan, lambda pool: pool.enqueue_many("t", rows(900), partition_key="g"))

    assert [r.job_id for r in results] == stored(server)
    assert results.accepted == 900


def test_a_job_that_ended_before_the_retry_is_not_enqueued_again() -> None:
    found, server = run(["lost and drained"], lambda p: p.enqueue("t", {}, partition_key="g"))

    assert found.status is EnqueueStatus.ACCEPTED  # by the call that was not answered
    assert stored(server) == []


def test_in_a_chunk_only_ids_of_the_application_are_duplicates_after_a_lost_answer() -> None:
    jobs: list[Any] = [Job({}), Job({}, job_id="mine"), {"i": 1}]

    results, _ = run(["lost"], lambda pool: pool.enqueue_many("t", jobs, partition_key="g"))

    assert [r.status.value for r in results] == ["accepted", "duplicate", "accepted"]


@pytest.mark.parametrize(
    ("plan", "error", "counts"),
    [
        (["ok", "lost"], UnavailableError, (200, 0, 200)),
        (["ok", "cut"], UnavailableError, (200, 0, 200)),
        (["ok", "oom"], UnavailableError, (200, 200, 0)),
        (["ok", "ok"], QueueFullError, (200, 200, 0)),
    ],
)
def test_a_bulk_call_that_fails_tells_of_every_job_taken(
    plan: list[str], error: type[UnavailableError], counts: tuple[int, int, int]
) -> None:
    with pytest.raises(error) as caught:
        run(
            plan,
            lambda pool: pool.enqueue_many("t", rows(900), partition_key="g"),
            retry_for_s=0.0,
            max_depth=300 if error is QueueFullError else 10**6,
        )

    results = caught.value.results
    assert (results.accepted, results.rejected, results.unknown) == counts
    assert len({r.job_id for r in results}) == len(results)


def test_jobs_held_back_for_other_partitions_are_reported_too() -> None:
    async def act(pool: AsyncQueuePool) -> None:
        keys = {pool.producer.route(f"k{i}").partition: f"k{i}" for i in range(40)}
        jobs = [{"key": keys[p]} for p in (1, 2, 3) for _ in range(90)] + [{"key": keys[0]}] * 250
        await pool.enqueue_many("t", jobs, partition_key=lambda row: str(row["key"]))

    with pytest.raises(QueueFullError) as caught:
        run([], act, partitions=4, max_depth=150)

    results = caught.value.results
    assert len(results) == results.rejected == 470
    assert all(r.job_id for r in results)


def test_a_bad_item_leaves_everything_before_it_enqueued() -> None:
    bad: list[Any] = [*rows(321), {"i": object()}]
    pool, server = faulty_pool()
    twin = AsyncQueuePool(config=pool.config, servers={"m": AsyncMemoryServer(server)})

    with pytest.raises(InvalidInputError) as caught:
        asyncio.run(twin.enqueue_many("t", bad, partition_key="g"))

    assert caught.value.__notes__ == ["321 jobs before it were enqueued"]
    assert len(stored(server)) == 321


def test_questions_are_asked_again_until_answered() -> None:
    async def act(pool: AsyncQueuePool) -> Any:
        job = await pool.enqueue("t", {}, partition_key="g")
        return (
            await pool.status(job.job_id, partition_key="g"),
            await pool.group("g").status(),
            await pool.cancel(job.job_id, partition_key="g"),
        )

    (status, group, cancelled), _ = run(["ok", "cut", "lost", "ok", "cut"], act)

    assert (status.state, group.total, cancelled) == ("ready", 1, "ready")
