"""checkup: what the doctor looks at in a partition; audit_system: the keys of the queue itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import STARTED, PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.records import SystemData

_SAMPLE = 10


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
    return [p.now, running, lanes, largest, _longest(groups), _longest(tenants), _sample(p)]


def _sample(p: PartitionData) -> list[Any]:
    found: list[Any] = []
    for epoch in p.epochs():
        started = [job_id for ms, job_id in p.book(epoch).entries() if ms >= STARTED]
        first = p.now % (len(started) - _SAMPLE + 1) if len(started) > _SAMPLE else 0
        for job_id in started[first : first + _SAMPLE - len(found) // 2]:
            body = p.jobs.get(job_id)
            if body is not None:
                found += [body[13:16], codec.read_group(body)]
    return found


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


def audit_system(_system: SystemData, _args: Args) -> list[bytes]:
    """Find nothing: what is in memory has no other type than its own."""
    return []
