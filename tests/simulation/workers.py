"""Workers that need no thread: a job takes virtual time, and its end is drawn."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence

from consumer.core.jobs import ClaimedJob, End, Outcome
from tests.simulation.journal import Execution
from tests.simulation.ledger import Ledger
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process

_LONGEST_DELAY_S = 2.0
_WAKE_S = 0.002


class SimulatedWorkers:
    """What the ThreadPool and the Runner of consumer.workers are to a real consumer."""

    def __init__(
        self,
        process: Process,
        ledger: Ledger,
        scenario: Scenario,
        rng: random.Random,
        *,
        epoch: int,
        poisonous: Callable[[bytes], bool],
        die: Callable[[], None],
        ring: Callable[[], None],
    ) -> None:
        self._process, self._ledger, self._journal = process, ledger, ledger.journal
        self._scenario, self._random, self._epoch = scenario, rng, epoch
        self._poisonous, self._die, self._ring = poisonous, die, ring
        self._waiting: deque[ClaimedJob] = deque()
        self._running: dict[int, Execution] = {}
        self._ended: list[Outcome] = []
        self.target = 0
        self.progress: dict[bytes, bytes] = {}
        self.start_until_s = float("inf")
        self.late = False

    @property
    def alive(self) -> int:
        """Return how many workers there are."""
        return max(self.target, len(self._running))

    @property
    def spare(self) -> int:
        """Return how many slots there are beyond the target."""
        return 0

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a worker."""
        return len(self._waiting)

    def resize(self, target: int) -> None:
        """Have so many workers; surplus ones leave after the job they run."""
        self.target = target
        self._begin()

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the workers, in order; an idle one takes a moment to wake."""
        self._waiting.extend(jobs)
        self._process.after(self._random.random() * _WAKE_S, self._begin)

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that no worker has begun."""
        jobs = list(self._waiting)
        self._waiting.clear()
        self._journal.unheard.update(job.id for job in jobs)
        return jobs

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def killed(self) -> None:
        """Note that whatever runs ends here, unrecorded."""
        for execution in self._running.values():
            execution.killed_s = self._process.now_s
        self._running.clear()
        self.withdraw()

    def _begin(self) -> None:
        while self._waiting and len(self._running) < self.target and not self._process.dead:
            self._run(self._waiting.popleft())

    def _run(self, job: ClaimedJob) -> None:
        now = self._process.now_s
        self.late = self.late or (now > self.start_until_s and not job.cancelled)
        if job.cancelled or self.late:
            end = End.CANCELLED if job.cancelled else End.HAND_BACK
            self._ended.append(Outcome(job, end, now, now))
            self._journal.unheard[job.id] += 1
            self._process.after(0.0, self._ring)
            return
        job.started_s = now
        left_s = self._ledger.lease_left_s(self._epoch)
        suspect = job.crashes >= max(1, self._scenario.max_crashes - 1)
        execution = Execution(job.id, self._epoch, now, left_s, suspect)
        execution.after = len(self._journal.records or ())
        self._journal.executions.append(execution)
        self._journal.note(now, self._process.name, f"starts {job.id!r}, attempt {job.attempt}")
        self._running[id(execution)] = execution
        if self._random.random() < 0.2:
            self.progress[job.id] = b"half way"
        length_s = self._random.uniform(*self._scenario.job_s)
        if self._poisonous(job.id):
            self._process.after(length_s / 2, self._die)
        self._process.after(length_s, lambda: self._end(job, execution))

    def _end(self, job: ClaimedJob, execution: Execution) -> None:
        now, draw = self._process.now_s, self._random.random()
        outcome = Outcome(job, End.DONE, execution.start_s, now)
        if job.cancelled and draw < 0.5:
            outcome.end = End.CANCELLED
        elif draw < self._scenario.buries:
            outcome.end, outcome.error = End.BURY, b'{"reason":"permanent"}'
        elif draw < self._scenario.buries + self._scenario.fails:
            outcome.end, outcome.error = End.RETRY, b'{"reason":"failed"}'
            outcome.delay_ms = self._random.randrange(int(_LONGEST_DELAY_S * 1000))
            if job.attempt >= 5:
                outcome.end = End.BURY
        elif self._random.random() < self._scenario.asks_later:
            outcome.end, outcome.charged = End.RETRY, False
            outcome.delay_ms = self._random.choice((0, 50, 1500))
        if self._refused(job):
            outcome.end, outcome.charged, outcome.error = End.RETRY, False, b""
            outcome.delay_ms = outcome.slow_ms = self._random.choice((20, 400, 3000))
            self._journal.seen["told to wait"] += 1
        execution.end_s, execution.end = now, outcome.end
        self._journal.note(now, self._process.name, f"ends {job.id!r}: {outcome.end.name}")
        del self._running[id(execution)]
        self._ended.append(outcome)
        self._begin()
        self._ring()

    def _refused(self, job: ClaimedJob) -> bool:
        limits = self._scenario.limits
        if limits is None or not limits.refuses or not self._journal.limits_of.get(job.id):
            return False
        return not job.cancelled and self._random.random() < limits.refuses
