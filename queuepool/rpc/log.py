"""Entries of the log as messages of the API, and back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from queuepool.models.log import LogEntry, LogKind
from queuepool.rpc.v1 import log_pb2

_NUMBERS: dict[LogKind, Any] = {
    kind: log_pb2.LogKind.Value(f"LOG_KIND_{kind.name}") for kind in LogKind
}
_KINDS = {number: kind for kind, number in _NUMBERS.items()}
_TEXTS = ("id", "what", "subject", "who", "via", "why", "outcome")


def numbers_of(kinds: Collection[LogKind]) -> list[Any]:
    """Return kinds as messages name them."""
    return [_NUMBERS[kind] for kind in kinds]


def kinds_of(numbers: Iterable[int]) -> list[LogKind]:
    """Return kinds that a message names; those of a later release are left out."""
    return [_KINDS[number] for number in numbers if number in _KINDS]


def message_of(entry: LogEntry) -> log_pb2.LogEntry:
    """Return an entry as a message."""
    texts = {name: getattr(entry, name) for name in _TEXTS}
    return log_pb2.LogEntry(at_ms=entry.at_ms, kind=_NUMBERS[entry.kind], **texts)


def entry_of(message: Any) -> LogEntry | None:
    """Return an entry as a coordinator sent it; None if its kind is of a later release."""
    kind = _KINDS.get(message.kind)
    if kind is None:
        return None
    texts = {name: getattr(message, name) for name in _TEXTS}
    return LogEntry(kind=kind, at_ms=message.at_ms, **texts)
