"""The pool of coroutines: thousands of slots on one event loop, and no thread a job.

    submit -> waiting --a slot is free--> running on the loop -> ended
                 ^                            |
      withdraw --+        shrinking: fewer slots are given out, nothing that runs is interrupted

A slot is a number, so it costs nothing until a job has it. The loop is that of all async handlers
(consumer.workers.event_loop): one that breaks it fails the jobs that ran on it, and the next job
gets another. A timeout cancels a handler at its next await; one that blocks the loop keeps all jobs
of the pool waiting, and nothing can end it.

Invariants
  A1 a job is in exactly one of waiting, running, ended; `_running` never has more than `target`
     jobs but for those that ran when the pool shrank.
  A2 one thread at a time gives out slots. Whoever finds another doing so leaves: that one looks
     again after it has let go.
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
    """Coroutines that run jobs."""

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
        """Have `target` slots: new ones at once, surplus ones until their job has ended."""
        self._target = target
        self._give_slots()

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the loop, in order. Never waits."""
        self._waiting.extend(jobs)
        self._give_slots()

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that have no slot yet, in order."""
        jobs: list[ClaimedJob] = []
        while (job := self._next()) is not None:
            jobs.append(job)
        return jobs

    def close(self, timeout_s: float) -> bool:  # noqa: ARG002 - nothing here is waited for
        """Have no slots any more; returns whether nothing runs.

        What still does, ends with the loop, which is the caller's.
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
            made = attempt.task.function(**self._runner.arguments(attempt))
            value = await limited(made, attempt.timeout_s, self._origin)
            if isinstance(value, Exit):
                return attempt.failed(value.error)
            return attempt.returned(value)
        except CancelledError:
            return attempt.failed(RuntimeError(_FROM_WITHIN))
        except BaseException as error:  # a handler may raise anything; the loop lives on
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
        attempt = self._running[job] or self._runner.begin(job)
        return attempt.failed(error) if isinstance(attempt, Attempt) else attempt

    def _end(self, job: ClaimedJob, outcome: Outcome) -> None:
        self._ended.append(outcome)
        del self._running[job]
        self._ring()
