"""observe, dead, replay and discard: verbs of operators and the coordinator."""

from __future__ import annotations

import re
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.holding import waits_for_release
from queuepool.testing.keyspace import Args

_STAMPED = re.compile(rb"1[0-3]([0-9A-Fa-f]{11})")


def observe(p: PartitionData, _args: Args) -> Any:
    """Return everything about the partition."""
    oldest = p.now
    for ring in p.seats.tiers:
        for first in list(ring)[:4]:
            seat = next(iter(p.seats.behind(first)), first) if first.tenant else first
            lane = p.lanes.get(seat.lane)
            body = p.jobs.get(lane[0]) if lane else None
            if body is not None:
                oldest = min(oldest, codec.read_enqueued_ms(body) or oldest)
    due, _ = p.delayed.first() or (oldest, b"")
    oldest = min(oldest, int(due))
    return [
        p.now,
        flat(p.counters),
        _owner_fields(p),
        len(p.jobs),
        len(p.delayed),
        sum(len(p.book(epoch)) for epoch in p.epochs()),
        len(p.dead),
        [len(ring) for ring in p.seats.tiers],
        p.now - oldest,
        min(len(p.to_recover), 100),
        len(p.draining),
        flat(p.checkpoint),
        p.commands[-1].id if p.commands else b"0-0",
        len(p.asides),
        list(dict.fromkeys(list(p.asides.values())[:100])),
        len(p.untold) + (min(p.batches_due.values(), default=p.now + 1) <= p.now),
        sum(waits_for_release(p, due) for due, _ in p.delayed.entries()),
        [x for task, known in p.tasks.items() if known[1] for x in (task, b"%d" % known[0])],
    ]


def flat(fields: dict[str, Any]) -> list[bytes]:
    """Return a dict as a server returns a hash: names and values in turn, all bytes."""
    return [x for name, value in fields.items() for x in (name.encode(), to_bytes(value))]


def to_bytes(value: Any) -> bytes:
    """Return a value as it would be stored."""
    return value if isinstance(value, bytes) else str(value).encode()


def _owner_fields(p: PartitionData) -> list[bytes | None]:
    o = p.owner
    names = ("nonce", "epoch", "host", "expires", "heartbeat", "workers", "busy", "target",
             "applied", "load", "about", "limits", "drain")  # fmt: skip
    if o is None:
        return [None] * (len(names) + 1)
    told = [None if (value := getattr(o, name)) is None else to_bytes(value) for name in names]
    return [*told, b"%d:%d:%d" % (o.epoch, *o.protocol)]


def peek(p: PartitionData, _args: Args) -> Any:
    """Return whether a partition is in use."""
    owner = p.owner
    left = owner.expires - p.now if owner is not None and owner.nonce else 0
    return [len(p.jobs), max(0, left)]


def dead(p: PartitionData, args: Args) -> Any:
    """List dead jobs, the oldest first."""
    offset, count = int(args[0]), int(args[1])
    return [
        [
            job_id,
            int(died_ms),
            p.jobs.get(job_id, b""),
            p.attempts.get(job_id, 0),
            p.crashes.get(job_id, 0),
            p.errors.get(job_id, b""),
        ]
        for died_ms, job_id in p.dead.entries(offset, offset + count)
    ]


def drain(p: PartitionData, args: Args) -> Any:
    """Ask the owner of a partition to end."""
    owner, epoch = p.owner, int(args[0])
    if owner is None or owner.epoch != epoch or not owner.nonce:
        return 0
    owner.drain = epoch
    return 1


def replay(p: PartitionData, args: Args) -> Any:
    """Send dead jobs back to their lanes with a clean record."""
    n, kept = 0, list[bytes]()
    for job_id in args:
        body, key = p.jobs.get(job_id), p.wishes.keys.get(job_id, b"")[1:]
        if body is None or job_id not in p.dead:
            continue
        if p.group_of(body).moving or (key and p.holder_of(key) is not None):
            kept.append(job_id)
            continue
        n += 1
        p.dead.remove(job_id)
        p.wishes.take_again(job_id)
        for notes in (p.attempts, p.crashes, p.errors):
            notes.pop(job_id, None)
        p.jobs[job_id] = _restamped(body, p)
        p.tell(job_id, b"r")
        group = p.group_of(body)
        group.left += 1
        if group.has_settings:
            p.managed.setdefault(codec.read_group(body), 0)
        p.place(job_id, lane_of(body))
        p.tune(codec.read_group(body))
        p.count("replayed")
        p.count("dead_bytes", -len(body))
        group.dead -= 1
    if n:
        p.wake(b"w")
    return [n, *kept]


def _restamped(body: bytes, p: PartitionData) -> bytes:
    # As if enqueued now, but always later than before; one of another layout stays unchanged.
    old = _STAMPED.match(body)
    if old is None:
        return body
    stamp, before = p.fresh_stamp, int(old[1], 16)
    if stamp <= before:
        stamp = p.later_stamp(before)
    return b"%s%011x%s" % (body[:2], stamp, body[13:])


def discard(p: PartitionData, args: Args) -> Any:
    """Delete dead jobs permanently."""
    n = 0
    for job_id in args:
        body = p.jobs.get(job_id)
        if body is not None and p.group_of(body).moving:
            continue
        if not p.dead.remove(job_id):
            continue
        n += 1
        p.tell(job_id, b"g")
        p.forget(job_id)
        p.count("discarded")
        if body is not None:
            p.count("dead_bytes", -len(body))
            p.count("bytes", -len(body))
            group = p.group_of(body)
            group.dead -= 1
            group.discarded += 1
            p.expire_group(group)
    return n
