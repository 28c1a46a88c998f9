"""Queuepool: a partition for each worker process, since a partition has one owner."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer
from queuepool import QueuePool, task

pool = QueuePool(harness.URL, partitions=harness.PROCESSES)


@task
def job(**payload: Any) -> None:
    """Run the job."""
    harness.run(payload)


def _one(row: Payload) -> None:
    pool.enqueue("job", row, partition_key=row["tenant"])


def _many(rows: Sequence[Payload]) -> None:
    pool.enqueue_many("job", rows, partition_key=lambda row: row["tenant"])


def _work(concurrency: int) -> None:
    from consumer.__main__ import main

    os.environ.update(
        QUEUEPOOL_URL=harness.URL,
        QUEUEPOOL_PARTITIONS=str(harness.PROCESSES),
        CONSUMER_LOG_LEVEL="WARNING",
    )
    sys.exit(main(["--app", __name__, "--workers", str(concurrency)]))


PEER = Peer(
    packages=("queuepool", "redis", "hiredis", "msgspec"),
    settings="consumer --workers N, one partition a process, else defaults (lease 10 s); "
    "partition key: the tenant; bulk: enqueue_many",
    connect=lambda: pool.partition(0).observe(),
    enqueue=_one,
    enqueue_many=_many,
    work=_work,
)
