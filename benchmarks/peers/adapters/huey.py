"""Huey on Redis."""

from __future__ import annotations

from collections.abc import Sequence

from huey import RedisHuey

from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer

huey = RedisHuey("peer", url=harness.URL)


@huey.task()
def job(payload: Payload) -> None:
    """Run the job."""
    harness.run(payload)


def _many(rows: Sequence[Payload]) -> None:
    for row in rows:
        job(row)


def _work(concurrency: int) -> None:
    app = "benchmarks.peers.adapters.huey.huey"
    harness.become("huey.bin.huey_consumer", app, "-w", concurrency, "-k", "thread", "-q")


PEER = Peer(
    packages=("huey", "redis", "hiredis"),
    settings="RedisHuey, huey_consumer -w N -k thread, else defaults; bulk: none, one by one",
    connect=huey.storage.conn.ping,
    enqueue=job,
    enqueue_many=_many,
    work=_work,
)
