"""configure: how a group may run, holds; and what an audit finds of such groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from queuepool.testing.data import DAY_MS, PartitionData
from queuepool.testing.groups import TIERS, Group
from queuepool.testing.keyspace import Args
from queuepool.testing.moving import change_tier, to_gates
from queuepool.testing.records import Lane
from queuepool.testing.routed import routed
from queuepool.testing.tenants import apart_of_tenants, recount_tenants


@routed(1)
def configure(p: PartitionData, args: Args) -> Any:
    """Set how a group may run; hold a group or the partition, or release it."""
    name, settings = args[0], dict(zip(args[2::2], args[3::2], strict=True))
    if not name:
        return _hold_partition(p, on=settings[b"hold"] == b"1")
    group, keep = p.find_group(name), int(settings.get(b"keep", 0))
    if b"gates" in settings:
        return to_gates(p, name, group)
    if group is None and not keep:
        return -1
    if p.counters.get("shut"):
        p.noted.add(name)
    group = group or p.groups.setdefault(name, Group())
    before = (*group.settings, group.keep, group.spread)
    places = [group.place(tier) for tier in TIERS]
    _set(p, group, settings)
    group.keep = keep or group.keep
    if before[4] != group.tier and group.total > 0:
        keep = max(keep, DAY_MS)
    if keep and group.left <= 0 and group.dead <= 0:
        group.expires = max(group.expires or 0, p.now + keep)
    if before == (*group.settings, group.keep, group.spread):
        return 0
    group.slot = int(settings.get(b"slot", group.slot))
    if not group.state:
        manage(p, name, group)
    if before[4] != group.tier:
        change_tier(p, name, group, places)
    if p.tune(name) > 0:
        p.wake(b"w")
    if not group.has_settings:
        unmanage(p, name, group)
    return 1


def _set(p: PartitionData, group: Group, settings: dict[bytes, bytes]) -> None:
    group.spread = max(group.spread, int(settings.get(b"spread", 0)))
    if b"hold" in settings:
        group.hold = (group.hold or p.now) if settings[b"hold"] else 0
    if b"max" in settings:
        group.most = int(settings[b"max"] or 0)
    if b"serial" in settings:
        group.serial = bool(settings[b"serial"])
    if b"weight" in settings:
        group.weight = int(settings[b"weight"] or 1)
    if b"tier" in settings:
        group.tier = int(settings[b"tier"]) if settings[b"tier"] else None


def unmanage(p: PartitionData, name: bytes, group: Group) -> None:
    """Let a group without settings count its jobs no more."""
    p.managed.pop(name, None)
    group.state, group.next_id = "", None
    if not group.spread:
        group.keep, group.slot = 0, -1
    group.waiting.clear()
    group.able.clear()
    group.owed.clear()
    if group.total == 0 and group.cancelled_at < 0 and not group.spread:
        del p.groups[name]  # nothing is left of its record


def _hold_partition(p: PartitionData, *, on: bool) -> int:
    if bool(p.counters.get("hold")) == on:
        return 0
    p.counters["hold"] = p.now if on else 0
    if not on:
        p.wake(b"w")
    return 1


def manage(p: PartitionData, name: bytes, group: Group) -> None:
    """Let a group count its jobs itself from now on."""
    group.state = "capped"
    for tier in TIERS:
        jobs = sum(i not in p.marks for i in p.lanes.get((tier, name), ()))
        group.waiting[tier] = group.able[tier] = jobs
    if group.left > 0:
        p.managed[name] = 0


def is_managed(p: PartitionData, name: bytes) -> bool:
    """Return whether a group that is listed has settings, and work left."""
    group = p.find_group(name)
    return name in p.managed and group is not None and bool(group.state) and group.left > 0


def unlisted_groups(p: PartitionData) -> set[bytes]:
    """Return the groups with settings and work left that claims would not ask about."""
    groups = [(n, g) for n in list(p.groups) if (g := p.find_group(n))]
    return {n for n, g in groups if g.state and g.left > 0} - p.managed.keys()


class Recount:
    """What managed groups should count. lost: jobs that a repair would put into their lanes."""

    def __init__(
        self, p: PartitionData, unlisted: set[bytes], lost: list[tuple[Lane, bytes]]
    ) -> None:
        self._p = p
        names = {name for name in p.managed if is_managed(p, name)} | unlisted
        self._waiting = {
            name: Counter({tier: self._in_lane((tier, name), lost) for tier in TIERS})
            for name in names
        }

    def _in_lane(self, lane: Lane, lost: list[tuple[Lane, bytes]]) -> int:
        waiting = self._p.lanes.get(lane, ())
        return sum(i in self._p.jobs for i in waiting) + sum(at == lane for at, _ in lost)

    @property
    def wrong(self) -> bool:
        """Return whether anything is counted otherwise."""
        sums = Counter[str]()
        for name, waiting in self._waiting.items():
            group = replace(self._p.groups[name], waiting=waiting)
            able, apart = group.shares(self._p.waits)
            sums["held" if group.is_held else "capped"] += apart
            told = self._p.groups[name]
            if (told.waiting, told.able, told.apart) != (waiting, able, apart):
                return True
        sums += apart_of_tenants(self._p)
        return any(self._p.counters.get(name, 0) != sums[name] for name in ("held", "capped"))

    def repair(self) -> None:
        """Make them count so."""
        sums = Counter[str]()
        for name, waiting in self._waiting.items():
            group = self._p.groups[name]
            group.waiting = waiting
            group.able, group.apart = group.shares(self._p.waits)
            group.state = "held" if group.is_held else "capped"
            self._p.managed[name] = group.room(self._p.waits)
            sums[group.state] += group.apart
        sums += apart_of_tenants(self._p)
        recount_tenants(self._p)
        self._p.counters.update({name: sums[name] for name in ("held", "capped")})
