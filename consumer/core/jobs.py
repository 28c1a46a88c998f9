"""A claimed job in memory, and how its execution ended."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from queuepool.errors import UndecodableError
from queuepool.models.runs import JobRun
from queuepool.protocol import codec
from queuepool.verbs.owner.verbs import read_count


class End(IntEnum):
    """How an execution ended, by what is to be recorded."""

    DONE = 0
    RETRY = 1
    BURY = 2
    CANCELLED = 3  # stopped because cancellation was requested
    HAND_BACK = 4  # never started


# For what is asked once a job: up to Python 3.11 a member of an enum is slow to find.
DONE, HAND_BACK = End.DONE, End.HAND_BACK


class ClaimedJob(msgspec.Struct, eq=False):
    """One claimed job. The loop makes it; the worker that runs it writes `started_s` and `run`.

    waited_ms: since it was enqueued, when it was claimed. ahead: claimed to wait in memory, so not
    reported as started. unanswered: its end may be recorded already, and another job may have its
    id by now; the end is sent with the stamp of this body. damage: what of it cannot be read, so
    that it is buried. run: what hooks were told of its start. ended: its pool has told its end.
    Times are time.monotonic() seconds.
    """

    id: bytes
    body: bytes
    attempt: int
    crashes: int
    group: bytes
    waited_ms: int
    claimed_s: float
    damage: str = ""
    started_s: float = 0.0
    ahead: bool = False
    cancelled: bool = False
    unanswered: bool = False
    run: JobRun | None = None
    ended: bool = False


def claimed(
    id: bytes, body: bytes, attempt: int, crashes: int, now_ms: int, now_s: float
) -> ClaimedJob:
    """Return a job that was claimed now: at `now_ms` of the server's clock, `now_s` of ours.

    Its id and header are checked here, so that the worker only has to decode the envelope.
    """
    damage = ""
    try:
        codec.check_id(id)
        enqueued_ms, group = codec.read_arrival(body)
    except UndecodableError as error:
        damage = str(error)
        enqueued_ms, group = codec.read_enqueued_ms(body), codec.read_group(body)
    waited_ms = now_ms - enqueued_ms if now_ms > enqueued_ms else 0
    return ClaimedJob(id, body, attempt, crashes, group, waited_ms, now_s, damage)


def note(job: ClaimedJob, attempts: bytes | None, crashes: bytes | None) -> None:
    """Note what is stored of a job: failed attempts, crashes; or that it cannot be read."""
    failed, crashed = read_count(attempts), read_count(crashes)
    if failed is None or crashed is None:
        what, stored = ("crashes", crashes) if failed is not None else ("attempts", attempts)
        job.damage = f"the number of its {what} is stored as {stored!r}, which is not a number"
    else:
        job.attempt, job.crashes = failed + 1, crashed


class Outcome(msgspec.Struct, eq=False, gc=False):  # nothing it holds points back to it
    """The end of one execution: what to record. Times are time.monotonic() seconds.

    max_attempts: how many it may have, of one that failed or returned a result. unanswered: how
    often it was sent alone, without success. aside: the task that no one here knows. slow_ms: for
    how long the limits of the job are to grant nothing, as a downstream said; 0: it said nothing.
    exception: what the handler raised, for hooks. trace: the ids of its trace and span, if kept.
    """

    job: ClaimedJob
    end: End
    started_s: float
    ended_s: float
    task: str = ""
    result: bytes | None = None
    result_ttl_ms: int = 0
    delay_ms: int = 0
    charged: bool = True
    error: bytes = b""
    reason: str = ""
    max_attempts: int = 0
    unanswered: int = 0
    aside: str = ""
    slow_ms: int = 0
    exception: BaseException | None = None
    trace: tuple[str, str] | None = None
