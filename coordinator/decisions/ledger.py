"""The record of decisions: every change, command and new kind of hold, with its inputs.

They are JSON in a bounded stream next to the lead, so that any coordinator can answer "why 24?".
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from coordinator.core.model import Target
from queuepool.errors import InvalidInputError, QueuePoolError
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.servers import Port
from queuepool.verbs.leader import verbs as lead

_MAX_WAITING = 1_000  # records kept in memory while their server is down
_MAX_WRITTEN_AT_ONCE = 200
_MAX_READ_AT_ONCE = 1_000
_MAX_SCANNED = 10_000  # entries that one filtered page may scan


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord(Target):
    """One decision as stored. command: id of the command that followed, or empty."""

    at_ms: int
    epoch: int
    cycle: int
    policy: str
    version: int
    finished_per_s: float = 0.0
    command: str = ""


_decoder = msgspec.json.Decoder(DecisionRecord)


class DecisionBook:
    """Writes and reads records. One thread writes; any may read."""

    def __init__(self, server: Port, key: bytes, *, keep: int) -> None:
        self._server, self._key, self._keep = server, key, keep
        self._waiting: deque[DecisionRecord] = deque(maxlen=_MAX_WAITING)

    def fresh(self) -> DecisionBook:
        """Return a ledger of the same stream for another thread, with nothing pending."""
        return DecisionBook(self._server, self._key, keep=self._keep)

    def write(self, epoch: int, records: Iterable[DecisionRecord]) -> int:
        """Store records, and earlier ones that could not be stored; returns how many were lost.

        A replaced leader writes nothing. While the server is down, records wait here.
        """
        lost = 0
        for record in records:
            lost += len(self._waiting) == _MAX_WAITING
            self._waiting.append(record)
        while self._waiting:
            batch = [self._waiting[i] for i in range(min(len(self._waiting), _MAX_WRITTEN_AT_ONCE))]
            verb = lead.record(epoch, [msgspec.json.encode(r) for r in batch], keep=self._keep)
            try:
                verb.read(self._server.run(self._key, [verb])[0])
            except QueuePoolError:
                break
            for _ in batch:
                self._waiting.popleft()
        return lost

    def page(
        self, token: str, size: int, partition: int | None = None
    ) -> tuple[list[tuple[str, DecisionRecord]], str]:
        """Return ([(id, record)], token of the next, older page or empty), the newest first.

        Raises InvalidInputError for a token that is not one of ours, UnavailableError.
        """
        newest = f"({_checked(token)}" if token else "+"
        found: list[tuple[str, DecisionRecord]] = []
        scanned = 0
        while scanned < _MAX_SCANNED:
            count = _MAX_READ_AT_ONCE if partition is not None else min(size, _MAX_READ_AT_ONCE)
            verb = lead.decisions(newest, count)
            entries = verb.read(self._server.run(self._key, [verb])[0])
            for entry_id, raw in entries:
                record = _decode(raw)
                if record is not None and partition in (None, record.partition):
                    found.append((entry_id, record))
                    if len(found) == size:
                        return found, entry_id
            scanned += len(entries)
            if len(entries) < count:
                return found, ""
            newest = f"({entries[-1][0]}"
        return found, newest.removeprefix("(")


def _checked(token: str) -> str:
    if not re.fullmatch("[0-9]{1,19}-[0-9]{1,19}", token):  # a larger number is not a stream id
        raise InvalidInputError(
            "page_token: pass the next_page_token of the previous page, unchanged"
        )
    return token


def _decode(raw: bytes) -> DecisionRecord | None:
    try:
        return _decoder.decode(raw)
    except UNREADABLE:  # of another version: skip what cannot be read
        return None
