"""One execution of a job, as hooks see it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from queuepool.models.jobs import ErrorRecord


class RunEnd(StrEnum):
    """How an execution ended."""

    DONE = "done"
    FAILED = "failed"  # and the job will be retried
    DEAD = "dead"  # failed, and the job will not be retried
    LATER = "later"  # it asked to run later: no failure
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One execution of a job: what hooks are called with.

    started_at: time.time(). trace_id: of the OpenTelemetry trace that shows it, if one does. notes:
    one dict for all hooks of the execution, which stays empty otherwise. From `end` on, parts are
    None before the end. next_try_s: how long until the job is due again, if it will be. error: why
    it failed. exception: what the handler raised, if it ran in this process and few failures wait
    for their hooks.
    """

    job_id: str
    task: str
    group: bytes
    tenant: str | None
    partition: int
    attempt: int
    max_attempts: int
    waited_s: float
    started_at: float
    trace_id: str | None = None
    notes: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    end: RunEnd | None = None
    ran_s: float | None = None
    next_try_s: float | None = None
    error: ErrorRecord | None = None
    exception: BaseException | None = field(default=None, repr=False, compare=False)
