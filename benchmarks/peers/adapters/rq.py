"""RQ. Variants: fork (its default worker, one process a job), simple (no fork)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from redis import Redis
from rq import Queue, SimpleWorker, Worker
from rq.worker_pool import WorkerPool

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Appended, Mapped, Payload, Peer

_FORKS = harness.VARIANT == "fork"
_JOB = "benchmarks.peers.adapters.rq.job"

queue = Queue("peer", connection=Redis.from_url(harness.URL))


def job(payload: Payload) -> None:
    """Run the job."""
    harness.run(payload)


def _many(rows: Sequence[Payload]) -> None:
    queue.enqueue_many([Queue.prepare_data(_JOB, args=(row,)) for row in rows])


def _work(concurrency: int) -> None:
    # Loaded and opened before the fork, so that no job pays for it.
    importlib.import_module(_JOB.rpartition(".")[0])
    harness.open_book(Appended if _FORKS else Mapped)
    WorkerPool(
        [queue],
        connection=queue.connection,
        num_workers=concurrency,
        worker_class=Worker if _FORKS else SimpleWorker,
    ).start(logging_level="ERROR")


PEER = Peer(
    packages=("rq", "redis", "hiredis"),
    settings=f"WorkerPool of N processes, {'Worker (forks)' if _FORKS else 'SimpleWorker'}, "
    "result_ttl 500 s (default); bulk: Queue.enqueue_many",
    connect=queue.connection.ping,
    enqueue=lambda row: queue.enqueue(_JOB, row),
    enqueue_many=_many,
    work=_work,
)
