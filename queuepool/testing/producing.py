"""enqueue, status, cancel, cancel_group and group, as the scripts of these names do them."""

from __future__ import annotations

from collections import deque
from typing import Any

from queuepool.models.tenants import tenant_of
from queuepool.protocol import codec
from queuepool.routing.slots import MAX_GROUP_BYTES
from queuepool.testing.accepting import Accept
from queuepool.testing.data import STARTED, PartitionData
from queuepool.testing.gates import NEVER
from queuepool.testing.groups import TIERS, Group
from queuepool.testing.keyspace import Args
from queuepool.testing.moving import renew_seats
from queuepool.testing.routed import all_stayed, routed
from queuepool.testing.tenants import is_bounded, tune_tenants

_TIERS, _OF_TENANTS = (b"0", b"1", b"2", b"3"), (b"4", b"5", b"6", b"7")
_MAX_JOBS = 2000  # far beyond what a client sends; the most that a script's commands accept


def _count(p: PartitionData, accept: Accept, added: int) -> None:
    if added:
        p.count("enqueued", added)
    if accept.grown:
        p.count("bytes", accept.grown)
    for counter, code in (("duplicate", b"0"), ("conflicts", b"2"), ("replaced", b"3")):
        if code in accept.status:
            p.count(counter, accept.status.count(code))


@routed(5, unless=all_stayed)
def enqueue(p: PartitionData, args: Args) -> Any:
    """Accept jobs; each id once."""
    max_depth, max_bytes = int(args[0]), int(args[1])
    depth = len(p.jobs) - len(p.dead)  # dead jobs have separate limits
    held = p.counters.get("bytes", 0) - p.counters.get("dead_bytes", 0)
    if depth + int(args[2]) > max_depth or held + int(args[3]) > max_bytes:
        return [b"FULL", depth, held]
    args, wishes = args[: len(args) - int(args[4])], args[len(args) - int(args[4]) :]
    refused = _beyond(args) or _beyond_unique(wishes)
    if refused:
        return [b"REFUSED", *refused]
    accept = Accept(p, {int(wishes[k]): wishes[k + 1 : k + 5] for k in range(0, len(wishes), 5)})
    idle = sum(p.counters.get(f"r{t}", 0) for t in TIERS) <= 0
    # Never the ms of a group's cancellation: its cut must tell what came before it.
    stamp = b"%011x" % p.fresh_stamp
    added, wake, sooner, i, names = 0, False, False, 6, set[bytes]()
    while i < len(args):
        tier, group, delay, n = int(args[i]) % 4, args[i + 1], int(args[i + 2]), int(args[i + 3])
        pairs = args[i + 4 : i + 4 + 2 * n]
        fresh = accept.jobs(pairs, b"1%d%s" % (tier, stamp), group, delay)
        i += 4 + 2 * n
        if fresh:
            added += len(fresh)
            _join(p, group, len(fresh), delayed=delay > 0)
            fresh = _to_gates(p, fresh, accept.gates, group, delay)
            sooner = (fresh and _settle(p, fresh, tier, group, delay)) or sooner
            names.add(group)
            apart = group in p.managed or is_bounded(p, group)
            wake = wake or bool(fresh and idle and delay <= 0 and not apart)
    for name in names:
        wake = (p.tune(name, owning=True) > 0 and idle) or wake
    wake = (_lets_run(p, names) and idle) or wake
    p.ended.heed_the_clock(p.now)
    _count(p, accept, added)
    if wake:
        p.wake(b"w")
    if sooner or accept.sooner:
        p.wake(b"d")
    status = bytes(accept.status)
    return [b"CONFLICT", status, *accept.by] if accept.by else status


def _lets_run(p: PartitionData, names: set[bytes]) -> bool:
    # Whether a bounded tenant of these groups has jobs that may be claimed.
    tune_tenants(p, owning=True)
    bounded = [p.tenants[tenant_of(name) or b""] for name in names if is_bounded(p, name)]
    return any(tenant.able.total() for tenant in bounded)


def _beyond_unique(wishes: Args) -> tuple[bytes, int, int] | None:
    keys = (key for until, key in zip(wishes[1::5], wishes[2::5], strict=True) if until)
    sizes = [len(key) for key in keys if not 1 <= len(key) <= codec.MAX_UNIQUE_BYTES]
    return (b"unique", sizes[0], codec.MAX_UNIQUE_BYTES) if sizes else None


