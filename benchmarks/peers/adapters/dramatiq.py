"""Dramatiq with its Redis broker. Variant: watchful (dead workers are noticed soon)."""

from __future__ import annotations

from collections.abc import Sequence

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer

_WATCHFUL = {"heartbeat_timeout": 10_000, "maintenance_chance": 1_000_000}

broker = RedisBroker(url=harness.URL, **(_WATCHFUL if harness.VARIANT == "watchful" else {}))
dramatiq.set_broker(broker)


@dramatiq.actor
def job(payload: Payload) -> None:
    """Run the job."""
    harness.run(payload)


def _many(rows: Sequence[Payload]) -> None:
    dramatiq.group(job.message(row) for row in rows).run()


def _work(concurrency: int) -> None:
    harness.become("dramatiq", "benchmarks.peers.adapters.dramatiq", "-p", 1, "-t", concurrency)


PEER = Peer(
    packages=("dramatiq", "redis", "hiredis"),
    settings="dramatiq -p 1 -t N, default middleware, "
    + (
        "heartbeat_timeout 10 s, maintenance_chance 1,000,000"
        if harness.VARIANT == "watchful"
        else "heartbeat_timeout 60 s (default)"
    )
    + "; bulk: group().run(), which sends one by one",
    connect=broker.client.ping,
    enqueue=job.send,
    enqueue_many=_many,
    work=_work,
)
