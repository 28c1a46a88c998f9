"""Celery with Redis as broker. Variants: threads, prefork, late (late acknowledgement)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from celery import Celery, group

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer

_POOL = "prefork" if harness.VARIANT == "prefork" else "threads"
_LATE = harness.VARIANT == "late"
_DEAD_S = 10

app = Celery("peer", broker=harness.URL)
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)
if _LATE:
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        broker_transport_options={"visibility_timeout": _DEAD_S},
    )


@app.task(name="peer.job")
def job(payload: Payload) -> None:
    """Run the job."""
    harness.run(payload)


def _connect() -> None:
    app.connection_for_write().ensure_connection(max_retries=3)


def _many(rows: Sequence[Payload]) -> None:
    group(job.s(row) for row in rows).apply_async()


def _work(concurrency: int) -> None:
    name = f"worker{time.monotonic_ns()}@peer"
    flags = ["-P", _POOL, "-c", concurrency, "-n", name, "-l", "ERROR"]
    harness.become("celery", "-A", "benchmarks.peers.adapters.celery", "worker", *flags)


PEER = Peer(
    packages=("celery", "kombu", "redis", "hiredis"),
    settings=f"worker -P {_POOL} -c N, no result backend, "
    + (
        f"task_acks_late, task_reject_on_worker_lost, visibility_timeout {_DEAD_S} s"
        if _LATE
        else "else defaults (early acknowledgement, prefetch 4 x N)"
    )
    + "; bulk: group().apply_async()",
    connect=_connect,
    enqueue=job.delay,
    enqueue_many=_many,
    work=_work,
)
