"""Handles on single jobs: ask for the result, the status, or to cancel, without naming the key."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, cast

from queuepool.client.group import raise_for_state
from queuepool.client.retrying import check_wait
from queuepool.errors import WaitTimeoutError
from queuepool.models import EnqueueStatus, JobId, JobState, JobStatus
from queuepool.partitions.partition import Partition
from queuepool.tasks.job import R_co
from queuepool.tasks.registry import Task
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce

if TYPE_CHECKING:
    from collections.abc import Awaitable

    RunVerb = Callable[[int, Verb[Any]], Awaitable[Any]]
    AsyncFind = Callable[[str], Awaitable[JobStatus]]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.25


class _Handle(Generic[R_co]):
    """What handles of both pools know.

    partition: the number of its partition; None until that is found, for a handle made of an id
    alone. enqueue_status: the answer to the enqueue, if that made the handle.
    """

    __slots__ = ("_of", "enqueue_status", "job_id", "partition")

    def __init__(
        self,
        job_id: JobId,
        partition: int | None,
        of: Task | None,
        enqueue_status: EnqueueStatus | None,
    ) -> None:
        self.job_id, self.partition = job_id, partition
        self._of, self.enqueue_status = of, enqueue_status

    @property
    def accepted(self) -> bool:
        """Return whether the call that made this handle enqueued the job; False for a duplicate."""
        return self.enqueue_status is EnqueueStatus.ACCEPTED

    def _found(self, status: JobStatus) -> JobStatus:
        if status.state is not JobState.UNKNOWN:
            self.partition = status.partition
        return status

    def _result_of(self, status: JobStatus) -> R_co:
        if self._of is None:
            return cast("R_co", status.result)
        return cast("R_co", self._of.signature.read_result(status.result))

    def __repr__(self) -> str:
        parts = [f"job_id={str(self.job_id)!r}"]
        if self.partition is not None:
            parts.append(f"partition={self.partition}")
        if self.enqueue_status is not None:
            parts.append(f"enqueue_status={str(self.enqueue_status)!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class JobHandle(_Handle[R_co]):
    """One job, to ask for: `result()`, `status()`, `cancel()`. Every answer is asked anew.

    Thread-safe.
    """

    __slots__ = ("_find", "_reach")

    def __init__(
        self,
        job_id: JobId,
        partition: int | None,
        reach: Callable[[int], Partition],
        find: Callable[[str], JobStatus],
        *,
        of: Task | None = None,
        enqueue_status: EnqueueStatus | None = None,
    ) -> None:
        super().__init__(job_id, partition, of, enqueue_status)
        self._reach, self._find = reach, find

    def status(self) -> JobStatus:
        """Tell where the job is."""
        if self.partition is None:
            return self._found(self._find(self.job_id))
        return self._reach(self.partition).status(self.job_id)

    def result(self, *, timeout_s: float = 30.0) -> R_co:
        """Wait for the job to end; return its result, as what its task is annotated to return.

        Raises JobDiedError, JobCancelled, or WaitTimeoutError: the job may still finish.
        """
        deadline = time.monotonic() + check_wait("timeout_s", timeout_s)
        pause = _FIRST_PAUSE_S
        while True:
            status = self.status()
            if raise_for_state(status):
                return self._result_of(status)
            if time.monotonic() + pause > deadline:
                raise _still(status, timeout_s)
            threading.Event().wait(pause)
            pause = min(_LONGEST_PAUSE_S, pause * 1.5)

    def cancel(self) -> JobState:
        """Cancel the job; returns the state it was in, as QueuePool.cancel does."""
        if self.partition is None:
            self.status()
        if self.partition is None:
            return JobState.UNKNOWN
        return self._reach(self.partition).cancel(self.job_id)


class AsyncJobHandle(_Handle[R_co]):
    """One job, to ask for; the asyncio twin of JobHandle."""

    __slots__ = ("_find", "_run")

    def __init__(
        self,
        job_id: JobId,
        partition: int | None,
        run: RunVerb,
        find: AsyncFind,
        *,
        of: Task | None = None,
        enqueue_status: EnqueueStatus | None = None,
    ) -> None:
        super().__init__(job_id, partition, of, enqueue_status)
        self._run, self._find = run, find

    async def status(self) -> JobStatus:
        """Tell where the job is."""
        if self.partition is None:
            return self._found(await self._find(self.job_id))
        verb = produce.status(self.job_id, self.partition)
        return cast(JobStatus, await self._run(self.partition, verb))

    async def result(self, *, timeout_s: float = 30.0) -> R_co:
        """Wait for the job to end; return its result, as JobHandle.result does."""
        deadline = time.monotonic() + check_wait("timeout_s", timeout_s)
        pause = _FIRST_PAUSE_S
        while True:
            status = await self.status()
            if raise_for_state(status):
                return self._result_of(status)
            if time.monotonic() + pause > deadline:
                raise _still(status, timeout_s)
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE_S, pause * 1.5)

    async def cancel(self) -> JobState:
        """Cancel the job; returns the state it was in."""
        if self.partition is None:
            await self.status()
        if self.partition is None:
            return JobState.UNKNOWN
        return cast(JobState, await self._run(self.partition, produce.cancel(self.job_id)))


def _still(status: JobStatus, timeout_s: float) -> WaitTimeoutError:
    return WaitTimeoutError(
        f"job {status.job_id} is {status.state} after {timeout_s:g} s; it may still finish"
    )
