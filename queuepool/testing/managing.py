"""configure, as the script of this name does it: hold a group or the partition, or release it."""

from __future__ import annotations

from typing import Any

from queuepool.testing.data import TIERS, Args, Group, PartitionData, Seat


def configure(p: PartitionData, args: Args) -> Any:
    """Hold a group or the partition, or release it."""
    name, on = args[0], args[1] == b"1"
    if not name:
        if bool(p.counters.get("hold")) == on:
            return 0
        p.counters["hold"] = p.now if on else 0
    else:
        group = p.find_group(name)
        if group is None:
            return -1
        if bool(group.hold) == on:
            return 0
        (_hold if on else _release)(p, name, group)
    if not on:
        p.wake(b"w")
    return 1


def _hold(p: PartitionData, name: bytes, group: Group) -> None:
    group.hold = p.now
    if group.left > 0:
        p.managed.add(name)
    for tier in TIERS:
        jobs = sum(i not in p.marks for i in p.lanes.get((tier, name), ()))
        p.count(f"r{tier}", -jobs)
        if jobs:
            p.count_ready((tier, name), jobs)


def _release(p: PartitionData, name: bytes, group: Group) -> None:
    group.hold = 0
    p.managed.discard(name)
    for tier in TIERS:
        p.count("held", -group.apart[tier])
        p.count(f"r{tier}", group.apart[tier])
        if tier in group.out:
            p.rings[tier].append(Seat(tier, p.now, name))
    group.apart.clear()
    group.out.clear()
