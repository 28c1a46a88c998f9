"""Cancelling batches and flows whose jobs are on two servers, of which one is away."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool import After, BatchState, Flow, QueuePool, Registry, UnavailableError
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.testing import FakeClock
from queuepool.testing.server import MemoryServer


class Away(MemoryServer):
    """A server that is away at times. asked: how often it was asked meanwhile."""

    is_away, asked = False, 0

    def run_many(self, calls: Any) -> list[Any]:
        self._answer()
        return super().run_many(calls)

    def run(self, key: bytes, verbs: Any) -> list[Any]:
        self._answer()
        return super().run(key, verbs)

    def _answer(self) -> None:
        if self.is_away:
            self.asked += 1
            raise UnavailableError("away")


class World:
    """Four partitions on two servers. near, far: a key of each."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.near_server, self.far_server = MemoryServer(clock), Away(clock)
        servers: Any = {"near": self.near_server, "far": self.far_server}
        urls = dict.fromkeys(servers, "memory:")
        topology = build(urls, 4, "0=near,1=far,2=near,3=far")
        config = PoolConfig(topology=topology, retry_for_s=0.0)
        self.pool = QueuePool(config=config, registry=Registry(), servers=servers)
        keys = {self.pool.producer.route(f"k{n}").partition: f"k{n}" for n in range(99)}
        self.near, self.far, self.keys = keys[0], keys[1], list(keys.values())

    def left(self) -> int:
        """Return how many jobs there are."""
        return sum(partition.observe().jobs for partition in self.pool.partitions())


@pytest.fixture
def world() -> World:
    return World()


def test_jobs_on_the_others_are_cancelled_and_the_rest_by_the_next_call(world: World) -> None:
    rows = [{"key": key} for key in world.keys * 3]
    then = After("sum", {}, partition_key=world.near)
    batch = world.pool.enqueue_many("part", rows, partition_key=lambda r: r["key"], then=then).batch
    assert world.left() == 13
    world.far_server.is_away = True

    with pytest.raises(UnavailableError, match="away") as raised:
        batch.cancel()

    assert "cancel it again" in "".join(getattr(raised.value, "__notes__", ()))
    assert world.far_server.asked < 4
    world.far_server.is_away = False
    assert (world.left(), batch.status().state) == (6, BatchState.CANCELLED)
    assert batch.cancel() == 6
    assert world.left() == 0


def test_a_flow_with_steps_there(world: World) -> None:
    flow = Flow("nightly", partition_key=world.near).add("part", {}, name="a")
    flow.add("part", {}, name="b", partition_key=world.far, after="a")
    flow.add("part", {}, name="c", after="b")
    handle = world.pool.enqueue_flow(flow)
    world.far_server.is_away = True

    with pytest.raises(UnavailableError):
        handle.cancel()

    world.far_server.is_away = False
    handle.cancel()
    assert world.left() == 0
    assert {str(step.state) for step in handle.status().steps} == {"cancelled"}
