"""Jobs that are added to a batch once more, long after the first time: none of them runs twice.

By a job that runs again, or by a call that is repeated with its batch_id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from queuepool import (
    After,
    BatchState,
    EnqueueStatus,
    Flow,
    InvalidInputError,
    Job,
    JobContext,
    Registry,
)
from queuepool.testing import FakeClock, MemoryPool, run_jobs

LATER_S = 3600  # ids of jobs that have ended are forgotten by then


class World:
    """Tasks of which one adds jobs to its batch, in as many attempts as are wanted."""

    def __init__(self) -> None:
        self.registry, self.clock = Registry(), FakeClock()
        self.pool = MemoryPool(4, registry=self.registry, clock=self.clock)
        self.executed, self.sums = Counter[int](), list[Any]()
        self.statuses: list[set[EnqueueStatus]] = []
        task = self.registry.task

        @task(max_attempts=1)
        def part(n: int) -> int:
            self.executed[n] += 1
            return n

        @task(max_attempts=1)
        def total(ctx: JobContext, of: str) -> int:
            found = [each.result if each.ok else str(each.end) for each in ctx.results()]
            self.sums.append((of, found))
            return sum(each for each in found if isinstance(each, int))

        @task(max_attempts=3)
        def adds(ctx: JobContext, jobs: int, nested: bool) -> int:
            rows = [{"n": n} for n in range(jobs)]
            then = After("total", {"of": "inner"}) if nested else None
            added = self.pool.enqueue_many(
                "part", rows, partition_key="more", then=then, into=ctx.batch
            )
            self.statuses.append({each.status for each in added})
            if ctx.attempt < 3:
                raise RuntimeError("after it has added its jobs")
            return 0

    def outer(self, jobs: int, nested: bool) -> Any:
        then = After("total", {"of": "outer"}, on_failure="partial")
        job = Job({"jobs": jobs, "nested": nested}, task="adds")
        return self.pool.enqueue_many([job], partition_key="a", then=then).batch

    def run(self) -> None:
        run_jobs(self.pool, jitter=0)
        self.clock.advance(LATER_S)


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("jobs", [0, 1, 7, 8, 500])
def test_a_job_that_runs_again_adds_no_job_that_has_ended(
    world: World, jobs: int, nested: bool
) -> None:
    batch = world.outer(jobs, nested)
    for _ in range(4):
        world.run()

    numbers = list(range(jobs))
    assert world.executed == Counter(numbers)
    own = [("inner", numbers)] if nested else []
    assert world.sums == [*own, ("outer", [0, sum(numbers)] if nested else [0, *numbers])]
    assert batch.status().state is BatchState.FIRED
    assert world.statuses[1:] == [{EnqueueStatus.DUPLICATE}] * 2 if jobs else True


@pytest.mark.parametrize("nested", [False, True])
def test_a_job_that_runs_again_adds_those_that_have_not_ended(world: World, nested: bool) -> None:
    world.outer(6, nested)
    run_jobs(world.pool, jitter=0, max_jobs=4)
    world.clock.advance(LATER_S)
    for _ in range(4):
        world.run()

    assert world.executed == Counter(range(6))
    assert world.sums[-1] == ("outer", [0, 15] if nested else [0, *range(6)])


@pytest.mark.parametrize("more", [1, 300])
def test_a_call_repeated_with_more_jobs_adds_none(world: World, more: int) -> None:
    def enqueue(parts: int) -> Any:
        jobs = [Job({"jobs": 5, "nested": False}, task="adds")]
        jobs += [Job({"n": 100 + n}, task="part") for n in range(parts)]
        then = After("total", {"of": "all"}, batch_id="monday")
        return world.pool.enqueue_many(jobs, partition_key="more", then=then)

    batch = enqueue(2).batch
    with pytest.raises(InvalidInputError, match=r"another number of jobs, 3.*None was added") as e:
        enqueue(2 + more)
    assert not any("deadline" in note for note in e.value.__notes__)  # it lacks no jobs
    assert world.pool.group("more").status().total == 4
    run_jobs(world.pool, max_jobs=1, jitter=0)  # it has added jobs, of the numbers from 3 on
    with pytest.raises(InvalidInputError, match="another number of jobs"):
        enqueue(2 + more)
    for _ in range(3):
        world.run()

    assert world.executed == Counter([*range(5), 100, 101])
    assert world.sums == [("all", [0, 100, 101, *range(5)])]
    assert batch.status().total == 8


def test_a_call_repeated_with_its_batch_id_adds_no_job_that_has_ended(world: World) -> None:
    def enqueue(rows: Iterable[dict[str, Any]]) -> Any:
        then = After("total", {"of": "all"}, batch_id="monday")
        return world.pool.enqueue_many("part", rows, partition_key="a", then=then)

    rows = [{"n": n} for n in range(500)]
    with pytest.raises(InvalidInputError):
        enqueue([*rows[:300], {"no": 1}])
    run_jobs(world.pool, max_jobs=250)
    world.clock.advance(LATER_S)

    results = enqueue(rows)

    assert (results.duplicates, results.accepted) == (300, 200)
    assert [each.job_id for each in results] == [each.job_id for each in enqueue(rows)]
    world.run()
    assert world.executed == Counter(range(500))
    assert world.sums == [("all", list(range(500)))]


def test_a_flow_that_is_repeated_adds_no_job_that_has_ended(world: World) -> None:
    flow = Flow("nightly", flow_id="monday", partition_key="a")
    flow.add("part", each=[{"n": n} for n in range(500)])
    flow.add("total", {"of": "flow"}, after="part")
    plain, calls = world.pool.server.run, 0

    def breaks_off(key: bytes, verbs: Any) -> Any:
        nonlocal calls
        calls += verbs[0].script == "enqueue"
        if calls == 3:
            raise KeyboardInterrupt
        return plain(key, verbs)

    world.pool.server.run = breaks_off  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        world.pool.enqueue_flow(flow)
    world.pool.server.run = plain  # type: ignore[method-assign]
    world.run()
    assert 0 < sum(world.executed.values()) < 500

    world.pool.enqueue_flow(flow)
    world.run()

    assert world.executed == Counter(range(500))
    assert world.sums == [("flow", list(range(500)))]
