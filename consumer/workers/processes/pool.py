"""The process pool: each job runs in a child process, which can be killed.

    submit -> waiting --a child is idle--> running in it -> ended
                 ^                           |
      withdraw --+                           +-- deadline or memory limit: SIGKILL

The loop submits, withdraws and resizes without waiting. One thread of the pool, its supervisor,
owns all children (consumer.workers.processes.supervisor).

    the child                                its job
    reports the outcome                      ends as it would in a thread
    reaches the deadline and is killed       fails: timeout
    exceeds its memory limit and is killed   fails: crashed
    segfaults, calls os._exit, is killed     fails: crashed

`crashed` is charged as a failed attempt, with the task's backoff. When a consumer crashes, any of
its jobs may be the cause; here it is known which one, so no other job becomes a suspect.

Invariants
  P1 A job is waiting, in exactly one child, or ended. It ends when its child has reported it or is
     gone, never while it may still run, so a retry cannot overlap it.
  P2 At most `target` jobs run, except those already running when the pool shrank. Surplus children
     exit between two jobs.
  P3 Jobs are claimed only for children that are ready: `spare` is negative while some start.
  P4 A child that dies is replaced at once. If it dies before it is ready, the next start is delayed
     with a growing backoff, so an application that cannot be imported costs little.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from time import monotonic

from consumer.core.jobs import ClaimedJob, Outcome
from consumer.workers.base import Pool
from consumer.workers.processes.bounds import Bounds
from consumer.workers.processes.frames import Start
from consumer.workers.processes.supervisor import Supervisor
from consumer.workers.runner import Runner


class ProcessPool(Pool[Runner]):
    """Child processes that run jobs. `ring` is also called when a child becomes ready."""

    def __init__(
        self, runner: Runner, start: Start, bounds: Bounds, ring: Callable[[], None]
    ) -> None:
        super().__init__(runner, ring)
        self._waiting: deque[ClaimedJob] = deque()
        self._supervisor = Supervisor(
            runner, start, bounds, take=self._take, end=self._end, ring=ring
        )

    @property
    def alive(self) -> int:
        """Return how many children are ready or run a job; above the target when it shrank."""
        return self._supervisor.alive

    @property
    def target(self) -> int:
        """Return the target number of children."""
        return self._supervisor.target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a child."""
        return len(self._waiting)

    @property
    def spare(self) -> int:
        """Return the number of children beyond the target; negative while some start."""
        return min(0, self.alive - self.target)

    @property
    def replaced(self) -> Counter[str]:
        """Return how many children ended, by cause: crashed, timeout, memory, max_jobs, resized."""
        return self._supervisor.replaced

    def resize(self, target: int) -> None:
        """Set the number of children; surplus ones exit after their job. Raises NoThreadError."""
        self._supervisor.resize(target)

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the children, in order."""
        if jobs:
            self._waiting.extend(jobs)
            self._supervisor.wake()

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that no child has, in order."""
        jobs: list[ClaimedJob] = []
        while (job := self._take()) is not None:
            jobs.append(job)
        return jobs

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call."""
        if self._supervisor.broken is not None:
            text = "the process pool failed, and its jobs cannot end"
            raise RuntimeError(text) from self._supervisor.broken
        return super().take_ended()

    def close(self, timeout_s: float) -> bool:
        """Let idle children exit for up to timeout_s, then kill the rest. Idempotent."""
        self._supervisor.stop(monotonic() + timeout_s)
        return True

    def _take(self) -> ClaimedJob | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def _end(self, outcome: Outcome) -> None:
        self._ended.append(outcome)
        self._ring()
