"""One pool in two forms: the suite does not know whether it is awaited underneath."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from queuepool import AsyncQueuePool, PoolConfig, QueuePool
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from tests.contract import world as w

MakePool = Callable[..., Any]


class Awaited:
    """An object of the asyncio twin whose coroutines are run to their end on a loop of ours."""

    def __init__(self, runner: asyncio.Runner, twin: Any) -> None:
        self._runner, self._twin = runner, twin

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._twin, name)
        if not callable(attribute):
            return attribute

        def call(*args: Any, **named: Any) -> Any:
            found = attribute(*args, **named)
            if inspect.iscoroutine(found):
                return self._runner.run(found)
            return Awaited(self._runner, found) if name == "group" else found

        return call


@pytest.fixture(params=["sync", "asyncio"])
def make_pool(request: pytest.FixtureRequest, stage: str) -> Iterator[MakePool]:
    """Make pools of one kind from a URL, a number of partitions and limits."""
    with ExitStack() as closing:
        runner = closing.enter_context(asyncio.Runner())

        def make(url: str, partitions: int = 1, **limits: Any) -> Any:
            config = PoolConfig(
                topology=single(url, partitions), keyspace=Keyspace(stage=stage), **limits
            )
            if request.param == "sync":
                return closing.enter_context(QueuePool(config=config))
            twin = AsyncQueuePool(config=config)
            closing.callback(lambda: runner.run(twin.close()))
            return Awaited(runner, twin)

        yield make


@pytest.fixture
def make_partition(stage: str) -> Iterator[Callable[..., Partition]]:
    """Reach a partition beside the pool under test, given the URL and its number."""
    with ExitStack() as closing:

        def make(url: str, number: int = 0) -> Partition:
            config = PoolConfig(topology=single(url, number + 1), keyspace=Keyspace(stage=stage))
            return closing.enter_context(QueuePool(config=config)).partition(number)

        yield make


def run_all(partition: Partition) -> list[str]:
    """Claim and finish every ready job; returns the ids in the order in which they ran."""
    owned = partition.acquire(lease_s=60, nonce="test")
    assert isinstance(owned, OwnedPartition)
    return w.drain(owned)
