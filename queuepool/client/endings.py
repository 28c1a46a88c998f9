"""How a job that someone waits for has ended."""

from __future__ import annotations

from queuepool.errors import JobCancelled, JobError, JobExpired
from queuepool.errors.escaping import visible
from queuepool.models import JobState, JobStatus
from queuepool.models.jobs import ErrorRecord

_UNKNOWN = (
    "it ended so long ago that its outcome is no longer kept, was never enqueued, or its server "
    "lost it: unless it is enqueued yet, waiting longer does not help"
)


class JobDiedError(JobError):
    """The awaited job is dead; `status.error` says why."""

    def __init__(self, status: JobStatus) -> None:
        self.status = status
        e = status.error
        why = f"{e.type}: {e.message}" if e and e.type else (e.reason if e else "unknown")
        why = visible(why)  # written by a handler, or by anyone who may write to the server
        super().__init__(
            f"job {status.job_id} is dead after {status.attempts} attempts: {why}. `queuepool "
            "dead show` shows the details, `queuepool dead replay` runs it again."
        )


def raise_for_state(status: JobStatus) -> bool:
    """Return whether a job is done; raise what says how it ended otherwise."""
    if status.state is JobState.DEAD:
        raise JobDiedError(status)
    if status.state is JobState.CANCELLED:
        raise JobCancelled(f"job {status.job_id} was cancelled")
    if status.state is JobState.EXPIRED:
        raise JobExpired(f"job {status.job_id} did not start before it expired")
    return status.state is JobState.DONE


def outlook(status: JobStatus) -> str:
    """Return what is known about a job that has not ended, for people who wait no longer."""
    text = f"job {status.job_id} is {status.state}"
    if status.state is JobState.UNKNOWN:
        return f"{text}; {_UNKNOWN}"
    if status.error is not None:
        text += f", {visible(_why_not_yet(status.error))}"
    elif status.state is JobState.READY:
        text += ", no consumer has started it (`queuepool status` shows whether one runs)"
    return f"{text}; it may still finish"


def _why_not_yet(error: ErrorRecord) -> str:
    if error.reason == "unknown-task":
        return error.message or error.reason
    return f"after {error.type}: {error.message}" if error.type else f"after {error.reason}"
