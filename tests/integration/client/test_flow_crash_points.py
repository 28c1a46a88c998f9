"""Every place at which a process can die while a flow is enqueued and run.

As in test_batch_crash_points: a successor enqueues the flow again with its id, and consumes. Each
step runs with all that the steps before it returned, and none starts before those have ended.
"""

from __future__ import annotations

from typing import Any

import pytest

from queuepool import Flow, FlowState, JobContext, PermanentError, QueuePool, Registry
from queuepool.client.flows.handle import FlowHandle
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.testing import FakeClock, run_jobs
from tests.integration.client.deadly import DEATHS, Deadly, deaths

SEEN = {
    "b": [("a", 0), ("a", 1)],
    "c": [("a", 0), ("a", 1)],
    "d": [("b", 10), ("c", None)],
}


class World:
    """An application with a flow, and its consumer, over two partitions."""

    def __init__(self) -> None:
        self.clock, self.registry = FakeClock(), Registry()
        self.server = Deadly(self.clock)
        self.seen: list[tuple[str, list[tuple[str | None, Any]]]] = []

        @self.registry.task(max_attempts=9)
        def part(n: int) -> int:
            return n

        @self.registry.task(max_attempts=9)
        def join(ctx: JobContext, name: str) -> int:
            self.seen.append((name, [(each.step, each.result) for each in ctx.results()]))
            if name == "c":
                raise PermanentError("never")
            return 10

        self.pool = self.fresh()

    def fresh(self) -> QueuePool:
        config = PoolConfig(topology=build({"m": "memory:"}, 2, ""), retry_for_s=0.0)
        servers: Any = {"m": self.server}
        return QueuePool(config=config, registry=self.registry, servers=servers)

    def life(self) -> FlowHandle:
        """Run the program once."""
        rows = [{"n": 0}, {"n": 1}]
        flow = Flow("night", partition_key=lambda row: "ab"[row.get("n", 0)], flow_id="one")
        flow.add("part", each=rows, name="a")
        for name, key, after in (("b", "a", ["a"]), ("c", "b", ["a"]), ("d", "b", ["b", "c"])):
            options: Any = {"after": after, "on_failure": "partial", "partition_key": key}
            flow.add("join", {"name": name}, name=name, **options)
        handle = self.pool.enqueue_flow(flow)
        run_jobs(self.pool, jitter=0)
        return handle


def test_without_a_death_all_goes_well() -> None:
    world = World()

    assert world.life().status().state is FlowState.FAILED  # c is dead
    assert sorted(world.seen) == sorted(SEEN.items())


@pytest.mark.parametrize(("part", "mode"), DEATHS)
def test_wherever_a_process_dies_each_step_has_all_results(part: int, mode: str) -> None:
    for world, handles, where in deaths(World, part, mode):
        for name, expected in SEEN.items():
            found = [seen for of, seen in world.seen if of == name]
            assert found, where
            assert all(seen == expected for seen in found), where
        assert len(world.seen) <= 4, where  # one that ran when the process died ran again
        handle: Any = handles[-1]
        states = [str(step.state) for step in handle.status().steps]
        assert states == ["done", "done", "failed", "done"], where
        assert all(partition.audit().clean for partition in world.pool.partitions()), where
