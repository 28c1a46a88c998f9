"""Gates in memory: where jobs that name limits wait, out of their lanes. Pure."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from queuepool.testing.groups import TIERS
from queuepool.testing.records import Lane

PARKED, CLAIMED, NEVER = b"p", b"c", b"0"  # states; the others are epochs of who admitted a job
_MOST_SEATS = 1000  # of a gate, among which one is looked for
TURNS = (0, 1, 0, 2, 0, 1, 3, 0, 1, 2, 0, 0)  # of tiers


@dataclass(slots=True)
class Gates:
    """Jobs with limits by state, and lanes of parked ones by gate."""

    limits: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)  # lm: state, gate
    lanes: dict[tuple[bytes, Lane], deque[bytes]] = field(default_factory=dict)  # gq
    rings: dict[tuple[bytes, int], deque[bytes]] = field(default_factory=dict)  # gr: groups
    ids: Counter[bytes] = field(default_factory=Counter)  # gt: in the lanes of a gate, with marks
    admitted: Counter[bytes] = field(default_factory=Counter)  # ga: not claimed yet
    cursors: Counter[bytes] = field(default_factory=Counter)  # gk, and the last that came back:
    last_back: dict[tuple[bytes, Lane], bytes] = field(default_factory=dict)

    def is_parked(self, job_id: bytes) -> bool:
        """Return whether a job waits at its gate."""
        return self.limits.get(job_id, (b"", b""))[0] == PARKED

    def was_admitted(self, job_id: bytes) -> bool:
        """Return whether a job was admitted, by whichever owner, and not claimed yet."""
        state, _gate = self.limits.get(job_id, (NEVER, b""))
        return state.isdigit() and state != NEVER

    def put(self, gate: bytes, lane: Lane, job_id: bytes, tier: int, *, back: bool) -> bool:
        """Put a job into its lane at a gate; return whether nothing waited at the gate.

        tier: whose turns the lane has there. back: it was there before, so it comes before the
        others, but for those that came back.
        """
        waiting = self.lanes.setdefault((gate, lane), deque())
        if back:
            last = self.last_back.get((gate, lane))
            waiting.insert(waiting.index(last) + 1 if last and last in waiting else 0, job_id)
            self.last_back[gate, lane] = job_id
        else:
            waiting.append(job_id)
        if len(waiting) == 1:
            self.rings.setdefault((gate, tier), deque()).append(lane[1])
        self.limits[job_id] = PARKED, gate
        self.ids[gate] += 1
        return self.ids[gate] == 1

    def move(self, gate: bytes, name: bytes, tier: int | None) -> None:
        """Let the lanes of a group at a gate have the turns of a tier, or of their own."""
        for place in TIERS:
            ring = self.rings.get((gate, place), deque())
            for _ in range(ring.count(name)):
                ring.remove(name)
        for home in TIERS:
            if (gate, (home, name)) in self.lanes:
                place = home if tier is None else tier
                self.rings.setdefault((gate, place), deque()).append(name)

    def lane_of_turn(self, gate: bytes, lane: Lane) -> Lane:
        """Return the lane that has the turn: of a group with a tier of its own it may be any."""
        lanes = [lane, *((tier, lane[1]) for tier in TIERS)]
        return next((at for at in lanes if (gate, at) in self.lanes), lane)

    def take(self, gate: bytes, lane: Lane) -> bytes:
        """Take the first id of a lane at a gate."""
        waiting = self.lanes[gate, lane]
        job_id = waiting.popleft()
        if not waiting or self.last_back.get((gate, lane)) == job_id:
            self.last_back.pop((gate, lane), None)
        return job_id

    def vacate(self, gate: bytes, lane: Lane, tier: int, *, moved: bool) -> int:
        """End a lane with its mark and its seat; return how many ids left it: 0 in a large gate.

        tier: whose turns the lane has there. moved: some seats may be elsewhere.
        """
        rings = [self.rings.get((gate, place), deque[bytes]()) for place in TIERS]
        if sum(map(len, rings)) > _MOST_SEATS:
            return 0
        for ring in (rings[tier], *(rings if moved else ())):
            if lane[1] in ring:
                ring.remove(lane[1])
                break
        del self.lanes[gate, lane]
        self.last_back.pop((gate, lane), None)
        return 1

    def left(self, gate: bytes, n: int = 1) -> None:
        """Note that ids left the lanes of a gate."""
        self.ids[gate] -= n
        if self.ids[gate] <= 0:
            del self.ids[gate]

    def leave_lane(self, job_id: bytes) -> None:
        """Note that a job that was admitted is not in its lane any more."""
        if self.was_admitted(job_id):
            _state, gate = self.limits[job_id]
            self.admitted[gate] -= 1
            if self.admitted[gate] <= 0:
                del self.admitted[gate]

    def next_seat(self, gate: bytes) -> Lane | None:
        """Take the seat whose turn it is; None when the gate is empty."""
        for _ in TURNS:
            tier = TURNS[self.cursors[gate] % len(TURNS)]
            self.cursors[gate] += 1
            ring = self.rings.get((gate, tier))
            if ring:
                return tier, ring.popleft()
        return None
