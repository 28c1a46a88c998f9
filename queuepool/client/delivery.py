"""The delivery state machine of one chunk: after every reply, how long to pause, or that it ended.

    sent --accepted or duplicate--> recorded, over
      |----full: wait for room, as long as the caller allows----------> REJECTED, QueueFullError
      |----moved: sent again by a newer route (client.rerouting)
      |----no answer, or "not now": try again for retry_for_s--------> UNKNOWN or REJECTED, raised
      |----stored, but not as durable as required (client.durability)-> UNKNOWN, raised
      +----refused permanently------------------------------------------> raised

The sync and the asyncio pool share it; each supplies the clock, the jitter and the network. A chunk
is unanswered once a call with it got no reply: it may be stored. It is sent again only while the
server remembers ids that ended, and without a definite answer it ends UNKNOWN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from queuepool.client.chunks import Chunk
from queuepool.client.durability import Confirmation
from queuepool.client.interruption import Source, attach_results, note_failed_item, note_unsent
from queuepool.client.results import (
    ACCEPTED,
    CONFLICT,
    DUPLICATE,
    REJECTED,
    REPLACED,
    UNKNOWN,
    EnqueueResults,
)
from queuepool.client.retrying import Attempts
from queuepool.errors import (
    LocalError,
    MovedError,
    NotConfirmedError,
    QueueFullError,
    QueuePoolError,
    ScriptError,
    UnavailableError,
    UnconfirmableError,
)
from queuepool.models import EnqueueStatus, JobId
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Enqueued
from queuepool.verbs import Verb
from queuepool.verbs.producer import confirm
from queuepool.verbs.producer.verbs import Conflicts, Full, Settled, read_enqueue

Answer = Settled | Full | QueuePoolError
SETTLED = (bytes, Conflicts)
SERVER_ERRORS = (UnavailableError, ScriptError, UnconfirmableError)

_CODE_OF = bytes.maketrans(b"0123", bytes((DUPLICATE, ACCEPTED, CONFLICT, REPLACED)))
_REMEMBERED_S = 55.0  # ended ids are remembered for at least a minute


def call(
    chunks: Sequence[Chunk], config: PoolConfig, confirmation: Confirmation
) -> list[Verb[Any]]:
    """Return the calls that enqueue and confirm chunks of one partition, in one round trip."""
    verbs: list[Verb[Any]] = [chunk.verb(config, chunks[:n]) for n, chunk in enumerate(chunks)]
    if len(chunks) > 1:
        verbs.insert(0, confirm.load("enqueue"))  # or they could be reordered
    return verbs + confirmation.verbs


def answers(
    chunks: Sequence[Chunk], replies: Sequence[Any], confirmation: Confirmation, begun_s: float
) -> list[Answer]:
    """Return the outcome of `call` for each chunk, given its replies. begun_s: when it was sent."""
    first = 1 if len(chunks) > 1 else 0
    found = [answer_of(reply) for reply in replies[first : first + len(chunks)]]
    if not confirmation.verbs:
        return found
    problem = confirmation.problem(replies[first + len(chunks) :], chunks[0].partition)
    if problem is None:
        return found
    for place, chunk in enumerate(chunks):
        if isinstance(found[place], SETTLED):
            chunk.mark_unanswered(begun_s)
            found[place] = problem
    return found


def answer_of(reply: Any) -> Answer:
    """Return what a reply to a chunk means. Raises InvalidInputError for an invalid chunk."""
    if isinstance(reply, QueuePoolError):
        return reply
    try:
        return read_enqueue(reply)
    except MovedError as error:
        return error


def unanswered(chunks: Sequence[Chunk], error: UnavailableError, begun_s: float) -> list[Answer]:
    """Return the outcome for each chunk when a call got no reply."""
    if not (isinstance(error, (LocalError, MovedError)) or error.is_of_login):  # none was executed
        for chunk in chunks:
            chunk.mark_unanswered(begun_s)
    return [error] * len(chunks)


def enqueued(chunk: Chunk, answer: Settled) -> Enqueued:
    """Return the result of a chunk of one job that was sent once."""
    if isinstance(answer, Conflicts):
        said = EnqueueStatus.REPLACED if answer.status == b"3" else EnqueueStatus.CONFLICT
        return Enqueued(JobId(answer.by[0].decode()), said, chunk.partition)
    status = EnqueueStatus.ACCEPTED if answer == b"1" else EnqueueStatus.DUPLICATE
    return Enqueued(JobId(chunk.ids[0].decode()), status, chunk.partition)


def note(results: EnqueueResults, chunk: Chunk, answer: Settled) -> None:
    """Record the server's reply for each job of a chunk.

    A duplicate of a chunk that may have been in before: under an id that we made it is our own job,
    accepted by the call that was not answered. Under one that the application chose, no one can
    tell that from a job that was there already: it stays a duplicate. What another job kept out is
    noted under the id of that one.
    """
    status, by = (answer.status, answer.by) if isinstance(answer, Conflicts) else (answer, ())
    codes = status.translate(_CODE_OF)
    if chunk.unanswered_since_s is not None and DUPLICATE in codes:
        jobs = zip(codes, chunk.ids, strict=True)
        codes = bytes(ACCEPTED if c == DUPLICATE and i not in chunk.chosen else c for c, i in jobs)
    ids = chunk.ids
    if by:
        others = iter(by)
        ids = [
            next(others) if c in (CONFLICT, REPLACED) else i
            for c, i in zip(codes, ids, strict=True)
        ]
    results.put(chunk.positions, ids, chunk.partition, codes)


def note_settled(
    results: EnqueueResults, chunks: Sequence[Chunk], found: Sequence[Answer]
) -> deque[tuple[Chunk, Answer | None]]:
    """Record the stored chunks; return the others, in order, each with its answer."""
    left: deque[tuple[Chunk, Answer | None]] = deque()
    for chunk, answer in zip(chunks, found, strict=True):
        if isinstance(answer, SETTLED):
            note(results, chunk, answer)
        else:
            left.append((chunk, answer))
    return left


def record_unknown(results: EnqueueResults, chunk: Chunk) -> None:
    """Record a chunk that will not be sent again: unknown if it may be stored, else rejected."""
    code = REJECTED if chunk.unanswered_since_s is None else UNKNOWN
    results.put(chunk.positions, chunk.ids, chunk.partition, [code] * len(chunk.ids))


class Delivery:
    """The attempts to settle one chunk. Times are seconds of one monotonic clock."""

    def __init__(
        self,
        chunk: Chunk,
        results: EnqueueResults,
        config: PoolConfig,
        *,
        now_s: float,
        wait_when_full_s: float,
    ) -> None:
        self._chunk, self._results, self._config = chunk, results, config
        self._retries = Attempts(now_s + config.retry_for_s)
        self._waits = Attempts(now_s + wait_when_full_s)

    def pause_after(self, answer: Answer, now_s: float, jitter: float) -> float | None:
        """Return the pause before the next attempt; None: settled, with its results recorded.

        Raises QueueFullError or the refusal when time is up, after recording what is known.
        """
        if isinstance(answer, SETTLED):
            note(self._results, self._chunk, answer)
            return None
        pause = self._pause(answer, now_s, jitter)
        since_s = self._chunk.unanswered_since_s
        if pause is not None and (since_s is None or now_s + pause <= since_s + _REMEMBERED_S):
            return pause
        record_unknown(self._results, self._chunk)
        error = self._full(answer) if isinstance(answer, Full) else answer
        if isinstance(error, (UnavailableError, UnconfirmableError)):
            error.results = self._results
        raise error

    def note_stored(self, ids: frozenset[bytes]) -> None:
        """Record which jobs of the chunk are stored, by an unanswered call, or have ended since."""
        chunk = self._chunk
        for position, job_id in zip(chunk.positions, chunk.ids, strict=True):
            if job_id in ids:
                is_ours = job_id not in chunk.chosen and job_id not in chunk.ended
                code = ACCEPTED if is_ours else DUPLICATE
                self._results.put([position], [job_id], chunk.partition, [code])

    def _full(self, answer: Full) -> QueueFullError:
        return QueueFullError(
            partition=self._chunk.partition,
            depth=answer.depth,
            size_bytes=answer.size_bytes,
            rejected=len(self._chunk.ids),
            max_depth=self._config.max_depth,
            max_bytes=self._config.max_bytes,
        )

    def _pause(self, answer: Full | QueuePoolError, now_s: float, jitter: float) -> float | None:
        if isinstance(answer, Full):
            self._retries = Attempts(now_s + self._config.retry_for_s)  # it is up: start over
            return self._waits.next_pause(now_s, jitter)
        if isinstance(answer, UnavailableError) and not isinstance(answer, NotConfirmedError):
            return self._retries.next_pause(now_s, jitter)
        return None


def note_end(
    error: BaseException,
    results: EnqueueResults,
    batches: Source[list[Chunk]],
    gathered: Mapping[bytes, list[Chunk]],
    held: Mapping[bytes, Chunk],
) -> None:
    """Record the unsent chunks of a batch call that ended early, and describe it in the error.

    gathered, held: chunks of consumed jobs, by base.
    """
    note_unsent(results, (chunk for batch in gathered.values() for chunk in batch))
    note_unsent(results, held.values())
    if error is batches.failure:
        note_failed_item(error, results)
    elif not isinstance(error, SERVER_ERRORS):
        attach_results(error, results)
