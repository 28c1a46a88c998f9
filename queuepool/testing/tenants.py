"""Tenants in memory: how they may run, and the verbs that say so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from queuepool.models.tenants import tenant_of
from queuepool.protocol import codec
from queuepool.testing.groups import ANY, TIERS, able_there
from queuepool.testing.records import Seat
from queuepool.testing.routed import routed

if TYPE_CHECKING:
    from queuepool.testing.data import PartitionData
    from queuepool.testing.keyspace import Args


@dataclass(slots=True)
class Tenant:
    """How a tenant may run. hold: the ms since when; out: tiers in which it lost its seat."""

    hold: int = 0
    most: int = 0  # max: jobs that may run at once; 0: any number
    weight: int = 1
    owed: Counter[int] = field(default_factory=Counter)  # jobs left of a turn cut short
    out: set[int] = field(default_factory=set)
    able: Counter[int] = field(default_factory=Counter)  # c0-c3: jobs that may be claimed
    apart: int = 0  # the others that its groups let run, counted as held or capped
    state: str = ""  # which of these; "" when it is neither held nor bounded

    @property
    def is_bounded(self) -> bool:
        """Return whether it is held, or may run only so many jobs."""
        return self.hold > 0 or self.most > 0

    def room(self, running: int) -> int:
        """Return how many of its jobs may be claimed now."""
        if self.hold:
            return 0
        return max(0, self.most - running) if self.most else ANY


def able_of(p: PartitionData, name: bytes) -> Counter[int]:
    """Return how many jobs of a tenant its groups let run, by tier."""
    able = Counter[int]()
    for (tier, group), ids in p.lanes.items():
        if tenant_of(group) == name and group not in p.managed:
            able[tier] += sum(i not in p.marks for i in ids)
    for group in p.managed:
        if tenant_of(group) == name:
            for tier in TIERS:
                able[tier] += able_there(p.groups[group], tier)
    return able


def running_of(p: PartitionData, name: bytes) -> int:
    """Return how many jobs of a tenant are in flight."""
    ids = (i for book in p.books.values() for _, i in book.entries())
    groups = (codec.read_group(p.jobs[i]) for i in ids if i in p.jobs)
    return sum(tenant_of(group) == name for group in groups)


def room_of(p: PartitionData, name: bytes) -> int | None:
    """Return how many jobs of a tenant may be claimed, None of one that is not bounded."""
    known = p.tenants.get(name)
    return known.room(running_of(p, name)) if known and known.state else None


def shares_of(p: PartitionData, name: bytes) -> tuple[Counter[int], int]:
    """Return how many jobs of a bounded tenant may be claimed, by tier, and how many may not."""
    waiting, left, able = able_of(p, name), room_of(p, name) or 0, Counter[int]()
    for tier in TIERS:
        able[tier] = min(waiting[tier], left)
        left -= able[tier]
    return able, waiting.total() - able.total()


def tune_tenants(p: PartitionData, *, owning: bool = False) -> None:
    """Count what may be claimed of bounded tenants, and give them back the seats that they lost.

    owning: nobody need be told.
    """
    for name, known in p.tenants.items():
        if not known.state:
            continue
        able, apart = shares_of(p, name)
        p.count(known.state, -known.apart)
        known.state, known.apart = "held" if known.hold else "capped", apart
        p.count(known.state, apart)
        for tier in TIERS:
            p.count(f"r{tier}", able[tier] - known.able[tier])
        known.able = able
        for tier in sorted(known.out) if room_of(p, name) else ():
            known.out.discard(tier)
            if p.seats.tenants.get((tier, name)):
                p.seats.tiers[tier].append(Seat(tier, p.now, b"", name))
                if not owning:
                    p.wake(b"w")


def apart_of_tenants(p: PartitionData) -> Counter[str]:
    """Return how many jobs count as held or capped, as their tenants are."""
    sums = Counter[str]()
    for name, known in p.tenants.items():
        if known.state:
            sums[known.state] += shares_of(p, name)[1]
    return sums


def recount_tenants(p: PartitionData) -> None:
    """Note what may be claimed of bounded tenants, without counting it."""
    for name, known in p.tenants.items():
        if known.state:
            known.able, known.apart = shares_of(p, name)


def is_bounded(p: PartitionData, group: bytes) -> bool:
    """Return whether the tenant of a group is held or bounded."""
    return bool(p.tenants.get(tenant_of(group) or b"", Tenant()).state)


@routed(1)
def configure_tenant(p: PartitionData, args: Args) -> Any:
    """Set how a tenant may run; hold it, or release it."""
    name, settings = args[0], dict(zip(args[2::2], args[3::2], strict=True))
    known = p.tenants.get(name, Tenant())
    hold = settings.get(b"hold", b"1" if known.hold else b"") == b"1"
    most = int(settings.get(b"max", b"%d" % known.most) or 0)
    weight = int(settings.get(b"weight", b"%d" % known.weight) or 1)
    if (hold, most, weight) == (known.hold > 0, known.most, known.weight):
        return 0
    p.tenants[name] = known
    known.hold = (known.hold or p.now) if hold else 0
    known.most, known.weight = most, weight
    known.owed.clear()
    if known.is_bounded and not known.state:
        known.state, known.able = "capped", able_of(p, name)
    tune_tenants(p)
    if not hold or known.able.total() > 0:
        p.wake(b"w")
    if not known.is_bounded:
        known.state, known.able = "", Counter()
    if not known.is_bounded and weight == 1:
        del p.tenants[name]
    return 1


def tenant(p: PartitionData, args: Args) -> Any:
    """Return what a tenant has, and how it may run."""
    known = p.tenants.get(args[0], Tenant())
    groups = sum(len(p.seats.tenants.get((tier, args[0]), ())) for tier in TIERS)
    weight = known.weight if known.weight > 1 else 0
    ended = p.tallies.of(args[0], p.now)
    return [
        *(able_of(p, args[0]).total(), groups, known.hold, weight),
        *(known.most, running_of(p, args[0])),
        *(ended[name] for name in ("done", "died", "cancelled", "expired")),
    ]


def tenants(p: PartitionData, args: Args) -> Any:
    """Return the tenants that have the most ready jobs."""
    seats = (seat for ring in p.seats.tiers for seat in islice(ring, 100))
    names = {seat.tenant for seat in seats if seat.tenant} | p.tenants.keys()
    ready = {name: n for name in names if (n := able_of(p, name).total())}
    return [
        [name, ready[name], running_of(p, name), p.tenants.get(name, Tenant()).hold]
        for name in sorted(ready, key=lambda name: (-ready[name], name))[: int(args[0])]
    ]
