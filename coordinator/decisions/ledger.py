"""The record of decisions: every change, command and new kind of hold, with its inputs.

They are kept next to the lead, in a bounded stream of each partition, so that any coordinator can
answer "why 24?", and a busy partition pushes out nothing of a quiet one.
"""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from coordinator.core.model import Mode, Snapshot
from coordinator.decisions.stored import DecisionRecord, Outcome, decode, encode
from queuepool.errors import InvalidInputError, QueuePoolError, ScriptError
from queuepool.servers import Port
from queuepool.verbs.leader import verbs as lead

__all__ = ["DecisionBook", "DecisionRecord", "Outcome"]

_MAX_WAITING = 1_000  # texts kept in memory while their server is down
_MAX_WRITTEN_AT_ONCE = 200
_MAX_READ_AT_ONCE = 1_000  # entries of the stream of earlier releases
_MAX_SCANNED = 10_000  # of them, for one filtered page
_READ_AT_ONCE = 2_000  # entries of all partitions together
_LEAST_KEPT = 100  # of a partition
_TOKEN = re.compile(r"~?([0-9]{1,19})-([0-9]{1,19})(?:-([0-9]{1,9}))?")
_LOOKED_BACK = 50  # decisions, for the last change
_CONTEXT_MS = 30_000  # newer than a page, for the outcomes of its first decisions
_MOST_MS = 2**63
_AFTER_MS = 600_000  # by when the outcome of a decision is known
Found = tuple[str, DecisionRecord]


@dataclass(slots=True)
class _Cursor:
    """A place in the stream of one partition, on the way to older entries.

    bound: (ms, sequence, partition) below which decisions are wanted; newer ones only tell the
    outcome of the next.
    """

    partition: int
    newest: str
    bound: tuple[int, int, int] | None = None
    buffer: deque[Found] = field(default_factory=deque)
    ended: bool = False
    newer: DecisionRecord | None = None
    outcomes: dict[tuple[int, int], Outcome] = field(default_factory=dict)

    def take(self, entries: Sequence[tuple[str, bytes]], count: int) -> None:
        """Take what was read, at most `count` entries; fewer are the last ones."""
        for entry_id, raw in entries:
            match decode(raw, self.partition):
                case DecisionRecord() as record:
                    known = replace(record, outcome=self._outcome_of(record))
                    self.newer = record
                    if self.bound is None or (*_order(entry_id), self.partition) < self.bound:
                        self.buffer.append((entry_id, known))
                case (epoch, cycle, outcome):
                    self.outcomes = {(epoch, cycle): outcome}  # of the next one, or of none
        self.ended = len(entries) < count
        if entries:
            self.newest = f"({entries[-1][0]}"

    def _outcome_of(self, record: DecisionRecord) -> Outcome | None:
        told = self.outcomes.pop((record.epoch, record.cycle), None)
        newer = self.newer
        if told is not None or newer is None or newer.inputs is None:
            return told
        cycles = newer.cycle - record.cycle if newer.epoch == record.epoch else 0
        if not newer.cycle or not record.cycle or cycles < 0:
            return None
        return Outcome(
            at_ms=newer.at_ms,
            cycles=cycles,
            workers=newer.inputs.workers,
            busy=newer.inputs.busy,
            backlog=newer.inputs.backlog,
            finished_per_s=newer.finished_per_s,
        )


