from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.integration.consumer.processes import ConsumerProcess, Records

StartConsumer = Callable[..., ConsumerProcess]


@pytest.fixture
def pool(redis_url: str, stage: str) -> Iterator[QueuePool]:
    """One partition on the shared server, in a keyspace of the test's own."""
    config = PoolConfig(topology=single(redis_url, 1), keyspace=Keyspace(stage))
    with QueuePool(config=config) as made:
        yield made


@pytest.fixture
def partition(pool: QueuePool) -> Partition:
    return pool.partition(0)


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
