"""Jobs, executions, errors and groups as messages of the API. Pure.

Texts of errors and tracebacks are left out, as they may quote payloads.
"""

from __future__ import annotations

from typing import Any

from queuepool.models import ErrorRecord, JobState, JobStatus
from queuepool.models.finding import Changed, Digest, ErrorCount, RunningJob, fingerprint
from queuepool.models.groups import GroupLoad, GroupOrder
from queuepool.models.history import PastRun
from queuepool.models.places import partition_at
from queuepool.models.tenants import key_in
from queuepool.rpc.v1 import job_pb2

_INT64_MAX = 2**63 - 1
_LONGEST = 300  # characters of a text that somebody stored
_STATES: dict[JobState, Any] = {
    state: job_pb2.JobState.Value(f"JOB_STATE_{state.name}")
    for state in (
        *(JobState.READY, JobState.PARKED, JobState.DELAYED),
        *(JobState.IN_FLIGHT, JobState.DEAD),
    )
}
_OF_NUMBERS = {number: state for state, number in _STATES.items()}


def text(stored: str) -> str:
    """Return a text that anyone may have stored, as a message can have it."""
    return stored[:_LONGEST].encode("utf-8", "backslashreplace").decode()


def number(value: int) -> int:
    """Return a number that fits; an absurd one must not break the reply about all others."""
    return min(max(value, -_INT64_MAX), _INT64_MAX)


def state_of(asked: int) -> JobState | None:
    """Return the state that a message names; None for any. Raises ValueError."""
    if asked == job_pb2.JOB_STATE_UNSPECIFIED:
        return None
    if asked not in _OF_NUMBERS:
        raise ValueError(f"state={asked}: this coordinator knows no such state")
    return _OF_NUMBERS[asked]


def order_of_number(asked: int) -> GroupOrder:
    """Return the order that a message names. Raises ValueError."""
    orders: dict[Any, GroupOrder] = {
        job_pb2.GROUP_ORDER_UNSPECIFIED: GroupOrder.SIZE,
        job_pb2.GROUP_ORDER_SIZE: GroupOrder.SIZE,
        job_pb2.GROUP_ORDER_AGE: GroupOrder.AGE,
    }
    if asked not in orders:
        raise ValueError(f"order={asked}: this coordinator knows no such order")
    return orders[asked]


def job(status: JobStatus) -> job_pb2.Job:
    """Return a job that was found."""
    task, error = status.task or "", status.error
    return job_pb2.Job(
        job_id=text(status.job_id),
        state=number_of_state(status.state),
        partition=partition_at(status.partition),
        pool=status.pool or "",
        task=text(task),
        partition_key=b"" if status.group is None else key_in(status.group),
        tenant=text(status.tenant or ""),
        enqueued_ms=None if status.enqueued_ms is None else number(status.enqueued_ms),
        at_ms=None if status.at_ms is None else number(status.at_ms),
        attempts=number(status.attempts),
        crashes=number(status.crashes),
        error=None if error is None else _error(task, error),
    )


def _error(task: str, error: ErrorRecord) -> job_pb2.JobError:
    return job_pb2.JobError(
        reason=text(error.reason), type=text(error.type), fingerprint=fingerprint(task, error)
    )


def running_job(one: RunningJob) -> job_pb2.RunningJob:
    """Return a job that runs."""
    return job_pb2.RunningJob(job=job(one.job), age_s=one.age_s, usual_s=one.usual_s, slow=one.slow)


def number_of_state(state: JobState) -> Any:
    """Return the number of a state; that of none for one that a message cannot name."""
    return _STATES.get(state, job_pb2.JOB_STATE_UNSPECIFIED)


def dead_digest(digest: Digest) -> job_pb2.DeadDigest:
    """Return the dead jobs in short."""
    return job_pb2.DeadDigest(
        dead=number(digest.dead),
        oldest_ms=None if digest.oldest_ms is None else number(digest.oldest_ms),
        newest_ms=None if digest.newest_ms is None else number(digest.newest_ms),
        tasks=map(_job_count, digest.tasks),
        reasons=map(_job_count, digest.reasons),
        errors=map(error_count, digest.errors),
        exact=digest.is_exact,
    )


def _job_count(one: tuple[str, int]) -> job_pb2.JobCount:
    return job_pb2.JobCount(name=text(one[0]), jobs=number(one[1]))


def job_change(done: Changed) -> job_pb2.JobChange:
    """Return what a replay or a discard did."""
    return job_pb2.JobChange(
        matched=number(done.matched),
        changed=number(done.changed),
        kept_out=map(text, done.kept_out),
        until_ms=None if done.until_ms is None else number(done.until_ms),
        more=done.more,
    )


def past_run(run: PastRun) -> job_pb2.PastRun:
    """Return an execution that ended."""
    return job_pb2.PastRun(
        job_id=text(run.job_id),
        task=text(run.task),
        attempt=number(run.attempt),
        end=str(run.end),
        ended_ms=number(run.ended_ms),
        waited_s=run.waited_s,
        ran_s=run.ran_s,
        reason=text(run.reason),
        type=text(run.type),
    )


def error_count(one: ErrorCount) -> job_pb2.ErrorCount:
    """Return how many jobs have an error."""
    error = job_pb2.JobError(
        reason=text(one.reason), type=text(one.type), fingerprint=one.fingerprint
    )
    return job_pb2.ErrorCount(
        task=text(one.task),
        error=error,
        dead=number(one.dead),
        retrying=number(one.retrying),
        first_ms=None if one.first_ms is None else number(one.first_ms),
        last_ms=None if one.last_ms is None else number(one.last_ms),
        example=text(one.example),
        exact=one.is_exact,
    )


def group_load(one: GroupLoad) -> job_pb2.GroupLoad:
    """Return a group in a list."""
    return job_pb2.GroupLoad(
        partition_key=key_in(one.group),
        tenant=text(one.tenant or ""),
        partition=one.partition,
        pool=one.pool or "",
        total=number(one.total),
        left=number(one.left),
        delayed=number(one.delayed),
        parked=number(one.parked),
        dead=number(one.dead),
        created_ms=number(one.created_ms),
        held_since_ms=None if one.held_ms is None else number(one.held_ms),
    )
