"""Who has the next turn: seats of lanes and of tenants, in rings. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from queuepool.models.tenants import tenant_of
from queuepool.testing.groups import TIERS
from queuepool.testing.records import Lane, Seat

Ring = deque[Seat]


@dataclass(slots=True)
class Seats:
    """The rings of a partition: one of each tier, and behind it one of each tenant in it."""

    tiers: list[Ring] = field(default_factory=lambda: [deque() for _ in TIERS])  # ring:<tier>
    tenants: dict[tuple[int, bytes], Ring] = field(default_factory=dict)  # tr:<tier>:<tenant>

    def give(self, lane: Lane, now: int, place: int, *, next_turn: bool = False) -> None:
        """Give a lane its seat, at the back of a tier's ring or where the next turn is."""
        (tier, group), tenant = lane, tenant_of(lane[1])
        if tenant is None:
            _sit(self.tiers[place], Seat(tier, now, group), next_turn)
            return
        ring = self.tenants.setdefault((place, tenant), deque())
        _sit(ring, Seat(tier, now, group), next_turn)
        if len(ring) == 1:
            _sit(self.tiers[place], Seat(place, now, b"", tenant), next_turn)

    def behind(self, seat: Seat) -> Ring:
        """Return the ring of a tenant that has a seat."""
        return self.tenants.get((seat.tier, seat.tenant), deque())

    def forget_empty(self) -> None:
        """Drop rings of tenants without lanes, as a server does."""
        for name in [name for name, ring in self.tenants.items() if not ring]:
            del self.tenants[name]

    def all(self) -> list[Seat]:
        """Return the seats of lanes."""
        rings = [*self.tiers, *self.tenants.values()]
        return [seat for ring in rings for seat in ring if not seat.tenant]

    def absent(self) -> list[tuple[int, bytes]]:
        """Return the tenants that have lanes in a tier, and no seat there."""
        known = {(seat.tier, seat.tenant) for ring in self.tiers for seat in ring}
        return [name for name, ring in self.tenants.items() if ring and name not in known]


def _sit(ring: Ring, seat: Seat, next_turn: bool) -> None:
    (ring.appendleft if next_turn else ring.append)(seat)
