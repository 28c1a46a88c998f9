"""ask, slow, end_permits: what owners ask of limits. set, pause, remove, limits: what people do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.limits import Definition, Entry, Limit, definition_of

_SLICE_MS = 250


@dataclass(slots=True)
class _Asker:
    """One ask. again: the us at which to ask again, 0 if there is no need."""

    limit: Limit
    d: Definition
    name: bytes
    entry: Entry
    now: int
    wants: int
    held: int
    total: int
    pace: float
    again: int = 0

    @property
    def us(self) -> int:
        return self.now * 1000

    def book(self) -> tuple[int, int, float, bool]:
        """Return (tokens, us of the first, us between two, whether it stands in line)."""
        limit, d, wants, us = self.limit, self.d, self.wants, self.us
        _others, head = limit.line(limit.for_tokens, self.name, self.now)
        granted, first, apart = 0, us, 0.0
        if not d.rate and limit.wait > us:
            self.again = limit.wait if wants else 0
        elif not d.rate:
            granted = wants
        elif wants:
            apart = d.per / self.pace
            furthest = max(limit.wait, us + 1_000_000 + max(apart, 100_000))
            limit.tat = math.ceil(min(limit.tat, furthest))
            first = math.ceil(max(limit.tat, limit.wait, us - (d.burst - 1) * apart))
            if first > us + 1_000_000 or (first > us and not head):
                self.again = max(first - 1_000_000, us + 20_000)
            else:
                ripe = math.floor((us - first) / apart) + 1
                granted = min(wants, max(1, math.floor(self.pace * 100_000 / d.per), ripe))
                limit.tat = math.ceil(first + granted * apart)
        stands = self.again > 0 and d.rate > 0
        if not stands:
            limit.for_tokens.remove(self.name)
        elif self.name not in limit.for_tokens:
            limit.for_tokens.add(self.name, self.now)
        return granted, first, apart, stands

    def share(self) -> int:
        """Return how many jobs may run at once."""
        limit, d, entry, held = self.limit, self.d, self.entry, self.held
        if not d.permits:
            entry.permits = 0
            limit.for_permits.remove(self.name)
            return self.total
        others, head = limit.line(limit.for_permits, self.name, self.now)
        had = entry.permits
        share, most = (
            d.permits,
            d.permits - (limit.used - (had if self.name in limit.entries else 0)),
        )
        free = most
        if others:
            share = d.permits // (limit.askers(but=self.name) + 1)
            keeps = had if self.now < entry.slice_ms <= self.now + _SLICE_MS else 0
            left = free - held if head else 0
            extra = held + math.ceil(left / (others + 1)) if left > 0 else 0
            most = max(share, keeps, extra)
            if min(self.total, free, most) > max(share, had):
                entry.slice_ms = self.now + _SLICE_MS
        allowed = max(0, min(self.total, free, most))
        entry.permits = max(held, allowed)
        if allowed >= min(self.total, d.permits):
            limit.for_permits.remove(self.name)
            return allowed
        if allowed > max(share, held) or self.name not in limit.for_permits:
            limit.for_permits.add(self.name, self.now)
        soon = self.us + (20_000 if head else 50_000)
        self.again = min(self.again, soon) if self.again else soon
        return allowed


def ask(p: PartitionData, args: Args) -> Any:
    """Grant tokens and permits of a limit to an owner."""
    name, partition, code = args[0], args[1], args[7]
    epoch, serial, wants, held, total = map(int, args[2:7])
    limit, asker, us = _find(p, name) or Limit(), partition + b":" + args[2], p.now * 1000
    entry, paused = limit.entries.get(asker) or Entry(), int(limit.paused > 0)
    if 0 < serial <= entry.serial:
        return [us, 0, us, b"0", entry.permits, us + 20_000, paused]
    _declare(p, name, limit, code)
    d = limit.definition or Definition()
    if paused or epoch < p.asking.get(partition, 0):
        wants, total = 0, 0
    if epoch < p.asking.get(partition, 0):
        held = min(held, entry.permits)
    limit.rewind(us)
    pace = limit.pace_of(d)
    asking = _Asker(limit, d, asker, entry, p.now, min(wants, 1000), held, total, pace)
    granted, first, apart, stands = asking.book()
    allowed = asking.share()
    if d.most and wants > granted and limit.wait <= us and 0 < limit.seen < us:
        pace = min(d.most, pace + (d.most - d.least) * min(us - limit.seen, 1_000_000) / 1e7)
    again = us + 1_000_000 if paused else min(asking.again, us + 5_000_000)
    if entry.permits:
        again = again or us + 3_600_000_000
        p.asking[partition] = max(p.asking.get(partition, 0), epoch)
    entry.due_ms, entry.serial = math.ceil(max(us, again) / 1000), serial
    if d.permits and not (entry.permits or total or stands):
        entry.due_ms, entry.slice_ms = 0, p.now
    if d.permits or stands:
        limit.entries[asker] = entry
    else:
        limit.entries.pop(asker, None)
    if d.rate or d.permits or limit.wait:
        limit.turn(p.now)
        limit.seen, limit.pace = us, pace
        limit.granted += granted
        limit.this += granted
    return [us, granted, first, b"%.3f" % apart, allowed, again, paused]


def slow(p: PartitionData, args: Args) -> Any:
    """Make all wait, as the downstream of a limit told."""
    name, us = args[0], p.now * 1000
    limit = _find(p, name) or Limit()
    _declare(p, name, limit, args[2])
    limit.rewind(us)
    d = limit.definition
    if d and d.most and limit.wait <= us and not 0 <= us - limit.cut < 1_000_000:
        limit.cut, limit.pace = us, max(d.least, limit.pace_of(d) * 0.7)
    limit.wait = max(limit.wait, us + min(int(args[1]), 86_400_000) * 1000)
    limit.told = us
    return limit.wait


def end_permits(p: PartitionData, args: Args) -> Any:
    """Free the permits of a partition's ownerships that ended."""
    partition, oldest, freed = args[0], int(args[1]), 0
    for limit in p.limits.values():
        for asker in list(limit.entries):
            of, _, epoch = asker.partition(b":")
            if of == partition and int(epoch) < oldest and limit.entries[asker].permits:
                freed += limit.entries.pop(asker).permits
    if p.limits or partition in p.asking:
        p.asking[partition] = max(p.asking.get(partition, 0), oldest)
    return [b"0", freed]


