"""A job to enqueue, and the result of enqueueing it. Pure.

Both carry the type of the job's result if the task is known: `Job[str]`, `Enqueued[str]`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Unpack

from queuepool.errors import InvalidInputError
from queuepool.models import in_words
from queuepool.tasks.limiting import LimitOption
from queuepool.tasks.options import JobOptions, refuse_unknown, spelled_out

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from queuepool.client.handles import AsyncJobHandle, JobHandle
    from queuepool.models import EnqueueStatus, JobId, JobState, JobStatus, Tier
    from queuepool.tasks.typed import TaskFunction

    R_co = TypeVar("R_co", covariant=True, default=Any)
else:  # a default needs Python 3.13, or a library
    R_co = typing.TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Job(Generic[R_co]):
    """One job to enqueue. None: the option of the call, else that of the task.

    Created by `write_row.job(id=1, name="Ada")`, which knows its task and the types of the
    arguments and the result. A payload alone also works if the call names the task. delay: a
    timedelta, or seconds; delay_s: seconds. unique: keeps a second job with this key out of the
    partition until this one's "end", or "start" (unique_until). expires_s: it starts within this
    time, or never. limit: as for `@task`; () for none. tenant: whose turns
    the job uses. pool: the worker pool that runs it.
    """

    payload: Mapping[str, Any]
    partition_key: str | bytes | None = None
    job_id: str | None = None
    tier: Tier | int | str | None = None
    delay_s: float | None = None
    max_attempts: int | None = None
    timeout_s: float | None = None
    delay: timedelta | float | None = None
    task: str | TaskFunction[..., ..., Any, R_co] | None = None
    unique: str | bytes | None = None
    expires_s: float | None = None
    unique_until: str | None = None
    on_conflict: str | None = None
    limit: LimitOption | None = None
    tenant: str | None = None
    pool: str | None = None

    @spelled_out(JobOptions, partition_key=None, job_id=None)
    def with_options(self, **options: Unpack[JobOptions]) -> Job[R_co]:
        """Return the same job with these options; None leaves an option unchanged.

        greet.job(name="Ada").with_options(tier="high", delay=timedelta(minutes=5))
        """
        refuse_unknown("with_options", options, JobOptions)
        changes: dict[str, Any] = {name: v for name, v in options.items() if v is not None}
        if "delay" in changes and "delay_s" in changes:
            raise InvalidInputError("use delay or delay_s, not both")
        if "delay" in changes or "delay_s" in changes:
            changes = {"delay": None, "delay_s": None} | changes
        return replace(self, **changes)


class _Bound:
    """What an Enqueued has besides its fields: access to its job, which is not data."""

    __slots__ = ("reach",)
    reach: Callable[[Enqueued[Any]], Any] | None


@dataclass(frozen=True, slots=True)
class Enqueued(_Bound, Generic[R_co]):
    """The result of enqueueing one job, with access to the job itself.

    status: the immediate outcome of the enqueue; CONFLICT: this is the job that already existed.
    `job_status()` returns where the job is now.
    """

    job_id: JobId
    status: EnqueueStatus
    partition: int

    def __repr__(self) -> str:
        return in_words(self, ("job_id", "status", "partition"))

    @property
    def job(self) -> JobHandle[R_co]:
        """Return the handle of the job."""
        reach = getattr(self, "reach", None)
        if reach is None:
            raise InvalidInputError(
                f"this handle has no pool for job {self.job_id}: use pool.job(job_id, "
                "partition_key=...)"
            )
        handle: JobHandle[R_co] = reach(self)
        return handle

    def result(self, *, timeout_s: float = 30.0) -> R_co:
        """Wait for the job to end; return its result.

        Raises JobDiedError, JobCancelled, JobExpired, or WaitTimeoutError after timeout_s.
        """
        return self.job.result(timeout_s=timeout_s)

    def job_status(self) -> JobStatus:
        """Return where the job is now."""
        return self.job.status()

    def cancel(self) -> JobState:
        """Cancel the job; returns the state it was in, as QueuePool.cancel does."""
        return self.job.cancel()


def bound(enqueued: Enqueued[R_co], reach: Callable[[Enqueued[Any]], Any] | None) -> Enqueued[R_co]:
    """Give a new Enqueued access to its job in place, and return it."""
    object.__setattr__(enqueued, "reach", reach)
    return enqueued


class AsyncEnqueued(Enqueued[R_co]):
    """An Enqueued of AsyncQueuePool: methods that ask the server are awaited."""

    __slots__ = ()

    @property
    def job(self) -> AsyncJobHandle[R_co]:  # type: ignore[override]  # its twin, awaited
        """Return the handle of the job."""
        handle: Any = super().job
        found: AsyncJobHandle[R_co] = handle
        return found

    async def result(  # type: ignore[override]  # its twin, awaited
        self, *, timeout_s: float = 30.0
    ) -> R_co:
        """Wait for the job to end; return its result, as Enqueued.result does."""
        return await self.job.result(timeout_s=timeout_s)

    async def job_status(self) -> JobStatus:  # type: ignore[override]  # its twin, awaited
        """Return where the job is now."""
        return await self.job.status()

    async def cancel(self) -> JobState:  # type: ignore[override]  # its twin, awaited
        """Cancel the job; returns the state it was in."""
        return await self.job.cancel()
