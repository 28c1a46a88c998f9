from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queuepool.client.pool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.integration.consumer.processes import ConsumerProcess, Records

StartConsumer = Callable[..., ConsumerProcess]


@pytest.fixture
def consume(redis_url: str, stage: str, tmp_path: Path) -> Iterator[StartConsumer]:
    """Start consumer processes over the same keyspace as `pool`. All end with the test."""
    running: list[ConsumerProcess] = []

    def start(*, url: str = redis_url, **settings: Any) -> ConsumerProcess:
        running.append(ConsumerProcess(url, stage, tmp_path, **settings))
        return running[-1]

    yield start
    for each in running:
        each.kill()


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """What the jobs of this test's consumers noted."""
    return Records(tmp_path)


@pytest.fixture
def wide(redis_url: str, stage: str) -> Iterator[QueuePool]:
    """Four partitions, in the keyspace of `consume`."""
    config = PoolConfig(topology=single(redis_url, 4), keyspace=Keyspace(stage))
    with QueuePool(config=config) as pool:
        yield pool
