"""Steps of the log: write entries, read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from queuepool.client.effects import CallSystem, Steps
from queuepool.client.inspect_steps import Moment, moment_ms
from queuepool.client.questions import ask_system
from queuepool.errors import InvalidInputError, UnavailableError
from queuepool.errors.escaping import shown
from queuepool.models.log import MAX_PAGE, LogEntry, LogKind
from queuepool.settings.config import PoolConfig
from queuepool.verbs.log import verbs


def write(entries: Sequence[LogEntry]) -> Steps[int]:
    """Write entries, by one attempt: whoever acts waits for nothing. Raises QueuePoolError."""
    verb = verbs.write_log(entries)
    replies = yield CallSystem([verb])
    if isinstance(replies, UnavailableError):
        raise replies
    return verb.read(replies[0])


def read(
    config: PoolConfig,
    since: Moment = None,
    until: Moment = None,
    kinds: Collection[LogKind | str] = (),
    most: int = MAX_PAGE,
) -> Steps[list[LogEntry]]:
    """Return the newest entries that match, in the order of their times."""
    if not 1 <= most <= MAX_PAGE:
        raise InvalidInputError(f"most={shown(most)}: use 1 to {MAX_PAGE:,}")
    from_ms, until_ms = moment_ms("since", since) or 0, moment_ms("until", until)
    verb = verbs.read_log(checked(kinds), from_ms=from_ms, until_ms=until_ms, most=most)
    return (yield from ask_system(config, verb))


def checked(kinds: Collection[LogKind | str]) -> list[LogKind]:
    """Return kinds of entries. Raises InvalidInputError."""
    known = {kind.value: kind for kind in LogKind}
    for kind in kinds:
        if kind not in known:
            raise InvalidInputError(f"kind {shown(kind)}: use {', '.join(known)}")
    return [known[kind] for kind in kinds]
