"""The turns of one claim: which lanes, how many jobs of each, and where their seats go then.

A tenant that has a turn shares it among its own lanes, in the same way.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from queuepool.testing.data import PartitionData
from queuepool.testing.groups import TIERS, Group
from queuepool.testing.moving import counts
from queuepool.testing.records import Seat
from queuepool.testing.seats import Ring
from queuepool.testing.tenants import Tenant, room_of

_ABOUT_TO_END = 16  # jobs
_ANY = 10**9
LONG_TURNS = 8  # lanes that share a claim of short jobs, unless there are very many
MORE_SEATS = 32  # that a claim looks at in the order `shortest`


@dataclass(slots=True)
class Turn:
    """A lane served now, and how many of its jobs are taken; or a tenant. read: seats looked at."""

    seat: Seat
    size: int
    take: int = 0
    owed: int = 0  # jobs left of a turn that is not over
    own: list[Turn] = field(default_factory=list)  # of a tenant: the turns of its lanes
    read: int = 0


@dataclass(slots=True)
class _Moves:
    """Seats that go back to a ring: to its head, or first and last at its tail."""

    again: list[Seat] = field(default_factory=list)
    cut: list[Seat] = field(default_factory=list)
    back: list[Seat] = field(default_factory=list)


class Plan:
    """What a claim takes. limit: jobs at most; most: lanes that share one turn of a ring.

    1: the first of them takes all it can. ahead: lanes, tier and group, whose turn comes after all
    others of their tier; after an empty name, those whose turn comes after these.
    """

    def __init__(
        self, p: PartitionData, limit: int, most: int, ahead: Sequence[bytes] = ()
    ) -> None:
        self._p, self._limit, self._most = p, limit, most
        self._levels = {name: 1 + ahead[:i].count(b"") for i, name in enumerate(ahead) if name}
        self._allowed = 0  # lanes above this level wait
        self._last = 1 + ahead.count(b"") if ahead else 0
        self._more = MORE_SEATS if most == 1 else len(ahead)
        self.rooms = dict(p.managed)  # jobs that may still be taken of these
        rooms = {name: room_of(p, name) for name in p.tenants}
        self.had = {name: room for name, room in rooms.items() if room is not None}
        self.tenants = dict(self.had)  # the same, of tenants
        self.turns: dict[int, list[Turn]] = {t: [] for t in TIERS if p.seats.tiers[t]}
        self._met = set[tuple[int, bytes]]()

    def lanes(self) -> Iterator[Turn]:
        """Yield the turns of lanes, in order."""
        for turn in (turn for served in self.turns.values() for turn in served):
            yield from turn.own if turn.seat.tenant else (turn,)

    @property
    def jobs(self) -> int:
        """Return how many jobs it takes."""
        return sum(turn.take for turn in self.lanes())

    @property
    def has_more(self) -> bool:
        """Return whether a tenant that was served has more lanes."""
        served = (turn for turns in self.turns.values() for turn in turns)
        return any(
            turn.seat.tenant and not self._is_full(turn.seat) and self._p.seats.behind(turn.seat)
            for turn in served
        )

    def visit(self, tier: int, share: int) -> int:
        """Add turns of a tier, in the order of the ring; return how many jobs they take."""
        ring = self._p.seats.tiers[tier]
        seats = min(len(ring), self._limit + self._more)
        left = share
        for level in range(self._last + 1):  # each takes what the lanes below it have left
            self._allowed = level
            left -= self._visit(ring, self.turns[tier], left, seats)
        return share - left

    def _visit(self, ring: Ring, turns: list[Turn], share: int, seats: int) -> int:
        left, moved = share, True
        extra = sum(self._weight(seat) - 1 for seat in islice(ring, seats))
        width = max(1, seats + extra)
        most = max(self._most, math.ceil(width / 3)) if self._most == LONG_TURNS else self._most
        quantum = math.ceil(share / min(width, self._limit, most))
        while left > 0 and moved:
            moved = False
            for i in range(min(seats, self._limit + self._more)):
                if i == len(turns):
                    turns.append(self._turn(ring[i]))
                n = self._serve(turns[i], quantum, left, alone=len(ring) == 1)
                left -= n
                moved = moved or n > 0
                if left == 0:
                    break
        return share - left

    def _turn(self, seat: Seat) -> Turn:
        name = (seat.tier, seat.tenant)
        if not seat.tenant:
            jobs = len(self._p.lanes.get(seat.lane, ())) if counts(self._p, seat) else 0
            return Turn(seat, jobs, owed=self._owed(seat)[seat.tier])
        size = _ANY if self._p.seats.behind(seat) and name not in self._met else 0
        self._met.add(name)
        return Turn(seat, size, owed=self._owed(seat)[seat.tier])

    def _serve(self, turn: Turn, quantum: int, left: int, *, alone: bool) -> int:
        group, weight = turn.seat.group, self._weight(turn.seat)
        name = b"%d%s" % (turn.seat.tier, group)
        if weight == 1 and self._levels.get(name, 0) > self._allowed:
            return 0
        share = turn.owed or quantum * weight
        tenant = turn.seat.tenant
        room = self.tenants.get(tenant, left) if tenant else self.rooms.get(group, left)
        n = min(share, turn.size - turn.take, left, room)
        if turn.seat.tenant and n > 0:
            ring = self._p.seats.behind(turn.seat)
            turn.read = max(turn.read, min(len(ring), len(turn.own) + n))
            n = self._visit(ring, turn.own, n, turn.read)
        turn.owed = share - max(0, n) if not alone and weight > 1 else 0
        if n <= 0:
            return 0
        if tenant in self.tenants:
            self.tenants[tenant] -= n
        elif not tenant and group in self.rooms:
            self.rooms[group] -= n
        turn.take += n
        return n

    def _weight(self, seat: Seat) -> int:
        if seat.tenant:
            return self._p.tenants.get(seat.tenant, Tenant()).weight
        return self._p.groups[seat.group].weight if seat.group in self._p.managed else 1

    def _is_full(self, seat: Seat) -> bool:
        return self.tenants.get(seat.tenant) == 0

    def _owed(self, seat: Seat) -> Counter[int]:
        # By tier; a new one where nothing is kept.
        if seat.tenant:
            return self._p.tenants.get(seat.tenant, Tenant()).owed
        group = self._p.groups[seat.group] if seat.group in self._p.managed else Group()
        return group.owed

    def take(self) -> list[tuple[bytes, int]]:
        """Take the jobs out of their lanes: return (id, tier) in the order of the claim.

        A lane with a rest goes to its ring's tail; one whose turn was cut short by the end of the
        share goes before those that had all of theirs, and one that is about to end has its second
        turn in a row.
        """
        taken: list[tuple[bytes, int]] = []
        moves = _Moves()
        for tier, served in self.turns.items():
            self._take(self._p.seats.tiers[tier], served, moves, taken)
        for seat in [*moves.cut, *moves.back]:
            self._ring(seat).append(seat)
        for seat in reversed(moves.again):
            self._ring(seat).appendleft(seat)
        self._p.seats.forget_empty()
        return taken

    def _ring(self, seat: Seat) -> Ring:
        group = self._p.find_group(seat.group)
        return self._p.seats.tiers[group.place(seat.tier) if group else seat.tier]

    def _take(
        self, ring: Ring, served: list[Turn], moves: _Moves, taken: list[tuple[bytes, int]]
    ) -> None:
        most = None
        for turn in served:
            ring.popleft()
            if turn.seat.tenant:
                about_to_end = turn.take % 2 == 1 and self._is_about_to_end(turn)
                rest = self._take_of_tenant(turn, taken)
            else:
                rest, about_to_end = self._take_of_lane(turn, taken)
            if rest and self._is_full(turn.seat):
                self._p.tenants[turn.seat.tenant].out.add(turn.seat.tier)
            elif rest and self.rooms.get(turn.seat.group) == 0:
                self._p.groups[turn.seat.group].out.add(turn.seat.tier)
            elif rest:
                turns_taken = turn.take / self._weight(turn.seat)
                most = most or turns_taken
                seats = moves.cut if turns_taken < most else moves.back
                if about_to_end or turn.owed:
                    seats = moves.again
                self._owed(turn.seat)[turn.seat.tier] = turn.owed
                seats.append(turn.seat._replace(served_ms=self._since(turn.seat)))

    def _since(self, seat: Seat) -> int:
        group = self._p.find_group(seat.group)
        return max(self._p.now, group.moved) if group else self._p.now

    def _take_of_lane(self, turn: Turn, taken: list[tuple[bytes, int]]) -> tuple[bool, bool]:
        # Returns whether jobs are left, and whether it is about to end.
        lane, rest = self._p.lanes.get(turn.seat.lane, deque()), turn.size - turn.take
        taken += [(lane.popleft(), turn.seat.tier) for _ in range(min(turn.take, len(lane)))]
        if not lane:
            self._p.lanes.pop(turn.seat.lane, None)
        return rest > 0, 0 < rest <= _ABOUT_TO_END and rest % 2 == 1 and turn.take % 2 == 1

    def _is_about_to_end(self, turn: Turn) -> bool:
        # Of a tenant, whose jobs are counted only if it has few lanes.
        lanes = list(islice(self._p.seats.behind(turn.seat), len(turn.own), None))
        left = sum(own.size - own.take for own in turn.own)
        left += sum(len(self._p.lanes.get(seat.lane, ())) for seat in lanes)
        return len(lanes) <= _ABOUT_TO_END and left <= _ABOUT_TO_END and left % 2 == 1

    def _take_of_tenant(self, turn: Turn, taken: list[tuple[bytes, int]]) -> bool:
        # Returns whether it has lanes with jobs left.
        ring, moves = self._p.seats.behind(turn.seat), _Moves()
        self._take(ring, turn.own, moves, taken)
        ring += [*moves.cut, *moves.back]
        ring.extendleft(moves.again[::-1])
        return bool(ring)
