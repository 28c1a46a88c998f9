"""An owner whose loop gets its turns late, and its workers, under a clock that the test moves."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count
from random import Random

from consumer.core.jobs import ClaimedJob, End, Outcome
from tests.unit.consumer.core.world import World


class SlowLoop(World):
    """Workers whose jobs take about as long as their group says; one turn in `late` is slow.

    busy_s: seconds of workers by group. Workers take jobs from memory without waiting for the loop.
    """

    def __init__(self, lengths_s: dict[str, float], *, workers: int, late: int, seed: int) -> None:
        super().__init__(workers=workers)
        self.lengths_s, self._workers, self._late = lengths_s, workers, late
        self.busy_s = dict.fromkeys(lengths_s, 0.0)
        self._dice, self._count = Random(seed), count()
        self._queue: deque[ClaimedJob] = deque()
        self._ends: list[tuple[float, int, ClaimedJob]] = []
        self._ended: list[Outcome] = []
        self._last_end_s = self.now

    def run(self, seconds: float) -> None:
        """Take turns for so long."""
        until_s = self.now + seconds
        while self.now < until_s:
            self._collect()
            wait_s = self.core.due_s(self.now)
            if wait_s > 0:
                first_s = self._ends[0][0] if self._ends else until_s
                self._pass(min(first_s - self.now, wait_s, self._until_stall_s()))
            elif self._queue and not self.core.claims_much(self.now):
                self._pass(self.core.prefetch.linger_s(len(self._queue), self._workers))
                self._turn()
            else:
                self._turn()

    def _turn(self) -> None:
        self._collect()
        plan = self.core.plan(self.now)
        replies = self.owned.turn(plan.verbs)
        slow = self._dice.randrange(self._late) == 0
        self._pass(self._dice.uniform(0.02, 0.3) if slow else 0.001)
        jobs, _ = self.core.apply_replies(plan, replies, self.now)
        if jobs and not self._queue:
            self._last_end_s = self.now
        self._queue += jobs
        self._start()

    def _collect(self) -> None:
        if self._ended:
            self.core.on_ended(self._ended)
            self._ended, self._last_end_s = [], self.now
        if self._queue and self._until_stall_s() <= 0:
            jobs = list(self._queue)
            self._queue.clear()
            self.core.on_stall(jobs, self.now)
            self._last_end_s = self.now

    def _until_stall_s(self) -> float:
        if not self._queue:
            return 1.0
        return self._last_end_s + self.core.prefetch.stall_timeout_s() + 1e-6 - self.now

    def _pass(self, seconds: float) -> None:
        until_s = self.now + max(1e-6, seconds)
        while self._ends and self._ends[0][0] <= until_s:
            end_s, _, job = heappop(self._ends)
            self.clock.advance(max(0.0, end_s - self.now))
            self.busy_s[job.group.decode()] += end_s - job.started_s
            self._ended.append(Outcome(job, End.DONE, job.started_s, end_s, "t"))
            self._start()
        self.clock.advance(max(0.0, until_s - self.now))

    def _start(self) -> None:
        while self._queue and len(self._ends) < self._workers:
            job = self._queue.popleft()
            job.started_s = self.now
            length_s = self.lengths_s[job.group.decode()] * self._dice.uniform(0.8, 1.2)
            heappush(self._ends, (self.now + length_s, next(self._count), job))
