"""Handles on single jobs: their result, status and cancellation, without naming the key."""

from __future__ import annotations

from typing import Any, Generic, cast

from queuepool.client.effects import Steps
from queuepool.client.endings import outlook, raise_for_state
from queuepool.client.locating import find_by_key
from queuepool.client.network import AsyncNetwork, Network
from queuepool.client.questions import ask, find, following
from queuepool.client.routes import Route
from queuepool.client.waiting import wait_for
from queuepool.errors import MovedError
from queuepool.models import EnqueueStatus, JobId, JobState, JobStatus
from queuepool.models.places import DEFAULT_POOL
from queuepool.routing.views import View
from queuepool.tasks.job import R_co
from queuepool.tasks.registry import Task
from queuepool.verbs.producer import verbs as produce

_ENDED = (JobState.DONE, JobState.DEAD, JobState.CANCELLED, JobState.EXPIRED)


class _Handle(Generic[R_co]):
    """What the handles of both pools share.

    partition: the number of its partition; None until it is found, for a handle created from an id
    alone. enqueue_status: the outcome of the enqueue, if that created the handle.
    """

    __slots__ = ("_network", "_of", "_pool", "_route", "enqueue_status", "job_id", "partition")
    _network: Any

    def __init__(
        self,
        network: Any,
        job_id: JobId,
        partition: int | None,
        of: Task | None = None,
        enqueue_status: EnqueueStatus | None = None,
        route: Route | None = None,
    ) -> None:
        self._network, self.job_id, self.partition = network, job_id, partition
        self._of, self.enqueue_status = of, enqueue_status
        self._pool = DEFAULT_POOL if of is None else of.pool  # where to look first
        self._route = route  # of its group, if its key was given

    @property
    def accepted(self) -> bool:
        """Return whether the call that made this handle enqueued the job; False for a duplicate."""
        return self.enqueue_status is EnqueueStatus.ACCEPTED

    def _status(self) -> Steps[JobStatus]:
        return (yield from following(self._network.config, self._status_by))

    def _status_by(self, view: View) -> Steps[JobStatus]:
        config, partition = self._network.config, self.partition
        if partition is None:
            status = yield from find(config, view, self.job_id)
        else:
            place = (partition, self.job_id, self._pool, self._route)
            status = yield from find_by_key(config, view, *place)
            if status.state is JobState.UNKNOWN and view.version > 1:  # it may have moved
                status = yield from find(config, view, self.job_id)
        if status.state is not JobState.UNKNOWN:
            self.partition, self._pool = status.partition, status.pool or DEFAULT_POOL
        return status

    def _result(self, timeout_s: float) -> Steps[R_co]:
        wait = wait_for(self._status, timeout_s, has_ended=raise_for_state, left=outlook)
        status = yield from wait
        return self._result_of(status)

    def _result_of(self, status: JobStatus) -> R_co:
        if self._of is None:
            return cast("R_co", status.result)
        return cast("R_co", self._of.signature.read_result(status.result))

    def _cancel(self) -> Steps[JobState]:
        return (yield from following(self._network.config, self._cancel_by))

    def _cancel_by(self, view: View) -> Steps[JobState]:
        if view.moving:
            status = yield from self._status_by(view)
            if status.slot in view.moving:  # it may be in two places: wait
                raise MovedError(view.version)
        if self.partition is None:
            yield from self._status_by(view)
        if self.partition is None:
            return JobState.UNKNOWN
        config, place = self._network.config, (self.partition, self._pool)
        verb = produce.cancel(self.job_id, view.version)
        state = yield from ask(config.of(self._pool), self.partition, verb)
        if state is JobState.UNKNOWN:
            status = yield from self._status_by(view)
            if status.state in _ENDED:  # perhaps by a first try of this call
                return status.state
            if (self.partition, self._pool) != place:
                state = yield from ask(config.of(self._pool), self.partition, verb)
        return state

    def __repr__(self) -> str:
        parts = [f"job_id={str(self.job_id)!r}"]
        if self.partition is not None:
            parts.append(f"partition={self.partition}")
        if self.enqueue_status is not None:
            parts.append(f"enqueue_status={str(self.enqueue_status)!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class JobHandle(_Handle[R_co]):
    """A handle on one job: `result()`, `status()`, `cancel()`. Each call asks the server.

    Thread-safe.
    """

    __slots__ = ()
    _network: Network

    def status(self) -> JobStatus:
        """Return where the job is."""
        return self._network.do(self._status())

    def result(self, *, timeout_s: float = 30.0) -> R_co:
        """Wait for the job to end; return its result, converted to the task's return type.

        Raises JobDiedError, JobCancelled, JobExpired, or WaitTimeoutError: it may still finish,
        unless its server does not know it. UnavailableError: its server does not answer.
        """
        return self._network.do(self._result(timeout_s))

    def cancel(self) -> JobState:
        """Cancel the job; returns the state it was in, as QueuePool.cancel does."""
        return self._network.do(self._cancel())


class AsyncJobHandle(_Handle[R_co]):
    """A handle on one job; the asyncio twin of JobHandle."""

    __slots__ = ()
    _network: AsyncNetwork

    async def status(self) -> JobStatus:
        """Return where the job is."""
        return await self._network.do(self._status())

    async def result(self, *, timeout_s: float = 30.0) -> R_co:
        """Wait for the job to end; return its result, as JobHandle.result does."""
        return await self._network.do(self._result(timeout_s))

    async def cancel(self) -> JobState:
        """Cancel the job; returns the state it was in."""
        return await self._network.do(self._cancel())
