"""claim, as claim.lua does it: tiers by weight, lanes in turn. Plan first, then take."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import Args, PartitionData, lane_of
from queuepool.testing.fencing import fence
from queuepool.testing.gates import CLAIMED, NEVER
from queuepool.testing.groups import TIERS
from queuepool.testing.records import Seat

# A share is divided among at most this many lanes before any is visited again; a claim that
# prefetches is of short jobs, and takes longer turns.
_MAX_TURNS, _MAX_TURNS_AHEAD = 32, 8
_ABOUT_TO_END = 16  # jobs


@dataclass(slots=True)
class _Turn:
    """A lane served now, and how many of its jobs are taken."""

    seat: Seat
    size: int
    take: int = 0
    owed: int = 0  # jobs left of a turn that is not over


@fence
def claim(p: PartitionData, args: Args) -> Any:
    """Move ready jobs into the owner's in-flight set."""
    limit, starting, age_ms = int(args[2]), int(args[3]), int(args[4])
    weights, budget = [int(w) for w in args[5:9]], int(args[9])
    if p.counters.get("hold"):
        return [p.now, [], [], [], [], 0]
    most = _MAX_TURNS_AHEAD if limit > starting else _MAX_TURNS
    turns, credit, rooms = _plan(p, limit, weights, most)
    full = False
    while (size := _size(p, turns)) > budget and _planned(turns) > 1:
        full = True  # as if fewer had been requested, until they fit
        fewer = max(1, math.floor(_planned(turns) * min(0.75, budget / size)))
        turns, credit, rooms = _plan(p, fewer, weights, most)
    p.counters.update(credit)
    more = any(len(served) >= limit for served in turns.values())
    taken = _take(p, turns, rooms)
    if age_ms > 0 and len(turns) > 1:
        _promote_late_lanes(p, age_ms)
    booked, limits = _book(p, int(args[1]), taken, starting)
    for name in [name for name, room in rooms.items() if room < p.managed.get(name, 0)]:
        more = p.tune(name, owning=True) > 0 or more
    in_all = limit if full or more else len(taken)
    return [p.now, *booked, in_all, *([limits] if p.gates.limits or limits else [])]


def _planned(turns: dict[int, list[_Turn]]) -> int:
    return sum(turn.take for served in turns.values() for turn in served)


def _size(p: PartitionData, turns: dict[int, list[_Turn]]) -> int:
    # Bytes of the bodies that these turns take.
    lanes = [(p.lanes.get(t.seat.lane, ()), t.take) for served in turns.values() for t in served]
    return sum(len(p.jobs.get(i, b"")) for lane, take in lanes for i in islice(lane, take))


def _plan(
    p: PartitionData, limit: int, weights: list[int], most: int
) -> tuple[dict[int, list[_Turn]], dict[str, int], dict[bytes, int]]:
    # Returns the turns of each tier that has lanes, the credits of the tiers after them, and how
    # many jobs more may be taken of managed groups.
    active = [t for t in TIERS if p.rings[t]]
    turns: dict[int, list[_Turn]] = {t: [] for t in active}
    quota, credit = _quotas(p, active, limit, weights)
    left, rooms = limit, dict(p.managed)
    for t in active:
        left -= _visit(p, rooms, t, turns[t], min(left, quota.get(t, left)), limit, most)
    for t in active:
        left -= _visit(p, rooms, t, turns[t], left, limit, most)
    return turns, credit, rooms


def _quotas(
    p: PartitionData, active: list[int], limit: int, weights: list[int]
) -> tuple[dict[int, int], dict[str, int]]:
    # Smooth weighted round-robin: whole rounds at once, the rest by credit that is kept.
    total = sum(weights[t] for t in active)
    if len(active) < 2 or total == 0:
        return {}, {}
    rounds, rest = divmod(limit, total)
    quota = {t: rounds * weights[t] for t in active}
    credit = {t: p.counters.get(f"k{t}", 0) for t in active}
    for _ in range(rest):
        for t in active:
            credit[t] += weights[t]
        best = max(active, key=lambda t: (credit[t], -t))
        credit[best] -= total
        quota[best] += 1
    return quota, {f"k{t}": credit[t] for t in active}


def _visit(
    p: PartitionData,
    rooms: dict[bytes, int],
    tier: int,
    turns: list[_Turn],
    share: int,
    limit: int,
    most: int,
) -> int:
    # Adds turns of lanes, in the order of the ring, and returns how many jobs they take.
    ring, left, moved = p.rings[tier], share, True
    seats = min(len(ring), limit)
    extra = sum(_weight(p, seat.group) - 1 for seat in islice(ring, seats))
    quantum = math.ceil(share / min(seats + extra, limit, most))
    while left > 0 and moved:
        moved = False
        for i in range(seats):
            if i == len(turns):
                size = len(p.lanes.get(ring[i].lane, ()))
                turns.append(_Turn(ring[i], size, owed=_owed(p, ring[i])))
            turn = turns[i]
            group = turn.seat.group
            share_of = turn.owed or quantum * _weight(p, group)
            n = min(share_of, turn.size - turn.take, left, rooms.get(group, left))
            turn.owed = share_of - max(0, n) if len(ring) > 1 and _weight(p, group) > 1 else 0
            if n > 0:
                if group in rooms:
                    rooms[group] -= n
                turn.take += n
                left -= n
                moved = True
            if left == 0:
                break
    return share - left


