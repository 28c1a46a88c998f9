"""The measures of `make bench`: each returns figures by name; units are in the names.

A figure that depends on a size has it in brackets: `claim_us[depth=1000000]`. Charts are drawn of
those (see benchmarks.charts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.measures import (
    costs,
    fairness,
    history,
    lanes,
    moving,
    parts,
    repartitioning,
    sharing,
    throughput,
    waiting,
)

Figures = dict[str, float]
Measure = Callable[[int], Figures]

# name: (measure, jobs at scale 1)
MEASURES: dict[str, tuple[Measure, int]] = {
    "enqueue": (throughput.enqueue, 100_000),
    "drain": (throughput.drain, 100_000),
    "processes": (throughput.processes, 100_000),
    "producer-parts": (parts.producer, 5_000),
    "consumer-parts": (parts.consumer, 20_000),
    "server-parts": (parts.server, 100_000),
    "sleeping": (throughput.sleeping, 20_000),
    "latency": (waiting.idle, 300),
    "load": (waiting.loaded, 4_000),
    "depth": (costs.depth, 1_000_000),
    "groups": (costs.groups, 1_000_000),
    "partitions": (costs.partitions, 1_000),
    "small-groups": (fairness.small_groups, 100_000),
    "lanes": (lanes.lanes, 50_000),
    "pools": (lanes.pools, 20_000),
    "history": (history.history, 100_000),
    "spread": (sharing.spread, 100_000),
    "trickle": (sharing.trickle, 30),
    "busy": (sharing.busy, 6_400),
    "moving": (moving.moving, 10_000),
    "repartitioning": (repartitioning.repartitioning, 10_000),
}

# Of docs/performance.md, and the measures that each needs
TABLES: Mapping[str, Sequence[str]] = {
    "bench-lanes": ["lanes", "pools"],
    "bench-history": ["history"],
    "bench-sharing": ["spread", "trickle", "busy"],
    "bench-moving": ["moving"],
    "bench-repartitioning": ["repartitioning"],
}
_APART = {name for names in TABLES.values() for name in names}
TABLES = {"bench": [name for name in MEASURES if name not in _APART], **TABLES}
