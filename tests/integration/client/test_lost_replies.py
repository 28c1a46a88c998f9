"""Each call of an application about batches and flows, in turn, gets no reply: nothing changes.

    unsent   the call does not reach the server
    unheard  it is done, and the reply is lost

Unlike at crash points the process lives, and sends the call again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from queuepool import After, BatchState, Flow, Job, JobContext, QueuePool, Registry
from queuepool.errors import UnavailableError
from queuepool.models.flows import FlowState
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.testing import FakeClock, run_jobs
from queuepool.testing.server import MemoryServer
from queuepool.verbs import Verb

MODES = ("unsent", "unheard")


class Forgetful(MemoryServer):
    """A server that leaves one call without a reply. counts: whether calls count, for now."""

    counts, calls = False, 0
    silent: tuple[int, str] | None = None  # the number of the call, and how

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        return self._answer(lambda: MemoryServer.run(self, key, verbs))

    def run_many(self, calls: Any) -> list[Any]:
        return self._answer(lambda: MemoryServer.run_many(self, calls))

    def _answer(self, do: Callable[[], list[Any]]) -> list[Any]:
        if not self.counts:
            return do()
        self.calls += 1
        if self.silent is None or self.calls != self.silent[0]:
            return do()
        self.counts = False  # run_many runs each call by itself
        if self.silent[1] == "unheard":
            do()
        self.counts = True
        raise UnavailableError("no reply")


class World:
    """An application over three partitions, and its consumer."""

    def __init__(self) -> None:
        self.clock, self.registry = FakeClock(), Registry()
        self.server, self.ran = Forgetful(self.clock), list[Any]()
        servers: Any = {"m": self.server}
        config = PoolConfig(topology=build({"m": "memory:"}, 3, ""), retry_for_s=30.0)
        self.pool = QueuePool(config=config, registry=self.registry, servers=servers)
        task = self.registry.task

        @task(max_attempts=1)
        def part(n: int) -> int:
            self.ran.append(n)
            return n

        @task(max_attempts=1)
        def total(ctx: JobContext, of: str) -> int:
            found = [each.result if each.ok else str(each.end) for each in ctx.results()]
            self.ran.append((of, found))
            return sum(each for each in found if isinstance(each, int))

        @task(max_attempts=1)
        def grows(ctx: JobContext) -> int:
            self.server.counts = True
            rows = [{"n": 1}, {"n": 2}]
            then = After("total", {"of": "inner"})
            self.pool.enqueue_many("part", rows, partition_key="b", into=ctx.batch, then=then)
            self.pool.enqueue_many("part", rows, partition_key="c", into=ctx.batch)
            self.server.counts = False
            return 0

    def run(self) -> None:
        self.server.counts = False
        run_jobs(self.pool, jitter=0)


def enqueue_batch(world: World) -> None:
    rows = [{"n": n} for n in range(5)]
    then = After("total", {"of": "all"}, partition_key="x")
    world.pool.enqueue_many("part", rows, partition_key=lambda row: f"p{row['n']}", then=then)
    world.run()
    assert world.ran[-1] == ("all", [0, 1, 2, 3, 4])


def grow_batch(world: World) -> None:
    world.server.counts = False
    then = After("total", {"of": "outer"})
    world.pool.enqueue_many([Job({}, task="grows")], partition_key="a", then=then)
    world.run()
    assert world.ran[-1] == ("outer", [0, 3, 1, 2])


def enqueue_flow(world: World) -> None:
    flow = Flow("nightly", flow_id="monday", partition_key="a")
    flow.add("part", each=[{"n": 1}, {"n": 2}])
    flow.add("total", {"of": "flow"}, after="part", partition_key="b")
    handle = world.pool.enqueue_flow(flow)
    world.run()
    world.server.counts = True
    assert handle.wait(timeout_s=1).state is FlowState.DONE
    assert [each.result for each in handle.results("total")] == [3]


def cancel(world: World) -> None:
    world.server.counts = False
    jobs = [Job({}, task="grows"), Job({"n": 9}, task="part")]
    then = After("total", {"of": "outer"})
    batch = world.pool.enqueue_many(jobs, partition_key="a", then=then).batch
    run_jobs(world.pool, jitter=0, max_jobs=1)
    world.server.calls, world.server.counts = 0, True
    batch.cancel()
    assert batch.status().state is BatchState.CANCELLED
    world.run()
    assert world.ran == []
    assert sum(partition.observe().jobs for partition in world.pool.partitions()) == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("act", [enqueue_batch, grow_batch, enqueue_flow, cancel])
def test_what_is_done_does_not_depend_on_replies(act: Callable[[World], None], mode: str) -> None:
    expected, number = None, 0
    while True:
        world = World()
        world.server.counts = True
        world.server.silent = (number, mode)
        act(world)
        world.server.counts = False
        ran = sorted(map(str, world.ran))
        expected = ran if expected is None else expected
        assert ran == expected, f"call {number}"
        assert all(partition.audit().clean for partition in world.pool.partitions())
        if number > world.server.calls:
            break
        number += 1
    assert number > 8
