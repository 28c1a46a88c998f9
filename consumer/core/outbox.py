"""Outcomes that the server has not confirmed yet, and the verbs that record them. Pure.

A turn takes as many of the oldest ends as its byte budget allows. One that exceeds a whole budget
is sent alone, and moves to the back if it was not confirmed, so that it does not block others.

Jobs to hand back follow the ends. Each goes to the front of its lane, so what was claimed last goes
first, in one turn and from turn to turn: that keeps the order of a lane, however many turns it
takes.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from consumer.core.jobs import DONE, HAND_BACK, End, Outcome
from queuepool.models import ErrorRecord
from queuepool.protocol.batches import MARK
from queuepool.protocol.codec import encode_error, read_stamp
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.verbs import MAX_BATCH, Acks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from consumer.settings import ConsumerSettings
    from queuepool.verbs import Verb
    from queuepool.verbs.owner.verbs import Ownership

CRASHED = encode_error(  # of a job that recovery buries
    ErrorRecord(
        reason="crashed", message="the consumer died too many times while this job was running"
    )
)
_RECORDED_A_TURN = 400
_AGAIN_MS = 10_000  # before a job whose result did not get through runs again
_ID_BYTES = 64  # about what a job's name takes in a verb


def size_bytes(outcomes: Sequence[Outcome]) -> int:
    """Return approximately how many bytes it takes to record these outcomes."""
    size = _ID_BYTES * len(outcomes)
    for outcome in outcomes:
        if outcome.result is not None:
            size += len(outcome.result)
        size += len(outcome.error)
    return size


def executions(outcomes: Sequence[Outcome]) -> tuple[int, float]:
    """Return (how many of them were executed, the total seconds this took)."""
    ran, busy_s = 0, 0.0
    for outcome in outcomes:
        if outcome.end is not HAND_BACK:
            ran += 1
            busy_s += outcome.ended_s - outcome.started_s
    return ran, busy_s


class Outbox:
    """Ends in the order in which they came, and jobs to hand back in the order of their claims."""

    def __init__(self) -> None:
        self._ends: list[Outcome] = []
        self._returns: list[Outcome] = []

    def __len__(self) -> int:
        return len(self._ends) + len(self._returns)

    def __iter__(self) -> Iterator[Outcome]:
        return chain(self._ends, self._returns)

    @property
    def returns(self) -> bool:
        """Return whether jobs are to be handed back."""
        return bool(self._returns)

    @property
    def ends(self) -> Sequence[Outcome]:
        """Return the others."""
        return self._ends

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Add outcomes to record."""
        returns = [outcome for outcome in outcomes if outcome.end is HAND_BACK]
        if returns:
            self._returns += returns
            outcomes = [outcome for outcome in outcomes if outcome.end is not HAND_BACK]
        self._ends += outcomes

    def pick(
        self, budget_bytes: int, *, alone: bool, returns: bool = True
    ) -> tuple[list[Outcome], int]:
        """Return (the outcomes that one turn records, their bytes).

        alone: the oldest one may exceed the budget if sent alone. returns: with jobs to hand back.
        """
        picked, size = self._pick_ends(budget_bytes, alone=alone)
        room = min(_RECORDED_A_TURN - len(picked), (budget_bytes - size) // _ID_BYTES)
        if not (returns and self._returns and room > 0):
            return picked, size
        last = self._returns[-room:]
        return picked + last, size + size_bytes(last)

    def _pick_ends(self, budget_bytes: int, *, alone: bool) -> tuple[list[Outcome], int]:
        oldest = self._ends[:_RECORDED_A_TURN]
        size = size_bytes(oldest)
        if size <= budget_bytes:
            return oldest, size
        size = size_bytes(oldest[:1])
        if alone and size > budget_bytes:
            return oldest[:1], size
        picked, left = [], budget_bytes
        for outcome in oldest:
            size = size_bytes((outcome,))
            if size <= left:
                picked.append(outcome)
                left -= size
        return picked, budget_bytes - left

    def forget(self, outcomes: Sequence[Outcome]) -> None:
        """Drop outcomes that were recorded."""
        if self._ends[: len(outcomes)] == outcomes:  # nothing was skipped, nothing handed back
            del self._ends[: len(outcomes)]
        else:
            gone = {id(outcome) for outcome in outcomes}
            self._ends = [o for o in self._ends if id(o) not in gone]
            self._returns = [o for o in self._returns if id(o) not in gone]

    def line_up(self, order: Iterable[bytes]) -> None:
        """Hand jobs back in this order of their ids; those that it does not name come last."""
        rank = {job_id: n for n, job_id in enumerate(order)}
        self._returns.sort(key=lambda outcome: rank.get(outcome.job.id, len(rank)))

    def postpone(self, outcome: Outcome) -> None:
        """Move this one behind all others."""
        self.replace(outcome, outcome)

    def replace(self, outcome: Outcome, by: Outcome) -> None:
        """Record another end in place of one, after all others."""
        self._ends = [o for o in self._ends if o is not outcome]
        self._ends.append(by)


def undelivered(outcome: Outcome, tries: int) -> Outcome:
    """Return what replaces a result that did not get through: a failed attempt."""
    record = ErrorRecord(
        reason="bad-result",
        message=(
            f"the job succeeded, but its result of {len(outcome.result or b'')} bytes did not "
            f"reach the server in time in {tries} attempts, although smaller calls did. The "
            "result is lost. Return less data or a reference to it, use a faster link, or "
            "raise CONSUMER_LEASE_S and QUEUEPOOL_TIMEOUT_S"
        ),
    )
    return Outcome(
        outcome.job,
        End.BURY if 0 < outcome.max_attempts <= outcome.job.attempt else End.RETRY,
        outcome.started_s,
        outcome.ended_s,
        outcome.task,
        delay_ms=_AGAIN_MS,
        error=encode_error(record),
        reason=record.reason,
        max_attempts=outcome.max_attempts,
    )


def record_verbs(
    ownership: Ownership, outcomes: Sequence[Outcome], settings: ConsumerSettings
) -> Iterator[Verb[Any]]:
    """Yield the verbs that record these outcomes, at most 200 jobs each.

    Certain successes are sent by id only, the shortest form; all others name the body's stamp. So
    do those of jobs of batches: only finish_stray tells the batch.
    """
    certain = [
        o for o in outcomes if o.end is DONE and MARK not in o.job.id and not o.job.unanswered
    ]
    others: dict[End, list[Outcome]] = {}
    if len(certain) < len(outcomes):
        sent = set(certain)
        for outcome in outcomes:
            if outcome not in sent:
                others.setdefault(outcome.end, []).append(outcome)
    for i in range(0, len(certain), MAX_BATCH):
        yield own.finish(ownership, _by_group(certain[i : i + MAX_BATCH]))
    for end, alike in others.items():
        parts = range(0, len(alike), MAX_BATCH)
        # Each goes to the front of its lane: the last ones first, which keeps the order.
        for i in reversed(parts) if end is HAND_BACK else parts:
            yield _verb_by_stamp(ownership, end, alike[i : i + MAX_BATCH], settings)


def _verb_by_stamp(
    ownership: Ownership, end: End, outcomes: Sequence[Outcome], settings: ConsumerSettings
) -> Verb[Any]:
    stamps = [read_stamp(o.job.body) for o in outcomes]
    if end is DONE:
        return own.finish_stray(ownership, map(_stray, outcomes, stamps))
    if end is End.RETRY:
        jobs = ((o.job.id, o.delay_ms, o.aside or o.charged, o.error) for o in outcomes)
        return own.retry(ownership, jobs, stamps)
    if end is End.BURY:
        return own.bury(
            ownership,
            ((o.job.id, o.error) for o in outcomes),
            stamps,
            keep_jobs=settings.dead_keep_jobs,
            keep_bytes=settings.dead_keep_bytes,
            keep_ms=int(settings.dead_keep_s * 1000),
        )
    ids = [o.job.id for o in outcomes]
    verb = own.end_cancelled if end is End.CANCELLED else own.hand_back
    return verb(ownership, ids, stamps)


def _stray(outcome: Outcome, stamp: bytes) -> tuple[bytes, bytes, int, bytes]:
    if outcome.result is None:
        return outcome.job.id, stamp, 0, b""
    return outcome.job.id, stamp, outcome.result_ttl_ms, outcome.result


def _by_group(outcomes: Sequence[Outcome]) -> dict[bytes, Acks]:
    groups: dict[bytes, Acks] = {}
    for outcome in outcomes:
        job = outcome.job
        acks = groups.get(job.group)
        if acks is None:
            acks = groups[job.group] = Acks(0, [], [])
        acks.size_bytes += len(job.body)
        acks.ids.append(job.id)
        if outcome.result is not None:
            acks.results.append((job.id, outcome.result_ttl_ms, outcome.result))
    return groups
