from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queuepool.client.pool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.testing import MemoryPool
from tests.contract.world import World, memory_world, real_world
from tests.integration.consumer.processes import ConsumerProcess

StartConsumer = Callable[..., ConsumerProcess]
MakePool = Callable[..., QueuePool]
APP = "tests.bad_inputs.app"


@pytest.fixture(params=["memory", "server"])
def make_pool(request: pytest.FixtureRequest, stage: str) -> Iterator[MakePool]:
    """Make a pool with limits, in memory and on a server in turn."""
    made: list[QueuePool] = []

    def make(partitions: int = 1, **limits: Any) -> QueuePool:
        if request.param == "memory":
            made.append(MemoryPool(partitions, **limits))
        else:
            url = str(request.getfixturevalue("redis_url"))
            config = PoolConfig(
                topology=single(url, partitions),
                keyspace=Keyspace(stage),
                **limits,
            )
            made.append(QueuePool(config=config))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(params=["memory", "server"])
def world(request: pytest.FixtureRequest, stage: str) -> Iterator[World]:
    """A partition that may be damaged, in memory and on a server in turn."""
    on_server = request.param == "server"
    made = real_world(request.getfixturevalue("redis_url"), stage) if on_server else memory_world()
    made.damaged = True
    yield made
    made.partition.server.close()
    if made.client is not None:
        made.client.close()


@pytest.fixture
def consume(redis_url: str, stage: str, tmp_path: Path) -> Iterator[StartConsumer]:
    """Start consumer processes of `tests.bad_inputs.app` over the keyspace of `pool`."""
    running: list[ConsumerProcess] = []

    def start(**settings: object) -> ConsumerProcess:
        values: dict[str, Any] = {"app": APP, "workers": 4, **settings}
        running.append(ConsumerProcess(redis_url, stage, tmp_path, **values))
        return running[-1]

    yield start
    for each in running:
        each.kill()
