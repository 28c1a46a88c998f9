from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coordinator.assembly import Coordinator, assemble
from coordinator.settings import load
from queuepool.client.pool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from tests.integration.coordinator.cluster import FAST, Process

StartCoordinator = Callable[..., Coordinator]
StartProcess = Callable[..., Process]


@pytest.fixture
def pool(redis_url: str, stage: str) -> Iterator[QueuePool]:
    """Two partitions on the shared server, in a keyspace of the test's own."""
    config = PoolConfig(
        topology=build({"main": redis_url}, 2, ""), keyspace=Keyspace(stage), timeout_s=1.0
    )
    with QueuePool(config=config) as made:
        yield made


@pytest.fixture
def coordinate(pool: QueuePool) -> Iterator[StartCoordinator]:
    """Make coordinators of the pool; turn them by hand or start them. All stop with the test."""
    made: list[Coordinator] = []

    def make(**settings: object) -> Coordinator:
        name = str(settings.pop("name", f"coordinator-{len(made)}"))
        made.append(assemble(pool, load({**FAST, **settings}), address=name))
        return made[-1]

    yield make
    for coordinator in made:
        coordinator.stop()


@pytest.fixture
def process(redis_url: str, stage: str) -> Iterator[StartProcess]:
    """Start coordinator processes over the same keyspace as `pool`. All end with the test."""
    running: list[Process] = []

    def start(**settings: Any) -> Process:
        running.append(Process(redis_url, stage, **settings))
        return running[-1]

    yield start
    for each in running:
        each.kill()
