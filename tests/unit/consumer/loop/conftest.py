"""A pool over one server in memory, and consumers of it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from queuepool import Registry
from queuepool.client.pool import QueuePool
from tests.unit.consumer.loop.whole import Flaky, Running, Start, over


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def server() -> Flaky:
    return Flaky()


@pytest.fixture
def pool(registry: Registry, server: Flaky) -> QueuePool:
    return over({"memory": server}, ["memory"], registry)


@pytest.fixture
def start_on(registry: Registry) -> Iterator[Start]:
    """Start a consumer of the pool that it is given."""
    running: list[Running] = []

    def begin(pool: QueuePool, **settings: Any) -> Running:
        running.append(Running(pool, registry, **settings))
        return running[-1]

    yield begin
    for each in running:
        each.stop()


@pytest.fixture
def start(pool: QueuePool, start_on: Start) -> Start:
    return partial(start_on, pool)