def _weight(p: PartitionData, name: bytes) -> int:
    return p.groups[name].weight if name in p.managed else 1


def _owed(p: PartitionData, seat: Seat) -> int:
    return p.groups[seat.group].owed[seat.tier] if seat.group in p.managed else 0


def _take(
    p: PartitionData, turns: dict[int, list[_Turn]], rooms: dict[bytes, int]
) -> list[tuple[bytes, int]]:
    # Returns (id, tier) in the order of the claim. A lane with a rest goes to its ring's tail; one
    # whose turn was cut short by the end of the share goes before those that had all of theirs,
    # and one that is about to end has its second turn in a row.
    taken: list[tuple[bytes, int]] = []
    again: list[Seat] = []
    cut: list[Seat] = []
    back: list[Seat] = []
    for tier, served in turns.items():
        most = None
        for turn in served:
            p.rings[tier].popleft()
            lane = p.lanes.get(turn.seat.lane, deque())
            taken += [(lane.popleft(), turn.seat.tier) for _ in range(min(turn.take, len(lane)))]
            if turn.size > turn.take and rooms.get(turn.seat.group) == 0:
                p.groups[turn.seat.group].out.add(turn.seat.tier)
            elif turn.size > turn.take:
                turns_taken = turn.take / _weight(p, turn.seat.group)
                most = most or turns_taken
                rest = turn.size - turn.take
                seats = cut if turns_taken < most else back
                if rest <= _ABOUT_TO_END and rest % 2 == 1 and turn.take % 2 == 1:
                    seats = again
                if turn.owed:
                    seats = again
                if turn.seat.group in p.managed:
                    p.groups[turn.seat.group].owed[turn.seat.tier] = turn.owed
                seats.append(turn.seat._replace(served_ms=p.now))
            else:
                p.lanes.pop(turn.seat.lane, None)
    for seat in [*cut, *back]:
        p.rings[seat.tier].append(seat)
    for seat in reversed(again):
        p.rings[seat.tier].appendleft(seat)
    return taken


def _promote_late_lanes(p: PartitionData, age_ms: int) -> None:
    for tier in TIERS[1:]:
        ring = p.rings[tier]
        if ring and p.now - ring[0].served_ms > age_ms:
            p.rings[tier - 1].append(ring.popleft())


def _book(
    p: PartitionData, epoch: int, taken: list[tuple[bytes, int]], starting: int
) -> tuple[list[Any], list[bytes]]:
    for job_id, tier in taken:
        if job_id in p.jobs and p.wishes.expire_ms.get(job_id, p.now + 1) <= p.now:
            p.count_ready((tier, codec.read_group(p.jobs[job_id])), -1)
            p.end_expired(job_id, p.jobs[job_id])
    parked, limits = _at_gates(p, epoch, [job_id for job_id, _ in taken if job_id in p.jobs])
    taken = [(job_id, tier) for job_id, tier in taken if job_id not in parked]
    alive = [(job_id, tier) for job_id, tier in taken if job_id in p.jobs]
    for job_id, _tier in taken:
        if job_id not in p.jobs:
            p.marks.discard(job_id)  # cancelled while it waited: its mark ends here
    for n, (job_id, tier) in enumerate(alive, 1):
        name = codec.read_group(p.jobs[job_id])
        if name in p.managed:
            p.groups[name].waiting[tier] -= 1
        else:
            p.count(f"r{tier}", -1)
        crashed = p.crashes.get(job_id)
        if crashed == 0 or (crashed is None and n <= starting):
            p.begin(epoch, job_id)
        else:
            assert p.owner is not None  # noqa: S101 - for the type: an owner runs this
            p.owner.seq += 1
            p.open_book(epoch).add(job_id, p.owner.seq)
    ids = [job_id for job_id, _tier in alive]
    odd = bool(p.attempts or p.crashes)
    attempts = [_text(p.attempts.get(i)) for i in ids] if odd else []
    crashes = [_text(p.crashes.get(i)) for i in ids] if odd else []
    return [ids, [p.jobs[i] for i in ids], attempts, crashes], limits


def _at_gates(p: PartitionData, epoch: int, ids: list[bytes]) -> tuple[set[bytes], list[bytes]]:
    # Jobs that name limits and were not admitted by this owner wait at their gates. Returns those,
    # and id and gate of the others that name limits.
    new: list[bytes] = []
    again: list[bytes] = []
    limits: list[bytes] = []
    for job_id in (i for i in ids if i in p.gates.limits):
        state, gate = p.gates.limits[job_id]
        p.gates.leave_lane(job_id)
        if state == b"%d" % epoch:
            limits += [job_id, gate]
            p.gates.limits[job_id] = CLAIMED, gate
        else:
            (new if state == NEVER else again).append(job_id)
    for job_id in [*new, *reversed(again)]:
        body, group = p.jobs[job_id], p.group_of(p.jobs[job_id])
        p.count_ready(lane_of(body), -1)
        p.park(p.gates.limits[job_id][1], job_id, front=job_id in again)
        if group.serial:
            group.next_id = job_id
    return {*new, *again}, limits


def _text(number: int | None) -> bytes | None:
    return None if number is None else b"%d" % number
