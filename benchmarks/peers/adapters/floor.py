"""The bare floor: a claim and an acknowledge script, nothing else."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.floor import Floor
from benchmarks.peers.adapters import harness
from benchmarks.peers.adapters.harness import Payload, Peer

floor = Floor(harness.URL)


def _many(rows: Sequence[Payload]) -> None:
    floor.enqueue(rows, rows[0]["id"])


def _work(concurrency: int) -> None:
    floor.drain(harness.run, concurrency, sys.maxsize)


PEER = Peer(
    packages=("redis", "hiredis"),
    settings="no queue: claims 100 by script, N threads, acknowledges in batches; "
    "no leases, retries or results",
    connect=lambda: None,
    enqueue=lambda row: _many([row]),
    enqueue_many=_many,
    work=_work,
)
