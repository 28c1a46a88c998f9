"""Schedules: set, paused, removed, read and fired, as the scripts of these names do it."""

from __future__ import annotations

from typing import Any

import msgspec

from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.producing import enqueue
from queuepool.testing.records import SystemData


def schedules(s: SystemData, args: Args) -> Any:
    """Return all schedules, and what was done of each."""
    known, name = int(args[0]), args[1]
    names = [name] if name else list(s.schedules)
    if not name and known and known == s.schedules_version:
        names = []
    texts = [(each, _text(s, each)) for each in names if each in s.schedules]
    done = [(each, s.fired[each]) for each in names if each in s.fired]
    flat = [[x for pair in pairs for x in pair] for pairs in (texts, done)]
    return [s.now, s.schedules_version, *flat]


def _text(s: SystemData, name: bytes) -> bytes:
    version, since, paused, by, text = s.schedules[name]
    return b"%d:%d:%d:%s\n%s" % (version, since, paused, by, text)


def _next_version(s: SystemData) -> int:
    s.schedules_version = max(s.schedules_version + 1, s.now)
    return s.schedules_version


def set_schedule(s: SystemData, args: Args) -> Any:
    """Define a schedule."""
    name, text, by, most = args[0], args[1], args[2], int(args[3])
    known = s.schedules.get(name)
    if known is not None and known[4] == text:
        return 0
    if known is None and len(s.schedules) >= most:
        return -1
    paused = known[2] if known is not None else 0
    since = s.now
    if known is not None and _times(known[4]) == _times(text) is not None:
        noted, settled = (*s.fired.get(name, b"").split(b":"), b"", b"")[:2]
        since = min(s.now, max(known[1], int(settled) if noted == b"%d" % known[0] else 0))
    s.schedules[name] = (_next_version(s), since, paused, by, text)
    return 1


def _times(text: bytes) -> tuple[Any, ...] | None:
    """Return when a schedule is due and where it fires, None of what cannot be read."""
    try:
        stored = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    fields = ("cron", "every", "timezone", "partition_key", "tenant", "pool")
    return tuple(map(stored.get, fields)) if isinstance(stored, dict) else None


def pause_schedule(s: SystemData, args: Args) -> Any:
    """Pause or resume a schedule."""
    name, on, by = args[0], args[1] == b"1", args[2]
    known = s.schedules.get(name)
    if known is None:
        return -1
    if bool(known[2]) == on:
        return 0
    since = known[1] if on else s.now
    s.schedules[name] = (_next_version(s), since, s.now if on else 0, by, known[4])
    return 1


def remove_schedule(s: SystemData, args: Args) -> Any:
    """Forget a schedule."""
    if s.schedules.pop(args[0], None) is None:
        return 0
    _next_version(s)
    s.fired.pop(args[0], None)
    return 1


def note_fired(s: SystemData, args: Args) -> Any:
    """Store what the leader has done of schedules."""
    if int(args[0]) != s.leader.get("epoch"):
        return -1
    noted = [pair for pair in zip(args[1::2], args[2::2], strict=True) if pair[0] in s.schedules]
    s.fired.update(noted)
    return len(noted)


def fire(p: PartitionData, args: Args) -> Any:
    """Enqueue the job of a schedule's time, once."""
    name, due, epoch, alone, keep_ms = args[0], int(args[1]), int(args[2]), args[3], int(args[4])
    newest = p.commands[-1].order[0] if p.commands else 0
    if newest > epoch:
        return [b"FENCED", newest]
    before, last, until = p.fires.get(name, (0, b"", 0))
    if until > p.now:
        if before >= due:
            return [b"LATER", before]
    else:
        last = b""
    for job_id in (last, args[5]) if alone == b"1" else ():
        if job_id in p.jobs and job_id not in p.dead:
            return [b"BUSY", job_id]
    reply = enqueue(p, args[6:])
    if not (isinstance(reply, list) and reply[0] in (b"FULL", b"REFUSED", b"MOVED")):
        p.fires[name] = (due, args[16], p.now + keep_ms)
    return reply
