"""The order `shortest`: the lanes with the least work left have their turn first. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from queuepool.testing.tenants import able_of
from queuepool.testing.turns import MORE_SEATS

if TYPE_CHECKING:
    from queuepool.testing.data import PartitionData
    from queuepool.testing.records import Seat

_NEWEST = 64


def line_up(p: PartitionData, limit: int, overdue_ms: int) -> None:
    """Put those seats of each ring in order that a claim looks at: in front, and the newest."""
    for tier, ring in enumerate(p.seats.tiers):
        seats = list(ring)
        front = min(len(seats), limit + MORE_SEATS)
        newest = min(_NEWEST, len(seats) - front)
        looked = seats[:front] + seats[len(seats) - newest :]
        looked.sort(key=lambda seat: _rank(p, seat, overdue_ms))
        p.seats.tiers[tier] = deque(looked + seats[front : len(seats) - newest])


def _rank(p: PartitionData, seat: Seat, overdue_ms: int) -> tuple[bool, int]:
    if seat.served_ms < p.now - overdue_ms:
        return False, seat.served_ms
    if seat.tenant:
        return True, able_of(p, seat.tenant)[seat.tier]
    return True, len(p.lanes.get(seat.lane, ()))
