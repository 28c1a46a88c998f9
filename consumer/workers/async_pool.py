"""The async pool: thousands of coroutines on one event loop, without a thread per job.

    submit -> waiting --a slot is free--> running on the loop -> ended
                 ^                            |
      withdraw --+        shrinking: fewer slots are given out, nothing that runs is interrupted

A slot is only a number and costs nothing until a job uses it. The event loop is shared by all
async handlers (consumer.workers.event_loop): a handler that breaks it fails the jobs running on it,
and the next job gets a new loop. A timeout cancels a handler at its next await. A handler that
blocks the loop blocks every job of the pool, and nothing can stop it.

Invariants
  A1 A job is waiting, running, or ended. At most `target` jobs run, except those already running
     when the pool shrank.
  A2 One thread at a time assigns slots. A thread that finds another one assigning returns: the
     other checks again after it has released the lock.
"""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError as LoopCancelledError
from concurrent.futures import Future
from functools import partial

from consumer.core.jobs import ClaimedJob, Outcome
from consumer.workers.base import Pool
from consumer.workers.event_loop import Exit, HandlerLoop, limited
from consumer.workers.forks import Origin
from consumer.workers.runner import Attempt, Runner

_FROM_WITHIN = "the handler was cancelled from within"


class AsyncPool(Pool[Runner]):
    """Runs jobs as coroutines."""

    def __init__(self, runner: Runner, handlers: HandlerLoop, ring: Callable[[], None]) -> None:
        super().__init__(runner, ring)
        self._handlers = handlers
        self._waiting: deque[ClaimedJob] = deque()
        self._running: dict[ClaimedJob, Attempt | None] = {}
        self._giving = threading.Lock()
        self._origin = Origin()
        self._target = 0

    @property
    def alive(self) -> int:
        """Return how many slots there are; above the target while surplus ones end their job."""
        return max(self._target, len(self._running))

    @property
    def target(self) -> int:
        """Return how many slots there should be."""
        return self._target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a slot."""
        return len(self._waiting)

    def resize(self, target: int) -> None:
        """Set the number of slots; surplus ones disappear as their jobs end."""
        self._target = target
        self._give_slots()

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the loop, in order. Never waits."""
        self._waiting.extend(jobs)
        self._give_slots()

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that have not started, in order."""
        jobs: list[ClaimedJob] = []
        while (job := self._next()) is not None:
            jobs.append(job)
        return jobs

    def close(self, timeout_s: float) -> bool:  # noqa: ARG002 - nothing to wait for
        """Remove all slots; returns whether no job is running.

        Running jobs end with the event loop, which belongs to the caller.
        """
        self.resize(0)
        return not self._running

    def _next(self) -> ClaimedJob | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def _give_slots(self) -> None:
        while self._waiting and len(self._running) < self._target:
            if not self._giving.acquire(blocking=False):
                return  # see A2
            try:
                while len(self._running) < self._target and (job := self._next()) is not None:
                    self._begin(job)
            finally:
                self._giving.release()

    def _begin(self, job: ClaimedJob) -> None:
        self._running[job] = None
        try:
            future = self._handlers.begin(self._execute(job))
        except RuntimeError as error:
            self._end(job, self._failed(job, error))
        else:
            future.add_done_callback(partial(self._on_done, job))

    async def _execute(self, job: ClaimedJob) -> Outcome:
        attempt = self._runner.begin(job)
        if not isinstance(attempt, Attempt):
            return attempt
        self._running[job] = attempt
        try:
            if not attempt.task.is_async:
                raise RuntimeError(
                    f"task {attempt.task.name!r} is a plain function, and its pool is of kind "
                    "async: make it `async def`, or name a pool of threads or processes"
                )
            if attempt.span is not None:
                attempt.span.enter()  # of this coroutine, whose context ends with it
            made = attempt.task.function(**self._runner.arguments(attempt))
            value = await limited(made, attempt.timeout_s, self._origin)
            if isinstance(value, Exit):
                return attempt.failed(value.error)
            return attempt.returned(value)
        except CancelledError:
            return attempt.failed(RuntimeError(_FROM_WITHIN))
        except BaseException as error:  # a handler may raise anything; the loop continues
            self._origin.leave_if_forked(error)
            return attempt.failed(error)

    def _on_done(self, job: ClaimedJob, future: Future[Outcome]) -> None:
        try:
            outcome = future.result()
        except LoopCancelledError:
            outcome = self._failed(job, RuntimeError(_FROM_WITHIN))
        except BaseException as error:  # the loop ended with the job
            outcome = self._failed(job, error)
        self._end(job, outcome)
        self._give_slots()

    def _failed(self, job: ClaimedJob, error: BaseException) -> Outcome:
        attempt = self._running[job]
        return self._runner.failed(job, error) if attempt is None else attempt.failed(error)

    def _end(self, job: ClaimedJob, outcome: Outcome) -> None:
        self._ended.append(outcome)
        del self._running[job]
        self._ring()
