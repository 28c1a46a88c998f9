"""Which consumers came to partitions and left them, by what is observed from cycle to cycle. Pure.

    nobody --came--> a consumer --silent (its lease expired)--> back, or another one took over
    a consumer --left--> nobody

A consumer whose lease expired while it was stalled is fenced once another has taken over: what it
still writes is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coordinator.core.model import PartitionView
from queuepool.models import Owner
from queuepool.models.log import LogEntry, LogKind

_EACH = 5  # changes of one kind in one look; more become one entry


@dataclass(frozen=True, slots=True)
class _Seen:
    host: str
    epoch: int
    alive: bool


class OwnerChanges:
    """Compares one look at all places with the one before. For one thread."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen | None] = {}

    def look(self, views: Iterable[PartitionView]) -> list[LogEntry]:
        """Return what changed; of a place that was not seen before, nothing."""
        found: dict[str, list[LogEntry]] = {}
        for view in views:
            if view.state is None or view.problem:
                continue
            owner = view.state.owner
            now = None if owner is None else _Seen(owner.host, owner.epoch, owner.lease_ms > 0)
            if view.name in self._seen:
                before = self._seen[view.name]
                if now != before and (entry := _change(view, before, now, owner)) is not None:
                    found.setdefault(entry.what, []).append(entry)
            self._seen[view.name] = now
        return [entry for each in found.values() for entry in together(each, _EACH)]


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
    version = f"version {owner.version}" if owner is not None and owner.version else ""
    if before is None or before.epoch != now.epoch:
        if not now.alive:
            return None  # it came and went within one cycle; what follows is told
        if before is None:
            return _entry("came", subject, now.host, version)
        how = "whose lease had expired: fenced" if not before.alive else "which released it"
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


def _entry(what: str, subject: str, who: str, outcome: str) -> LogEntry:
    return LogEntry(kind=LogKind.OWNER, what=what, subject=subject, who=who, outcome=outcome)
