"""Every place at which a process can die while a batch is enqueued, run, told of and concluded.

    before   the process dies before it sends the call
    after    the call is done, the process dies before it hears the answer

Then a successor runs the same program again: the call that enqueues with its batch_id, and a
consumer over all partitions. Whatever died where, the batch concludes once, with every result.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest

from queuepool import (
    After,
    BatchState,
    InvalidInputError,
    Job,
    JobContext,
    JobState,
    PermanentError,
    QueuePool,
    Registry,
)
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.testing import FakeClock, run_jobs
from tests.integration.client.deadly import DEATHS, Deadly, deaths

JOBS = 4


class World:
    """An application and its consumer, over two partitions."""

    def __init__(self) -> None:
        self.clock, self.registry = FakeClock(), Registry()
        self.server = Deadly(self.clock)
        self.continued: list[Any] = []
        self.executed = Counter[int]()
        task = self.registry.task

        @task(max_attempts=9)
        def part(ctx: JobContext, n: int) -> int:
            self.executed[n] += 1
            if n == 1:
                raise PermanentError("never")
            if n == 2:
                inner = [{"n": 8}, {"n": 9}]
                then = After("total", {"of": "inner"})
                self.pool.enqueue_many("part", inner, partition_key="b", then=then, into=ctx.batch)
            return n * n

        @task(max_attempts=9)
        def total(ctx: JobContext, of: str) -> int:
            found = [(each.number, str(each.end), each.result) for each in ctx.results()]
            self.continued.append((of, found))
            return sum(result or 0 for _, _, result in found)

        self.pool = self.fresh()

    def fresh(self) -> QueuePool:
        config = PoolConfig(topology=build({"m": "memory:"}, 2, ""), retry_for_s=0.0)
        servers: Any = {"m": self.server}
        return QueuePool(config=config, registry=self.registry, servers=servers)

    def life(self) -> str:
        """Run the program once; returns the name of the batch."""
        then = After("total", {"of": "outer"}, on_failure="partial", batch_id="one")
        jobs = [Job({"n": n}, task="part", partition_key="ab"[n % 2]) for n in range(JOBS)]
        name = ""
        with contextlib.suppress(InvalidInputError):  # it has concluded
            name = str(self.pool.enqueue_many(jobs, partition_key="a", then=then).batch.name)
        run_jobs(self.pool, jitter=0)
        return name


def test_without_a_death_all_goes_well() -> None:
    world = World()
    name = world.life()

    assert world.pool.batch(name).status().state is BatchState.FIRED
    assert world.executed == Counter({0: 1, 1: 1, 2: 1, 3: 1, 8: 1, 9: 1})


@pytest.mark.parametrize(("part", "mode"), DEATHS)
def test_wherever_a_process_dies_each_continuation_has_all_results(part: int, mode: str) -> None:
    for world, names, where in deaths(World, part, mode):
        outer = [found for of, found in world.continued if of == "outer"]
        inner = [found for of, found in world.continued if of == "inner"]
        results = [(0, "done", 0), (1, "dead", None), (2, "done", 4), (3, "done", 9)]
        assert outer, where
        assert all(found == [*results, (4, "done", 64 + 81)] for found in outer), where
        assert inner, where
        assert all(found == [(0, "done", 64), (1, "done", 81)] for found in inner), where
        # Executed again only if the process died while it ran
        assert len(outer) + len(inner) <= 3, where
        for partition in world.pool.partitions():
            assert partition.audit().clean, where
            left = partition.observe()
            assert left.ready == (0, 0, 0, 0), where
        for name in filter(None, names):
            assert world.pool.status(str(name)).state in (JobState.DONE, JobState.UNKNOWN), where
