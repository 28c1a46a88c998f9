"""SAQ on Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from saq import Queue, Worker

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer

queue = Queue.from_url(harness.URL)


async def job(_context: Any, *, payload: Payload) -> None:
    """Run the job."""
    await harness.run_async(payload)


async def _one(row: Payload) -> None:
    await queue.enqueue("job", payload=row)


async def _many(rows: Sequence[Payload]) -> None:
    await harness.together(_one, rows)


def _work(concurrency: int) -> None:
    async def serve() -> None:
        await queue.connect()
        await Worker(queue, functions=[("job", job)], concurrency=concurrency).start()

    asyncio.run(serve())


PEER = Peer(
    packages=("saq", "redis", "hiredis"),
    settings="concurrency N, else defaults (job timeout 10 s, ttl 600 s); "
    f"bulk: none without waiting for results, {harness.IN_FLIGHT} calls at a time",
    connect=queue.connect,
    enqueue=_one,
    enqueue_many=_many,
    work=_work,
    close=queue.disconnect,
)
