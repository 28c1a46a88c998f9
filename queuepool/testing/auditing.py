"""audit: what a partition's records say of each other, and their repair."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.groups import TIERS, able_there
from queuepool.testing.keyspace import Args
from queuepool.testing.managing import Recount, is_managed, unlisted_groups
from queuepool.testing.moving import renew_seats, seated_lanes
from queuepool.testing.records import Lane, Seat
from queuepool.testing.scored import ScoredSet
from queuepool.testing.tenants import is_bounded

_SEARCHED = 1000  # the longest lane in which it searches for a job


def audit(p: PartitionData, args: Args) -> Any:
    """Search for inconsistencies: the whole partition in one step."""
    repair = args[1] == b"1"
    books = [p.book(epoch) for epoch in p.epochs()]
    ready = {t: p.counters.get(f"r{t}", 0) for t in TIERS}
    law = sum(ready.values()) + sum(p.counters.get(c, 0) for c in ("held", "capped", "parked"))
    law += sum(len(b) for b in books) + len(p.delayed) + len(p.dead) - len(p.jobs)
    seated, absent = seated_lanes(p), _absent(p)
    unseated, lost = len(absent), list[tuple[Lane, bytes]]()
    for tier, tenant in absent if repair else ():
        p.seats.tiers[tier].append(Seat(tier, p.now, b"", tenant))
    for job_id, lane in _in_lanes(p, books):
        waiting = p.lanes.get(lane)
        if not waiting or (len(waiting) <= _SEARCHED and job_id not in waiting):
            lost.append((lane, job_id))
        if lane not in seated and not _is_out(p, lane) and (waiting or repair):
            unseated += bool(waiting)
            if repair:
                p.give_seat(lane)
            seated.add(lane)
    hollow = _hollow(p, books, repair=repair)
    for lane, job_id in lost if repair else ():
        p.lanes.setdefault(lane, deque()).append(job_id)
    unlisted = unlisted_groups(p)
    for name in unlisted if repair else ():
        p.managed[name] = 0
        renew_seats(p, name)
    apart = sum(p.counters.get(name, 0) for name in ("held", "capped"))
    found = Recount(p, unlisted, [] if repair else lost)
    miscounted = len(unlisted) or int(found.wrong)
    if repair:
        found.repair()
        apart -= sum(p.counters.get(name, 0) for name in ("held", "capped"))
        _balance(p, ready, seated, hollow - law + apart)
    strays, miscounted = _strays(p, books), miscounted + _recount(p, repair=repair)
    unset = [name for name in p.managed if not is_managed(p, name)]
    if repair:
        _forget(p, unset, strays)
    said = [b"unseated", unseated, b"orphan", len(lost), b"hollow", hollow, b"foreign", 0]
    return [b"0", [*said, b"miscounted", miscounted, b"stray", len(strays) + len(unset)], law]


def _absent(p: PartitionData) -> list[tuple[int, bytes]]:
    # The tenants that have lanes in a tier, and no seat there, though they are not held.
    known = p.tenants
    return [
        (tier, name)
        for tier, name in p.seats.absent()
        if name not in known or tier not in known[name].out
    ]


def _in_lanes(p: PartitionData, books: Sequence[ScoredSet]) -> list[tuple[bytes, Lane]]:
    # The jobs that should be in lanes: they are in no other place.
    return [
        (job_id, lane_of(body))
        for job_id, body in p.jobs.items()
        if not any(job_id in places for places in (p.delayed, p.dead, *books))
        and not p.gates.is_parked(job_id)
    ]


def _is_out(p: PartitionData, lane: Lane) -> bool:
    group = p.find_group(lane[1])
    return group is not None and lane[0] in group.out and p.managed.get(lane[1]) == 0


def _hollow(p: PartitionData, books: Sequence[ScoredSet], *, repair: bool) -> int:
    """Count ids without a body that are delayed, dead or in flight."""
    found = [
        (places, i)
        for places in (p.delayed, p.dead, *books)
        for _, i in places.entries(0, 500)
        if i not in p.jobs
    ]
    for places, job_id in found if repair else ():
        places.remove(job_id)
        p.unaside(job_id)
    return len(found)


def _forget(
    p: PartitionData, groups: list[bytes], records: list[tuple[dict[bytes, Any], bytes]]
) -> None:
    for name in groups:
        del p.managed[name]
    for notes, job_id in records:
        del notes[job_id]


def _strays(p: PartitionData, books: list[ScoredSet]) -> list[tuple[dict[bytes, Any], bytes]]:
    """Return (records, id) of records of jobs that do not exist, or do not run."""
    of_jobs: list[dict[bytes, Any]] = [p.attempts, p.crashes, p.errors]
    of_jobs += [p.wishes.keys, p.wishes.expire_ms]
    of_running: list[dict[bytes, Any]] = [p.progress, p.cancels]
    running = {job_id for book in books for _, job_id in book.entries()} & p.jobs.keys()
    gone = [(notes, i) for notes in of_jobs for i in notes if i not in p.jobs]
    holders: dict[bytes, Any] = p.wishes.holders
    gone += [(holders, key) for key in holders if p.holder_of(key) is None]
    return gone + [(notes, i) for notes in of_running for i in notes if i not in running]


def _recount(p: PartitionData, *, repair: bool) -> int:
    """Recount the bytes of the bodies; return whether they differed."""
    true = {
        "bytes": p.jobs.values(),
        "dead_bytes": [p.jobs.get(i, b"") for _, i in p.dead.entries()],
    }
    sums = {name: sum(map(len, bodies)) for name, bodies in true.items()}
    wrong = any(p.counters.get(name, 0) != size for name, size in sums.items())
    if wrong and repair:
        p.counters.update(sums)
    return int(wrong)


def _balance(p: PartitionData, ready: dict[int, int], seated: set[Lane], missing: int) -> None:
    """Correct the ready jobs by this many, only as far as the lanes confirm it."""
    for tier in TIERS:
        mine = [lane for lane in seated if lane[0] == tier and not is_bounded(p, lane[1])]
        lanes = [p.lanes.get(lane, ()) for lane in mine if not is_managed(p, lane[1])]
        managed = [n for n in p.managed if is_managed(p, n) and not is_bounded(p, n)]
        able = sum(able_there(p.groups[name], tier) for name in managed)
        able += sum(known.able[tier] for known in p.tenants.values())
        gap = sum(i in p.jobs for ids in lanes for i in ids) + able - ready[tier]
        step = max(0, min(missing, gap)) if missing > 0 else min(0, max(missing, gap))
        missing -= step
        if step:
            p.count(f"r{tier}", step)
