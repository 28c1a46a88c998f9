"""Queuepool for a peer benchmark runner that starts `ADAPTER info | enqueue | worker`.

The runner puts its helpers (`_common`: payloads, the job body, the record file, the command line)
on PYTHONPATH, the server's port into BENCH_REDIS_PORT, and a folder for each run into BENCH_DIR.
A job is recorded outside Redis.

A partition has one owner, so two worker processes need two partitions. The producer is not told
how many processes will come, hence there are always two. Jobs that are enqueued in bulk have a
group of each kind in both; jobs that are enqueued one at a time have one key. Worker commands that
start together find each other in BENCH_DIR:

    two commands   each owns a partition, with all of its concurrency
    one command    one process with two consumers, each with half of the concurrency
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _common as c  # type: ignore[import-not-found]

from queuepool import QueuePool, task

PARTITIONS = 2
_GATHER_S = 0.5  # within which worker commands count as started together

pool = QueuePool(c.URL, partitions=PARTITIONS)


@task
def job(**payload: Any) -> None:
    """Run the runner's job body."""
    c.run_job(payload)


def INFO() -> dict[str, Any]:  # noqa: N802 - the runner's name
    """Tell versions and settings."""
    versions = c.versions("queuepool", "redis", "hiredis", "msgspec")
    return {
        "versions": versions,
        "settings": f"defaults; {PARTITIONS} partitions, bulk has a group in each; one worker "
        "process runs two consumers of N/2 workers, of two processes each runs one of N",
    }


def open_producer() -> None:
    """Connect."""
    pool.partition(0).observe()


@cache
def _group(kind: int, partition: int) -> str:
    """Return a name of a group of this kind that belongs to this partition."""
    names = (f"kind-{kind}-{n}" for n in range(1000))
    return next(name for name in names if pool.group(name).partition.number == partition)


def _key(payload: Mapping[str, Any]) -> str:
    return _group(payload["k"], payload["i"] % PARTITIONS)


def enqueue_one(payload: Mapping[str, Any]) -> None:
    """Enqueue one job."""
    pool.enqueue("job", payload, partition_key=_group(payload["k"], 0))


def enqueue_bulk(payloads: Sequence[Mapping[str, Any]]) -> None:
    """Enqueue many jobs."""
    pool.enqueue_many("job", payloads, partition_key=_key)


def worker(concurrency: int) -> None:
    """Become a consumer process."""
    from consumer.__main__ import main  # before the gathering: what follows takes no time

    consumers = max(1, PARTITIONS // _gathered())
    os.environ.update(
        QUEUEPOOL_URL=c.URL,
        QUEUEPOOL_PARTITIONS=str(PARTITIONS),
        CONSUMER_WORKERS=str(max(1, concurrency // consumers)),
    )
    for _ in range(consumers - 1):
        threading.Thread(target=_consume, daemon=True).start()
    sys.exit(main(["--app", "peer_adapter"]))


def _consume() -> None:
    from consumer.loop.lifecycle import Consumer
    from consumer.settings import ConsumerSettings
    from consumer.telemetry.metrics import ConsumerMetrics

    consumer = Consumer(pool, ConsumerSettings())
    consumer.listen = ConsumerMetrics(consumer).listen
    consumer.run()


def _gathered() -> int:
    """Return how many commands started together, to all of them at the same moment."""
    folder = Path(os.environ["BENCH_DIR"])
    (folder / f"{os.getpid()}.worker").touch()
    while True:
        times = [path.stat().st_mtime for path in folder.glob("*.worker") if _lives(int(path.stem))]
        left_s = max(times) + _GATHER_S - time.time()
        if left_s <= 0:
            return len(times)
        time.sleep(left_s)


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


if __name__ == "__main__":
    c.main("peer_adapter")