def set_limit(p: PartitionData, args: Args) -> Any:
    """Define a limit, whatever code says of it."""
    if definition_of(args[1]) is None:
        return -1
    limit = _find(p, args[0]) or p.limits.setdefault(args[0], Limit())
    changed, limit.set, limit.expires = limit.set != args[1], args[1], None
    return int(changed)


def pause_limit(p: PartitionData, args: Args) -> Any:
    """Start no jobs of a limit until it is resumed."""
    limit, pausing = _find(p, args[0]), args[1] == b"1"
    if limit is None:
        if not pausing:
            return -1
        limit = p.limits[args[0]] = Limit()
    waits = not pausing and limit.wait > p.now * 1000
    if waits:
        limit.wait = 0
    if pausing == bool(limit.paused):
        return int(waits)
    if pausing:
        limit.paused, limit.expires = p.now, None
    else:
        limit.paused = 0
        _stop_keeping(p, args[0], limit)
    return 1


def remove_limit(p: PartitionData, args: Args) -> Any:
    """Forget what people set of a limit."""
    limit = _find(p, args[0])
    if limit is None:
        return -1
    if not limit.kept:
        return 0
    limit.set, limit.paused = b"", 0
    _stop_keeping(p, args[0], limit)
    return 1


def limits(p: PartitionData, args: Args) -> Any:
    """List limits, by name."""
    after, count, only = args[0], int(args[1]), args[2]
    names = [only] if only else sorted(n for n in p.limits if n > after)[:count]
    last = names[-1] if not only and len(names) == count else b""
    found = [(name, limit) for name in names if (limit := _find(p, name))]
    return [last, p.now * 1000, [_record(p, name, limit) for name, limit in found]]


def _record(p: PartitionData, name: bytes, limit: Limit) -> list[Any]:
    age, d = p.now - limit.since, limit.definition
    recent = limit.previous if 0 <= age < 1000 else limit.this if 1000 <= age < 2000 else 0
    return [
        name,
        limit.set,
        limit.code,
        b"%d" % limit.paused if limit.paused else b"",
        b"%.3f" % limit.pace if limit.seen or limit.cut else b"",
        limit.granted,
        recent,
        limit.wait,
        limit.told,
        limit.used,
        len(limit.for_tokens) + len(limit.for_permits),
        max(len(limit.for_tokens), limit.askers() if d and d.permits else 0),
        int(not limit.at),
    ]


def _stop_keeping(p: PartitionData, name: bytes, limit: Limit) -> None:
    """Forget a limit if nobody asked for it and nothing is set; else in a day."""
    limit.stop_keeping(p.now)
    if not (limit.set or limit.at):
        del p.limits[name]


def _find(p: PartitionData, name: bytes) -> Limit | None:
    limit = p.limits.get(name)
    if limit is not None and limit.expires is not None and p.now > limit.expires:
        del p.limits[name]
        return None
    return limit


def _declare(p: PartitionData, name: bytes, limit: Limit, code: bytes) -> None:
    p.limits[name] = limit
    limit.note(p.now)
    if definition_of(code):
        limit.code = code
