"""The pool of processes: each job has a child of its own, which can be killed.

    submit -> waiting --a child is idle--> running in it -> ended
                 ^                           |
      withdraw --+                           +-- deadline, too much memory: SIGKILL

The loop submits, withdraws and resizes, and never waits; a thread of the pool, the keeper, has all
children (consumer.workers.processes.keeper).

    what a child does                         its job
    says how the job ended                    ends so, as in a thread
    is over the deadline, killed              fails: timeout
    is over its memory, killed                fails: crashed
    segfaults, os._exit, is killed by others  fails: crashed

`crashed` is charged as a failed attempt, with the backoff of its task: unlike the crash of a
consumer it is known whose it is, so no one else is suspected and no trial is needed.

Invariants
  P1 a job is in exactly one of waiting, one child, ended. It ends when its child said so or is
     gone, never while it may still run: a retry does not overlap it.
  P2 at most `target` jobs run, but for those that ran when the pool shrank. A child that is surplus
     ends between two jobs.
  P3 jobs are asked for only as children are ready: `spare` is what is missing of `target`.
  P4 children are replaced at once, but one that ends before it is ready: the next try waits, longer
     and longer, so that an application that cannot be imported costs little.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from time import monotonic

from consumer.core.jobs import ClaimedJob, Outcome
from consumer.workers.base import Pool
from consumer.workers.processes.bounds import Bounds
from consumer.workers.processes.frames import Start
from consumer.workers.processes.keeper import Keeper
from consumer.workers.runner import Runner


class ProcessPool(Pool[Runner]):
    """Children that run jobs. `ring` is called whenever an execution ended or a child is ready."""

    def __init__(
        self, runner: Runner, start: Start, bounds: Bounds, ring: Callable[[], None]
    ) -> None:
        super().__init__(runner, ring)
        self._waiting: deque[ClaimedJob] = deque()
        self._keeper = Keeper(runner, start, bounds, take=self._take, end=self._end, ring=ring)

    @property
    def alive(self) -> int:
        """Return how many children are ready or run a job; above the target when it shrank."""
        return self._keeper.alive

    @property
    def target(self) -> int:
        """Return how many children there should be."""
        return self._keeper.target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a child."""
        return len(self._waiting)

    @property
    def spare(self) -> int:
        """Return how many children are there beyond the target: below 0 while some start."""
        return min(0, self.alive - self.target)

    @property
    def replaced(self) -> Counter[str]:
        """Return how many children ended, by why: crashed, timeout, memory, max_jobs, resized."""
        return self._keeper.replaced

    def resize(self, target: int) -> None:
        """Have `target` children; surplus ones end after the job they run. Raises NoThreadError."""
        self._keeper.resize(target)

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the children, in order."""
        if jobs:
            self._waiting.extend(jobs)
            self._keeper.wake()

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that no child has, in order."""
        jobs: list[ClaimedJob] = []
        while (job := self._take()) is not None:
            jobs.append(job)
        return jobs

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call."""
        if self._keeper.broken is not None:
            text = "the process pool failed, and its jobs cannot end"
            raise RuntimeError(text) from self._keeper.broken
        return super().take_ended()

    def close(self, timeout_s: float) -> bool:
        """Let idle children end for so long, then kill all; returns True. Idempotent."""
        self._keeper.stop(monotonic() + timeout_s)
        return True

    def _take(self) -> ClaimedJob | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def _end(self, outcome: Outcome) -> None:
        self._ended.append(outcome)
        self._ring()
