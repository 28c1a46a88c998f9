"""Handles on one task group, sync and asyncio: a bulk action as its producer sees it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queuepool.client.retrying import check_wait
from queuepool.errors import JobCancelled, JobError, WaitTimeoutError
from queuepool.errors.escaping import key_text, visible
from queuepool.models import GroupStatus, JobState, JobStatus
from queuepool.partitions.partition import Partition
from queuepool.routing.slots import key_bytes
from queuepool.verbs.producer import verbs as produce

if TYPE_CHECKING:
    from queuepool.client.async_pool import AsyncQueuePool
    from queuepool.client.producer import Route

OnProgress = Callable[[GroupStatus], None]


class JobDiedError(JobError):
    """The job whose result was wanted is dead; `status.error` says why."""

    def __init__(self, status: JobStatus) -> None:
        self.status = status
        e = status.error
        why = f"{e.type}: {e.message}" if e and e.type else (e.reason if e else "unknown")
        why = visible(why)  # a handler wrote it, or whoever may write to the server
        super().__init__(
            f"job {status.job_id} is dead after {status.attempts} attempts: {why}. "
            "`queuepool dead show` has the details, `queuepool dead replay` runs it again."
        )


def raise_for_state(status: JobStatus) -> bool:
    """Return whether a job is done; raise JobDiedError or JobCancelled when it ended otherwise."""
    if status.state is JobState.DEAD:
        raise JobDiedError(status)
    if status.state is JobState.CANCELLED:
        raise JobCancelled(f"job {status.job_id} was cancelled")
    return status.state is JobState.DONE


class _Waiting:
    """When a wait for a group looks again, and when it has waited long enough."""

    def __init__(
        self, partition_key: str | bytes, timeout_s: float | None, on_progress: OnProgress | None
    ) -> None:
        if timeout_s is not None:
            check_wait("timeout_s", timeout_s)
        self._key, self._timeout_s, self._on_progress = partition_key, timeout_s, on_progress
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._pause_s = 0.005

    def pause_s(self, status: GroupStatus) -> float | None:
        """Tell of a status; return when to look again, None when all jobs have ended.

        Raises WaitTimeoutError.
        """
        if self._on_progress is not None:
            self._on_progress(status)
        if status.left == 0:
            return None
        pause_s, self._pause_s = self._pause_s, min(0.25, self._pause_s * 1.5)
        if self._deadline is not None and time.monotonic() + pause_s > self._deadline:
            raise WaitTimeoutError(
                f"{status.left:,} of {status.total:,} jobs of group {self._key!r} "
                f"are left after {self._timeout_s:g} s; they go on without you"
            )
        return pause_s


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """All jobs that share a partition key. Holds no state: every answer is asked anew."""

    partition: Partition
    group: bytes
    partition_key: str | bytes

    def status(self) -> GroupStatus:
        """Count the group's jobs by state.

        Totals of an ended group are kept for a minute a job, at most a day; then all is 0.
        """
        return self.partition.group(self.group)

    def wait(
        self,
        *,
        timeout_s: float | None = None,
        show: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupStatus:
        """Wait until every job of the group has ended; return the totals.

        Ended is not done: look at `died` and `cancelled` of what is returned. show: draw a
        progress bar on standard error; None: when that is a terminal. on_progress:
        called with each new status. Raises WaitTimeoutError; the group goes on.
        """
        from queuepool.client.progress_bar import progress_bar  # rich is imported only here

        waiting, status = _Waiting(self.partition_key, timeout_s, on_progress), self.status()
        with progress_bar(show, key_text(key_bytes(self.partition_key))) as draw:
            while True:
                draw(status)
                pause_s = waiting.pause_s(status)
                if pause_s is None:
                    return status
                threading.Event().wait(pause_s)
                status = self.status()

    def cancel(self) -> tuple[int, int]:
        """Cancel the jobs that the group has now; returns (cancelled, running ones asked to stop).

        Jobs enqueued afterwards are not touched.
        """
        return self.partition.cancel_group(self.group)


class AsyncTaskGroup:
    """All jobs that share a partition key; the asyncio twin of TaskGroup."""

    def __init__(self, pool: AsyncQueuePool, route: Route, partition_key: str | bytes) -> None:
        self._pool, self._route, self.partition_key = pool, route, partition_key

    async def status(self) -> GroupStatus:
        """Count the group's jobs by state."""
        return await self._pool.run_verb(self._route.partition, produce.group(self._route.group))

    async def wait(
        self,
        *,
        timeout_s: float | None = None,
        show: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupStatus:
        """Wait until every job of the group has ended; return the totals."""
        from queuepool.client.progress_bar import progress_bar

        waiting, status = _Waiting(self.partition_key, timeout_s, on_progress), await self.status()
        with progress_bar(show, key_text(key_bytes(self.partition_key))) as draw:
            while True:
                draw(status)
                pause_s = waiting.pause_s(status)
                if pause_s is None:
                    return status
                await asyncio.sleep(pause_s)
                status = await self.status()

    async def cancel(self) -> tuple[int, int]:
        """Cancel the group's jobs of now; returns (cancelled, running ones asked to stop)."""
        cursor, cancelled, asked = b"start", 0, 0
        while cursor:
            verb = produce.cancel_group(self._route.group, cursor)
            cursor, n, m = await self._pool.run_verb(self._route.partition, verb)
            cancelled, asked = cancelled + n, asked + m
        return cancelled, asked


def describe(status: GroupStatus) -> dict[str, Any]:
    """Return a status as plain data for JSON."""
    names = (
        *("total", "ready", "delayed", "in_flight", "done", "dead", "cancelled"),
        *("evicted", "discarded"),
    )
    return {name: getattr(status, name) for name in names} | {"progress": status.progress}
