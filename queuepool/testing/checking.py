"""checkup: what the doctor looks at in a partition."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from queuepool.testing.data import STARTED, PartitionData
from queuepool.testing.keyspace import Args


def checkup(p: PartitionData, args: Args) -> Any:
    """Return the longest running job, the largest lanes and the oldest holds."""
    started = [
        (int(ms), job_id)
        for epoch in p.epochs()
        for ms, job_id in p.book(epoch).entries()
        if ms >= STARTED
    ]
    running = [min(started)[1], min(started)[0]] if started else []
    lanes, largest = _lanes(p, int(args[0]))
    groups = ((name, group.hold) for name in p.managed if (group := p.find_group(name)))
    tenants = ((name, tenant.hold) for name, tenant in p.tenants.items())
    return [p.now, running, lanes, largest, _longest(groups), _longest(tenants)]


def _lanes(p: PartitionData, most: int) -> tuple[int, list[Any]]:
    sizes: dict[bytes, int] = {}
    lanes = 0
    for ring in p.seats.tiers:
        for first in islice(ring, most):
            seat = next(iter(p.seats.behind(first)), first) if first.tenant else first
            jobs = len(p.lanes.get(seat.lane, ()))
            lanes += jobs > 0
            sizes[seat.group] = sizes.get(seat.group, 0) + jobs
    ordered = sorted((name for name in sizes if sizes[name]), key=lambda name: -sizes[name])
    return lanes, [x for name in ordered[:2] for x in (name, sizes[name])]


def _longest(holds: Iterable[tuple[bytes, int]]) -> list[Any]:
    held = [(ms, name) for name, ms in holds if ms]
    return [min(held)[1], min(held)[0]] if held else []
