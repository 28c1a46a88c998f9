"""Queuepool for a peer benchmark runner that starts `ADAPTER info | enqueue | worker`.

The runner puts its helpers (`_common`: payloads, the job body, the record file, the command line)
on PYTHONPATH and the server's port into BENCH_REDIS_PORT. A job is recorded outside Redis.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _common as c  # type: ignore[import-not-found]

from queuepool import QueuePool, task

pool = QueuePool(c.URL, partitions=1)


@task
def job(**payload: Any) -> None:
    """Run the runner's job body."""
    c.run_job(payload)


def INFO() -> dict[str, Any]:  # noqa: N802 - the runner's name
    """Tell versions and settings."""
    versions = c.versions("queuepool", "redis", "hiredis", "msgspec")
    return {"versions": versions, "settings": "defaults; one partition a worker process"}


def open_producer() -> None:
    """Connect."""
    pool.partition(0).observe()


def _key(payload: Mapping[str, Any]) -> str:
    return f"kind-{payload['k']}"


def enqueue_one(payload: Mapping[str, Any]) -> None:
    """Enqueue one job."""
    pool.enqueue("job", payload, partition_key=_key(payload))


def enqueue_bulk(payloads: Sequence[Mapping[str, Any]]) -> None:
    """Enqueue many jobs."""
    pool.enqueue_many("job", payloads, partition_key=_key)


def worker(concurrency: int) -> None:
    """Become a consumer process."""
    os.environ.update(QUEUEPOOL_URL=c.URL, QUEUEPOOL_PARTITIONS="1")
    from consumer.__main__ import main

    sys.exit(main(["--app", "peer_adapter", "--partition", "auto", "--workers", str(concurrency)]))


if __name__ == "__main__":
    c.main("peer_adapter")
