"""Batches over four partitions on two servers, run by real consumers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queuepool import After, BatchState, Job, QueuePool
from queuepool.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from tests.integration.consumer.conftest import StartConsumer
from tests.waiting import wait_until

PARTITIONS, PLACEMENT = 4, "0=a,1=b,2=a,3=b"


@pytest.fixture
def two_servers(
    redis_url: str, server_factory: Callable[[], EmbeddedServer]
) -> tuple[str, EmbeddedServer]:
    """A shared server, and one that a test may stop."""
    return redis_url, server_factory()


@pytest.fixture
def wide(two_servers: tuple[str, EmbeddedServer], stage: str) -> Iterator[QueuePool]:
    """Four partitions, every other one on the second server."""
    first, second = two_servers
    topology = build({"a": first, "b": second.url}, PARTITIONS, PLACEMENT)
    with QueuePool(config=PoolConfig(topology=topology, keyspace=Keyspace(stage))) as pool:
        yield pool


@pytest.fixture
def work(consume: StartConsumer, two_servers: tuple[str, EmbeddedServer]) -> Callable[[], None]:
    """Start a consumer for each partition."""
    first, second = two_servers
    servers = {
        "QUEUEPOOL_URL": "",
        "QUEUEPOOL_SERVERS": json.dumps({"a": first, "b": second.url}),
        "QUEUEPOOL_PLACEMENT": PLACEMENT,
    }

    def start() -> None:
        for number in range(PARTITIONS):
            consume(
                app="tests.apps.flows",
                partition=str(number),
                partitions=PARTITIONS,
                environment=servers,
            )

    return start


def _noted(directory: Path) -> list[str]:
    notes = directory / "continuations.txt"
    return sorted(notes.read_text().splitlines()) if notes.exists() else []


def test_each_continuation_runs_once_with_all_results(
    wide: QueuePool, work: Callable[[], None], tmp_path: Path
) -> None:
    for flow in range(5):
        rows = [Job({"n": n, "fails": int(n % 50 == 7)}, task="piece") for n in range(100)]
        wide.enqueue_many(
            rows,
            partition_key=lambda row: f"piece-{row['n']}",
            then=After("gather", {"flow": flow}, partition_key=f"flow-{flow}"),
        )
    work()

    wait_until(lambda: len(_noted(tmp_path)) >= 5, 60)

    total = sum(n * n for n in range(100))
    assert _noted(tmp_path) == [f"{flow} 100 100 {total}" for flow in range(5)]
    assert all(partition.audit().clean for partition in wide.partitions())


def test_partial_runs_with_what_succeeded(
    wide: QueuePool, work: Callable[[], None], tmp_path: Path
) -> None:
    work()
    jobs = [Job({"n": n}, task="broken" if n == 3 else "piece") for n in range(10)]
    then = After("gather", {"flow": 1}, partition_key="flow", on_failure="partial")

    results = wide.enqueue_many(jobs, partition_key=lambda row: f"{row['n']}", then=then)

    assert results.batch.wait(timeout_s=60).state is BatchState.FIRED
    assert results.batch.continuation.result(timeout_s=30) == [
        10,
        sum(n * n for n in range(10)) - 9,
    ]
