"""claim, as claim.lua does it: tiers by weight, lanes in turn. Plan first, then take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.fencing import fence
from queuepool.testing.gates import CLAIMED, NEVER
from queuepool.testing.groups import TIERS
from queuepool.testing.holding import released, set_aside
from queuepool.testing.keyspace import Args
from queuepool.testing.ordering import line_up
from queuepool.testing.tenants import tune_tenants
from queuepool.testing.turns import LONG_TURNS, Plan

# A share is divided among at most this many lanes before any is visited again; a claim that
# prefetches is of short jobs, and takes longer turns.
_MAX_TURNS = 32


@fence
def claim(p: PartitionData, args: Args) -> Any:
    """Move ready jobs into the owner's in-flight set."""
    limit, starting, age_ms = int(args[2]), int(args[3]), int(args[4])
    weights, budget = [int(w) for w in args[5:9]], int(args[9])
    shortest = int(args[11]) if args[10:11] == [b"shortest"] else None
    ahead = args[10:] if shortest is None else ()
    if p.counters.get("hold"):
        return [p.now, [], [], [], [], 0]
    most = LONG_TURNS if limit > starting else _MAX_TURNS
    if shortest is not None:
        most = 1
        line_up(p, limit, shortest)
    plan, credit = _plan(p, limit, weights, most, ahead)
    full = False
    while (size := _size(p, plan)) > budget and plan.jobs > 1:
        full = True  # as if fewer had been requested, until they fit
        fewer = max(1, math.floor(plan.jobs * min(0.75, budget / size)))
        plan, credit = _plan(p, fewer, weights, most, ahead)
    p.counters.update(credit)
    turns, rooms = plan.turns, plan.rooms
    more = any(len(served) >= limit for served in turns.values())
    taken = plan.take()
    more = more or plan.has_more
    if age_ms > 0 and len(turns) > 1:
        _promote_late_lanes(p, age_ms)
    tasks = released(p)
    booked, limits = _book(p, int(args[1]), taken, starting)
    for name in [name for name, room in rooms.items() if room < p.managed.get(name, 0)]:
        more = p.tune(name, owning=True) > 0 or more
    tune_tenants(p, owning=True)
    served = [name for name, room in plan.tenants.items() if room < plan.had[name]]
    more = more or any(p.tenants[name].able.total() for name in served)
    in_all = limit if full or more else len(taken)
    said = [limits, *tasks] if p.gates.limits or limits or tasks else []
    return [p.now, *booked, in_all, *said]


def _size(p: PartitionData, plan: Plan) -> int:
    # Bytes of the bodies that these turns take.
    lanes = [(p.lanes.get(turn.seat.lane, ()), turn.take) for turn in plan.lanes()]
    return sum(len(p.jobs.get(i, b"")) for lane, take in lanes for i in islice(lane, take))


def _plan(
    p: PartitionData, limit: int, weights: list[int], most: int, ahead: Sequence[bytes]
) -> tuple[Plan, dict[str, int]]:
    # Returns the turns of each tier that has lanes, and the credits of the tiers after them.
    plan = Plan(p, limit, most, ahead)
    quota, credit = _quotas(p, list(plan.turns), limit, weights)
    left = limit
    for t in plan.turns:
        left -= plan.visit(t, min(left, quota.get(t, left)))
    for t in plan.turns:
        left -= plan.visit(t, left)
    return plan, credit


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


def _promote_late_lanes(p: PartitionData, age_ms: int) -> None:
    for tier in TIERS[1:]:
        ring = p.seats.tiers[tier]
        if ring and p.now - ring[0].served_ms > age_ms:
            p.seats.tiers[tier - 1].append(ring.popleft())


def _book(
    p: PartitionData, epoch: int, taken: list[tuple[bytes, int]], starting: int
) -> tuple[list[Any], list[bytes]]:
    for job_id, tier in taken:
        if job_id in p.jobs and p.wishes.expire_ms.get(job_id, p.now + 1) <= p.now:
            p.count_ready((tier, codec.read_group(p.jobs[job_id])), -1)
            p.end_expired(job_id, p.jobs[job_id])
    held = set_aside(p, [job_id for job_id, _ in taken])
    taken = [(job_id, tier) for job_id, tier in taken if job_id not in held]
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
            p.count_able((tier, name), -1)
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
    for job_id in [*new, *again]:
        body, group = p.jobs[job_id], p.group_of(p.jobs[job_id])
        p.count_ready(lane_of(body), -1)
        p.park(p.gates.limits[job_id][1], job_id, back=job_id in again)
        if group.serial:  # those that were there before it come first; of some, only the id is left
            lane = p.gates.lanes[p.gates.limits[job_id][1], lane_of(body)]
            group.next_id = next((i for i in list(lane)[:8] if i in p.jobs), job_id)
    return {*new, *again}, limits


def _text(number: int | None) -> bytes | None:
    return None if number is None else b"%d" % number
