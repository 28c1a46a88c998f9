"""Taskiq with taskiq-redis. Variants: list, stream, watchful (a stream; idle claims soon)."""

from __future__ import annotations

from collections.abc import Sequence

from taskiq_redis import ListQueueBroker, RedisStreamBroker

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer

_IDLE_MS = 10_000
_LOCK_S = 10.0

broker = (
    ListQueueBroker(harness.URL)
    if harness.VARIANT == "list"
    else RedisStreamBroker(harness.URL, idle_timeout=_IDLE_MS, unacknowledged_lock_timeout=_LOCK_S)
    if harness.VARIANT == "watchful"
    else RedisStreamBroker(harness.URL)
)


@broker.task(task_name="peer.job")
async def job(payload: Payload) -> None:
    """Run the job."""
    await harness.run_async(payload)


async def _one(row: Payload) -> None:
    await job.kiq(row)


async def _many(rows: Sequence[Payload]) -> None:
    await harness.together(_one, rows)


def _work(concurrency: int) -> None:
    flags = ["--workers", 1, "--max-async-tasks", concurrency, "--log-level", "WARNING"]
    harness.become("taskiq", "worker", "benchmarks.peers.adapters.taskiq:broker", *flags)


PEER = Peer(
    packages=("taskiq", "taskiq-redis", "redis", "hiredis"),
    settings=f"{type(broker).__name__}, --workers 1 --max-async-tasks N, no result backend"
    + (
        f", idle_timeout {_IDLE_MS / 1000:g} s, unacknowledged_lock_timeout {_LOCK_S:g} s"
        if harness.VARIANT == "watchful"
        else ""
    )
    + f"; bulk: none, {harness.IN_FLIGHT} calls at a time",
    connect=broker.startup,
    enqueue=_one,
    enqueue_many=_many,
    work=_work,
    close=broker.shutdown,
)