class DecisionBook:
    """Writes and reads records. One thread writes; any may read. keep: of all partitions."""

    def __init__(self, server: Port, key: bytes, *, keep: int, partitions: int = 1) -> None:
        self._server, self._key, self._keep, self._partitions = server, key, keep, partitions
        self._keep_each = min(max(keep // partitions, _LEAST_KEPT), keep)
        self._waiting: deque[tuple[int, bytes]] = deque(maxlen=_MAX_WAITING)

    def fresh(self) -> DecisionBook:
        """Return a ledger of the same streams for another thread, with nothing pending."""
        return DecisionBook(self._server, self._key, keep=self._keep, partitions=self._partitions)

    def write(self, epoch: int, records: Iterable[DecisionRecord]) -> int:
        """Store records; see `write_texts`."""
        return self.write_texts(epoch, [(one.partition, encode(one)) for one in records])

    def write_texts(self, epoch: int, texts: Iterable[tuple[int, bytes]]) -> int:
        """Store texts of partitions, and earlier ones that could not be; returns how many are lost.

        A replaced leader writes nothing. While the server is down, they wait here.
        """
        lost, is_up = 0, True
        for text in texts:
            if is_up and len(self._waiting) == _MAX_WAITING:
                more, is_up = self._flush(epoch)
                lost += more
            lost += len(self._waiting) == _MAX_WAITING
            self._waiting.append(text)
        return lost + (self._flush(epoch)[0] if is_up else 0)

    def _flush(self, epoch: int) -> tuple[int, bool]:
        """Store what waits; return how many are lost, and whether the server answered."""
        lost = 0
        while self._waiting:
            batch = [self._waiting[i] for i in range(min(len(self._waiting), _MAX_WRITTEN_AT_ONCE))]
            try:
                self._write(epoch, batch)
            except ScriptError:  # in the place of one is another program's value: the others count
                lost += self._write_one_by_one(epoch, batch)
            except QueuePoolError:
                return lost, False
            for _ in batch:
                self._waiting.popleft()
        return lost, True

    def _write(self, epoch: int, batch: Sequence[tuple[int, bytes]]) -> None:
        verb = lead.record(epoch, batch, keep=self._keep_each)
        verb.read(self._server.run(self._key, [verb])[0])

    def _write_one_by_one(self, epoch: int, batch: Sequence[tuple[int, bytes]]) -> int:
        lost = 0
        for one in batch:
            try:
                self._write(epoch, [one])
            except QueuePoolError:
                lost += 1
        return lost

    def page(self, token: str, size: int, partition: int | None = None) -> tuple[list[Found], str]:
        """Return ([(id, record)], token of the next, older page or empty), the newest first.

        Raises InvalidInputError for a token that is not one of ours, UnavailableError.
        """
        if token and not _TOKEN.fullmatch(token):  # a larger number is not a stream id
            raise InvalidInputError(
                "page_token: pass the next_page_token of the previous page, unchanged"
            )
        found: list[Found] = []
        if not token.startswith("~"):
            cursors = [self._cursor(token, n) for n in self._numbers(partition)]
            for cursor, one in self._merged(cursors, size):
                found.append(one)
                if len(found) == size:
                    of = "" if partition is not None else f"-{cursor.partition}"
                    return found, f"{one[0]}{of}"
        newest = f"({token[1:]}" if token.startswith("~") else "+"
        older, following = self._earlier(newest, size - len(found), partition)
        return found + older, following

    def around(self, partition: int, at_ms: int | None, count: int) -> list[Found]:
        """Return the last decisions of a partition at a moment, at most `count`, newest first.

        at_ms: None for the last ones there are, whatever the clock says.
        """
        latest = 0 if at_ms is None else min(max(at_ms, 0) + _AFTER_MS, _MOST_MS)
        cursor = _Cursor(partition, "+" if at_ms is None else f"{latest}-0")
        found: list[Found] = []
        for _, one in self._merged([cursor], 100):
            if at_ms is None or one[1].at_ms <= at_ms:
                found.append(one)
                if len(found) == count:
                    return found
        older, _ = self._earlier("+", count - len(found), partition, at_ms)
        return found + older

    def why(self, partition: int, at_ms: int | None) -> list[Found]:
        """Return the last decision of a partition at a moment, and the last change before it."""
        found = self.around(partition, at_ms, _LOOKED_BACK)
        changes = [one for one in found if one[1].previous != one[1].target]
        return [*found[:1], *(one for one in changes[:1] if one is not found[0])]

    def _numbers(self, partition: int | None) -> Sequence[int]:
        return range(self._partitions) if partition is None else [partition]

    def _cursor(self, token: str, partition: int) -> _Cursor:
        match = _TOKEN.fullmatch(token)
        if match is None:
            return _Cursor(partition, "+")
        ms, sequence, last = int(match[1]), int(match[2]), int(match[3] or partition)
        newest = f"{min(ms + _CONTEXT_MS, _MOST_MS)}-0"
        return _Cursor(partition, newest, bound=(ms, sequence, last))

    def _merged(self, cursors: Sequence[_Cursor], size: int) -> Iterator[tuple[_Cursor, Found]]:
        """Yield decisions of several partitions, the newest first."""
        count = min(max(_READ_AT_ONCE // max(len(cursors), 1), 3), 2 * size + 2)
        self._fill(cursors, count)
        ready = [(_turn(one), one) for one in cursors if one.buffer]
        heapq.heapify(ready)
        while ready:
            _, latest = ready[0]
            yield latest, latest.buffer.popleft()
            if not latest.buffer and not latest.ended:
                self._fill([latest], count)
            if latest.buffer:
                heapq.heapreplace(ready, (_turn(latest), latest))
            else:
                heapq.heappop(ready)

    def _fill(self, empty: Sequence[_Cursor], count: int) -> None:
        while empty:
            verbs = [lead.decisions(one.newest, count, one.partition) for one in empty]
            for one, verb, reply in zip(
                empty, verbs, self._server.run(self._key, verbs), strict=True
            ):
                one.take(verb.read(reply), count)
            empty = [one for one in empty if not one.buffer and not one.ended]

    def _earlier(
        self, newest: str, size: int, partition: int | None, at_ms: int | None = None
    ) -> tuple[list[Found], str]:
        """Return a page of what an earlier release stored, of all partitions in one stream."""
        found: list[Found] = []
        scanned = 0
        while scanned < _MAX_SCANNED:
            verb = lead.decisions(newest, _MAX_READ_AT_ONCE)
            entries = verb.read(self._server.run(self._key, [verb])[0])
            for entry_id, raw in entries:
                record = decode(raw, -1)
                if not isinstance(record, DecisionRecord) or record.partition < 0:
                    continue
                if partition in (None, record.partition) and (
                    at_ms is None or record.at_ms <= at_ms
                ):
                    found.append((entry_id, record))
                    if len(found) >= size:
                        return found, f"~{entry_id}"
            scanned += len(entries)
            if len(entries) < _MAX_READ_AT_ONCE:
                return found, ""
            newest = f"({entries[-1][0]}"
        return found, f"~{newest.removeprefix('(')}"


def _turn(cursor: _Cursor) -> tuple[int, int, int]:
    """Return what sorts cursors with entries by those, the newest first."""
    ms, sequence = _order(cursor.buffer[0][0])
    return -ms, -sequence, -cursor.partition


def _order(entry_id: str) -> tuple[int, int]:
    ms, _, sequence = entry_id.partition("-")
    return int(ms), int(sequence)


def by_an_operator(
    snapshot: Snapshot, partition: int, workers: int | None, what: str, why: str
) -> DecisionRecord:
    """Return what the ledger keeps of an operator's act. workers: None leaves the target."""
    known = {view.partition: view for view in snapshot.partitions}.get(partition)
    target = known.target if known is not None else 0
    return DecisionRecord(
        at_ms=known.state.observed_ms if known is not None and known.state is not None else 0,
        partition=partition,
        epoch=snapshot.leader_epoch,
        cycle=0,
        policy="manual",
        version=0,
        mode=Mode.MANUAL,
        previous=target,
        target=target if workers is None else workers,
        reason=f"{what} by an operator" + (f": {why}" if why else ""),
    )