def _beyond(args: Args) -> tuple[bytes, int, int] | None:
    """Return (what, size, bound) of what is beyond the protocol's bounds, None of nothing."""
    i, sent = 6, 0
    while i < len(args):
        group, n = args[i + 1], int(args[i + 3])
        if args[i] in _OF_TENANTS and tenant_of(group) is None:
            return b"run", 0, 0
        sent += n
        if args[i] not in _TIERS + _OF_TENANTS or n < 1 or i + 4 + 2 * n > len(args):
            return b"run", 0, 0
        if sent > _MAX_JOBS:
            return b"jobs", sent, _MAX_JOBS
        if not 1 <= len(group) <= MAX_GROUP_BYTES:
            return b"group", len(group), MAX_GROUP_BYTES
        for job_id, tail in zip(*[iter(args[i + 4 : i + 4 + 2 * n])] * 2, strict=True):
            if len(job_id) > codec.MAX_ID_BYTES:
                return b"id", len(job_id), codec.MAX_ID_BYTES
            if len(tail) > codec.MAX_TAIL_BYTES:
                return b"body", len(tail), codec.MAX_TAIL_BYTES
        i += 4 + 2 * n
    return None


def _join(p: PartitionData, name: bytes, n: int, *, delayed: bool) -> None:
    group = p.find_group(name) or p.groups.setdefault(name, Group())
    group.total += n
    group.left += n
    if group.left <= n:
        group.expires = None
        group.created = group.created or p.now
    if delayed:
        group.delayed += n
    if group.has_settings and name not in p.managed:
        p.managed[name] = 0
        renew_seats(p, name)


def _to_gates(
    p: PartitionData, ids: list[bytes], gates: dict[bytes, bytes], group: bytes, delay: int
) -> list[bytes]:
    # Parks those that name limits; returns the others, and those that claims will take there.
    stay = []
    for job_id in ids:
        gate = gates.get(job_id)
        if gate and delay <= 0 and not p.groups[group].serial:
            p.park(gate, job_id)
            continue
        stay.append(job_id)
        if gate:
            p.gates.limits[job_id] = NEVER, gate
    return stay


def _settle(p: PartitionData, ids: list[bytes], tier: int, group: bytes, delay: int) -> bool:
    # Returns whether one of these is the next delayed job to become due.
    if delay <= 0:
        for job_id in ids:
            p.place(job_id, (tier, group))
        return False
    for job_id in ids:
        p.delay(job_id, tier, p.now + delay)
    return not p.delayed.below(p.now + delay)


@routed(1)
def status(p: PartitionData, args: Args) -> Any:
    """Return where one job is."""
    job_id = args[0]
    body = p.jobs.get(job_id)
    if body is None:
        return _ended(p, job_id)
    state, at = b"ready", p.delayed.score(job_id)
    if at is not None:
        state = b"delayed"
    elif (at := p.dead.score(job_id)) is not None:
        state = b"dead"
    else:
        scores = (p.book(epoch).score(job_id) for epoch in p.epochs())
        at = next((score for score in scores if score is not None), None)
        if at is not None:
            state, at = b"in-flight", 0 if at < STARTED else at
        elif p.gates.is_parked(job_id):
            state = b"parked"
    return [
        state,
        body,
        int(at or 0),
        p.attempts.get(job_id, 0),
        p.crashes.get(job_id, 0),
        p.errors.get(job_id, b""),
        p.progress.get(job_id, b""),
        b"",
        int(job_id in p.cancels),
    ]


def _ended(p: PartitionData, job_id: bytes) -> list[Any]:
    result = p.result(job_id)
    state = b"unknown" if result is None else b"done"
    if p.ended.remembers(job_id, p.now):
        state = b"done"
    elif state == b"unknown" and p.ended.remembers(b"!" + job_id, p.now):
        state = b"expired" if p.ended.remembers(b"~" + job_id, p.now) else b"cancelled"
    return [state, b"", 0, 0, 0, b"", b"", result or b"", 0]


@routed(2)
def pools(p: PartitionData, args: Args) -> Any:
    """Return the pools besides the default one; add one."""
    if args[0] and len(p.pools) < int(args[1]):
        p.pools.add(args[0])
    return pool_names(p, args)


def pool_names(p: PartitionData, _args: Args) -> Any:
    """Return the pools besides the default one."""
    return list(p.pools)


@routed(1)
def group(p: PartitionData, args: Args) -> Any:
    """Count the jobs of one group."""
    g = p.find_group(args[0]) or Group()
    lanes = [p.lanes.get((tier, args[0]), deque()) for tier in TIERS]
    waiting = sum(len(lane) for lane in lanes if len(lane) != 1 or lane[0] not in p.marks)
    finished = 0 if g.left > 0 else g.finished
    cut = max(g.cancelled_at, 0)
    ready = min(waiting, g.left)
    return [
        *(g.total, g.left, g.dead, g.cancelled, g.delayed, ready, g.created, finished, cut),
        *(g.done, g.evicted, g.discarded, g.hold, g.expired, g.most, int(g.serial)),
        *(g.weight, g.parked, 0 if g.tier is None else g.tier + 1, g.spread),
    ]
