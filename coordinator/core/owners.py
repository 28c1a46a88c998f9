"""Which consumers came to partitions and left them, by what is observed from cycle to cycle. Pure.

    not looked at before --owns--> a consumer
    nobody --came--> a consumer --silent (its lease expired)--> back, or another one took over
    a consumer --left--> nobody

A consumer that shares its time among partitions comes and leaves all the time, which would fill the
log. So after MOVES looks of MOVES_IN with such a change one entry says so, and then none, until it
stays.

A consumer whose lease expired while it was stalled is fenced once another has taken over: what it
still writes is refused.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from coordinator.core.model import PartitionView
from queuepool.models import Owner
from queuepool.models.log import LogEntry, LogKind

_EACH = 5  # changes of one kind in one look; more become one entry
MOVES, MOVES_IN = 4, 60
_PROCESSES = 1024  # that moved lately
# A crash is noticed by its closed connection, long before the lease expires.
_ENDED = "which released it or crashed"


class _Seen(Struct, frozen=True):
    host: str
    epoch: int
    alive: bool


class OwnerChanges:
    """Compares one look at all places with the one before. For one thread."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen | None] = {}
        self._movers = _Movers()

    def look(self, views: Iterable[PartitionView]) -> list[LogEntry]:
        """Return what changed; of a place that was not seen before, who owns it."""
        self._movers.next_look()
        found: dict[tuple[str, str], list[LogEntry]] = {}  # by what and release
        for view in views:
            if view.state is None or view.problem:
                continue
            owner = view.state.owner
            now = None if owner is None else _Seen(owner.host, owner.epoch, owner.lease_ms > 0)
            entry = None
            if view.name not in self._seen:
                if now is not None and now.alive:
                    entry = _entry("owns", f"partition {view.name}", now.host, _version(owner))
            elif now != (before := self._seen[view.name]):
                entry = _change(view, before, now, owner)
                if entry is not None and _is_move(before, now):
                    entry = self._movers.told(entry)
            if entry is not None:
                found.setdefault((entry.what, _version(owner)), []).append(entry)
            self._seen[view.name] = now
        return [entry for each in found.values() for entry in together(each, _EACH)]


@dataclass(slots=True)
class _Mover:
    looks: deque[int] = field(default_factory=lambda: deque(maxlen=MOVES + 1))
    said: bool = False


class _Movers:
    """Consumers that came and left lately, by their looks. For one thread."""

    def __init__(self) -> None:
        self._look = 0
        self._movers: OrderedDict[str, _Mover] = OrderedDict()

    def next_look(self) -> None:
        """Count a look."""
        self._look += 1

    def told(self, entry: LogEntry) -> LogEntry | None:
        """Note that a consumer came or left; return what to say of it."""
        mover = self._movers.setdefault(entry.who, _Mover())
        self._movers.move_to_end(entry.who)
        if len(self._movers) > _PROCESSES:
            self._movers.popitem(last=False)
        if not mover.looks or mover.looks[-1] != self._look:
            mover.looks.append(self._look)
        while self._look - mover.looks[0] >= MOVES_IN:
            mover.looks.popleft()
        if len(mover.looks) <= MOVES:
            mover.said = False
            return entry
        if mover.said:
            return None
        mover.said = True
        return _entry(
            "shares", entry.subject, entry.who, "it moves among partitions that have work"
        )


def together(entries: list[LogEntry], most: int) -> list[LogEntry]:
    """Return entries of the same words; more than so many as one that counts them."""
    if len(entries) <= most:
        return entries
    names = [entry.subject.removeprefix("partition ") for entry in entries]
    first = entries[0]
    return [
        LogEntry(
            kind=first.kind,
            what=first.what,
            subject=f"{len(entries):,} partitions: {', '.join(names[:10])}"
            + (" ..." if len(names) > 10 else ""),
            who=f"{first.who} and others",
            outcome=first.outcome,
        )
    ]


def _change(
    view: PartitionView, before: _Seen | None, now: _Seen | None, owner: Owner | None
) -> LogEntry | None:
    subject = f"partition {view.name}"
    if now is None:
        return _entry("left", subject, before.host if before else "", "no consumer owns it")
    version = _version(owner)
    if before is None or before.epoch != now.epoch:
        if not now.alive:
            return None  # it came and went within one cycle; what follows is told
        if before is None:
            return _entry("came", subject, now.host, version)
        how = "whose lease had expired: fenced" if not before.alive else _ENDED
        if view.state is not None and view.state.draining:
            how = "which drains"
        told = f"after {before.host}, {how}" + (f"; {version}" if version else "")
        return _entry("took over", subject, now.host, told)
    if before.alive and not now.alive:
        told = "its lease has expired: it crashed, stalls, or is cut off"
        return _entry("silent", subject, now.host, told)
    if now.alive and not before.alive:
        return _entry("back", subject, now.host, "its lease is renewed")
    return None


def _version(owner: Owner | None) -> str:
    return f"version {owner.version}" if owner is not None and owner.version else ""


def _is_move(before: _Seen | None, now: _Seen | None) -> bool:
    """Return whether no lease ended: an owner released the place, or took what was free."""
    same = before is not None and now is not None and before.epoch == now.epoch
    return not same and (before is None or before.alive) and (now is None or now.alive)


def _entry(what: str, subject: str, who: str, outcome: str) -> LogEntry:
    return LogEntry(kind=LogKind.OWNER, what=what, subject=subject, who=who, outcome=outcome)
