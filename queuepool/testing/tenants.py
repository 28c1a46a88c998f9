"""Tenants in memory: how they may run, and the verbs that say so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from queuepool.models.tenants import tenant_of
from queuepool.testing.groups import TIERS
from queuepool.testing.records import Seat

if TYPE_CHECKING:
    from queuepool.testing.data import Args, PartitionData


@dataclass(slots=True)
class Tenant:
    """How a tenant may run. hold: the ms since when; out: tiers in which it lost its seat."""

    hold: int = 0
    weight: int = 1
    owed: Counter[int] = field(default_factory=Counter)  # jobs left of a turn cut short
    out: set[int] = field(default_factory=set)


def able_of(p: PartitionData, name: bytes) -> Counter[int]:
    """Return how many jobs of a tenant its groups let run, by tier."""
    able = Counter[int]()
    for (tier, group), ids in p.lanes.items():
        if tenant_of(group) == name and group not in p.managed:
            able[tier] += sum(i not in p.marks for i in ids)
    for group in p.managed:
        if tenant_of(group) == name:
            able += p.groups[group].able
    return able


def held_of_tenants(p: PartitionData) -> int:
    """Return how many jobs count as held, as their tenants are."""
    return sum(able_of(p, name).total() for name, known in p.tenants.items() if known.hold)


def is_held(p: PartitionData, group: bytes) -> bool:
    """Return whether the tenant of a group is held."""
    return p.tenants.get(tenant_of(group) or b"", Tenant()).hold > 0


def configure_tenant(p: PartitionData, args: Args) -> Any:
    """Hold a tenant, or release it; set its share of turns."""
    name, settings = args[0], dict(zip(args[1::2], args[2::2], strict=True))
    tenant = p.tenants.get(name, Tenant())
    hold = settings.get(b"hold", b"1" if tenant.hold else b"") == b"1"
    weight = int(settings.get(b"weight", b"%d" % tenant.weight) or 1)
    if (hold, weight) == (tenant.hold > 0, tenant.weight):
        return 0
    if hold != (tenant.hold > 0):
        _hold(p, name, tenant, on=hold)
    if not hold:
        p.wake(b"w")
    tenant.weight = weight
    tenant.owed.clear()
    p.tenants[name] = tenant
    if not hold and weight == 1:
        del p.tenants[name]
    return 1


def _hold(p: PartitionData, name: bytes, tenant: Tenant, *, on: bool) -> None:
    for tier, jobs in able_of(p, name).items():
        p.count(f"r{tier}", -jobs if on else jobs)
        p.count("held", jobs if on else -jobs)
    tenant.hold = p.now if on else 0
    for tier in TIERS if not on else ():
        if tier in tenant.out and p.seats.tenants.get((tier, name)):
            p.seats.tiers[tier].append(Seat(tier, p.now, b"", name))
    if not on:
        tenant.out.clear()


def tenant(p: PartitionData, args: Args) -> Any:
    """Return what a tenant has, and how it may run."""
    known = p.tenants.get(args[0], Tenant())
    groups = sum(len(p.seats.tenants.get((tier, args[0]), ())) for tier in TIERS)
    weight = known.weight if known.weight > 1 else 0
    return [able_of(p, args[0]).total(), groups, known.hold, weight]
