"""The metrics of a consumer show how full its server is, while that is known."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis
from prometheus_client import CollectorRegistry

from consumer.telemetry.server_memory import ServerMemory
from queuepool import QueuePool
from queuepool.servers import Memory
from queuepool.testing import MemoryPool
from tests.conftest import ServerFactory
from tests.waiting import wait_until

LIMIT = 64 * 1024 * 1024


def shown(memory: ServerMemory, server: str = "main") -> dict[str, float | None]:
    registry = CollectorRegistry()
    registry.register(memory)
    return {
        name: registry.get_sample_value(f"queuepool_server_memory_{name}_bytes", {"server": server})
        for name in ("used", "limit")
    }


def test_used_memory_and_the_limit_are_those_of_the_server(server_factory: ServerFactory) -> None:
    server = server_factory(maxmemory=LIMIT)
    with QueuePool(server.url, partitions=1) as pool:
        memory = ServerMemory(pool, lambda: 0)
        memory.look()
        before = shown(memory)
        with redis.Redis.from_url(server.url) as client:
            client.set("ballast", b"x" * 8 * 1024 * 1024)
        memory.look()
        after = shown(memory)

    assert before["limit"] == LIMIT
    assert before["used"]
    assert after["used"]
    assert after["used"] - before["used"] > 8 * 1024 * 1024


def test_nothing_is_shown_of_a_server_that_went_away(
    server_factory: ServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    server = server_factory()
    with QueuePool(server.url, partitions=1) as pool:
        memory = ServerMemory(pool, lambda: 0)
        memory.look()
        assert shown(memory)["limit"] == 0
        server.stop()
        with caplog.at_level(logging.WARNING, "consumer.memory"):
            memory.look()
            memory.look()

    assert shown(memory) == {"used": None, "limit": None}
    assert len(caplog.records) == 1  # not one each time


@contextmanager
def looking(owned: list[int | None]) -> Iterator[Callable[[], float | None]]:
    """Look again and again, for whoever owns owned[0]; yield what is shown as used."""
    pool = MemoryPool(1)
    server = pool.config.topology.server_of(0)
    memory = ServerMemory(pool, lambda: owned[0], interval_s=0.01)
    memory.start()
    try:
        yield lambda: shown(memory, server)["used"]
    finally:
        memory.stop()


def test_a_standby_shows_nothing_and_an_owner_soon_does() -> None:
    owned: list[int | None] = [0]
    with looking(owned) as used:
        wait_until(lambda: used() is not None)
        owned[0] = None
        wait_until(lambda: used() is None)


def test_a_reply_without_the_figures_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = MemoryPool(1)

    def without(_key: bytes) -> Memory:
        raise KeyError("maxmemory")

    server = pool.config.topology.server_of(0)
    memory = ServerMemory(pool, lambda: 0)
    memory.look()
    assert shown(memory, server)["limit"] == 0
    monkeypatch.setattr(pool.partition(0).server, "memory", without)
    memory.look()

    assert shown(memory, server) == {"used": None, "limit": None}


def test_a_partition_that_is_gone_is_not_shown_and_the_next_one_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    owned: list[int | None] = [0]
    with looking(owned) as used, caplog.at_level(logging.WARNING, "consumer.memory"):
        wait_until(lambda: used() is not None)
        owned[0] = 6  # retired, until its owner notices
        wait_until(lambda: used() is None)
        owned[0] = 0
        wait_until(lambda: used() is not None)

    assert caplog.records == []
