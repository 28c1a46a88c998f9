"""How a waiting group changes its tier: its lanes get new seats, and the old ones do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queuepool.testing.groups import TIERS, Group
from queuepool.testing.records import Lane, Seat

if TYPE_CHECKING:
    from queuepool.testing.data import PartitionData


def counts(p: PartitionData, seat: Seat) -> bool:
    """Return whether a seat is not one from before its group changed its tier."""
    group = p.find_group(seat.group)
    return group is None or seat.served_ms >= group.moved


def seated_lanes(p: PartitionData) -> set[Lane]:
    """Return the lanes that have seats that count."""
    return {seat.lane for seat in p.seats.all() if counts(p, seat)}


def renew_seats(p: PartitionData, name: bytes, *, moved: bool = False) -> None:
    """Give the lanes of a group that ever changed its tier, or does now, new seats."""
    group = p.groups[name]
    if not moved and not group.moved:
        return
    group.moved = max(p.now, group.moved) + 1
    for tier in TIERS:
        if p.lanes.get((tier, name)) and tier not in group.out:
            p.give_seat((tier, name))


def change_tier(p: PartitionData, name: bytes, group: Group, places: list[int]) -> None:
    """Count what may be claimed in another tier, and seat the lanes there. places: before."""
    for tier in TIERS:
        p.count_able((places[tier], name), -group.able[tier])
        p.count_able((group.place(tier), name), group.able[tier])
    renew_seats(p, name, moved=True)


def to_gates(p: PartitionData, name: bytes, group: Group | None) -> Any:
    """Give parked jobs their turns in the tier of their group: a script does it in steps."""
    if group is None or not group.moved:
        return b""
    for gate in {gate for gate, lane in p.gates.lanes if lane[1] == name}:
        p.gates.move(gate, name, group.tier)
    return b""
