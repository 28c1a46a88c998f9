"""A partition and its coordinator in virtual time: an event queue, no clock, no sleep.

Jobs wait in one line; each worker takes the next one when it is free. A job may need a turn on
a serial resource first (the interpreter's lock, a rate limit downstream): that is how a run in
which more workers do not help is made. Commands reach the consumer after a reaction time.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from coordinator.policy import Decision, Limits, Policy, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What one job costs: mean service seconds, their scatter, and the serial share."""

    mean_s: float = 0.12
    cv: float = 0.0  # coefficient of variation of a lognormal; 0 is constant
    serial_s: float = 0.0


@dataclass(slots=True)
class SimulatedPartition:
    """One partition with its worker pool; `now_s` moves only by `advance`."""

    workers: int
    jobs: Jobs
    seed: int = 0
    now_s: float = 0.0
    target: int = 0
    busy: int = 0
    backlog: int = 0
    finished: int = 0
    worker_s: float = 0.0
    _line: deque[list[float]] = field(default_factory=deque)  # [jobs left, enqueued at]
    _ends: list[float] = field(default_factory=list)
    _serial_free_s: float = 0.0
    _random: random.Random = field(default_factory=random.Random)
    waits_s: list[float] = field(default_factory=list)
    last_finish_s: float = 0.0

    def __post_init__(self) -> None:
        self.target = self.workers
        self._random.seed(self.seed)

    def enqueue(self, count: int) -> None:
        self._line.append([count, self.now_s])
        self.backlog += count
        self._start_jobs()

    def resize(self, target: int) -> None:
        """Grow at once; shrink idle workers at once and busy ones when their job ends."""
        self.target = target
        self.workers = max(target, self.busy)
        self._start_jobs()

    def advance(self, until_s: float) -> None:
        """Let every job end that ends until then."""
        while self._ends and self._ends[0] <= until_s:
            self._move_to(heapq.heappop(self._ends))
            self.busy -= 1
            self.finished += 1
            self.last_finish_s = self.now_s
            self.workers = max(self.target, self.busy)
            self._start_jobs()
        self._move_to(until_s)

    def read(self) -> Reading:
        return Reading(
            at_s=self.now_s,
            backlog=self.backlog,
            workers=self.workers,
            busy=self.busy,
            finished_total=self.finished,
        )

    def _move_to(self, at_s: float) -> None:
        self.worker_s += self.workers * (at_s - self.now_s)
        self.now_s = at_s

    def _start_jobs(self) -> None:
        while self.backlog and self.busy < self.target:
            batch = self._line[0]
            batch[0] -= 1
            self.waits_s.append(self.now_s - batch[1])
            if not batch[0]:
                self._line.popleft()
            self.backlog -= 1
            self.busy += 1
            heapq.heappush(self._ends, self.now_s + self._service_s())

    def _service_s(self) -> float:
        jobs, waited_s = self.jobs, 0.0
        if jobs.serial_s:
            self._serial_free_s = max(self._serial_free_s, self.now_s) + jobs.serial_s
            waited_s = self._serial_free_s - self.now_s
        if not jobs.cv:
            return waited_s + jobs.mean_s
        variance = math.log(1 + jobs.cv**2)
        mu = math.log(jobs.mean_s) - variance / 2
        return waited_s + self._random.lognormvariate(mu, math.sqrt(variance))


@dataclass(slots=True)
class Run:
    """What happened: every decision with its time, and the partition as it ended."""

    partition: SimulatedPartition
    decisions: list[tuple[float, Decision]] = field(default_factory=list)

    @property
    def changes(self) -> list[tuple[float, Decision]]:
        return [(at, made) for at, made in self.decisions if made.target != made.previous]

    @property
    def peak(self) -> int:
        return max(made.target for _, made in self.decisions)

    @property
    def reversals(self) -> int:
        """Count how often a rise followed a fall or the other way round."""
        ways = [made.direction for _, made in self.changes]
        return sum(a != b for a, b in pairwise(ways))


@dataclass(slots=True, kw_only=True)
class Simulation:
    """Run a policy against a partition. Events are (time, action) pairs in any order."""

    policy: Policy[Any, Any]
    partition: SimulatedPartition
    limits: Limits = field(default_factory=Limits)
    cycle_s: float = 1.0
    reaction_s: float = 0.2  # from the reading to the resized pool
    events: list[tuple[float, Callable[["Simulation"], None]]] = field(default_factory=list)
    blind_until_s: float = -1.0  # observations are missing until then
    leaderless_until_s: float = -1.0  # no one decides until then; a new leader starts afresh

    def run(self, until_s: float) -> Run:
        run = Run(self.partition)
        state = self.policy.initial(self.partition.target)
        pending = deque(sorted(self.events, key=lambda event: event[0]))
        for tick_s in self._ticks(until_s):
            while pending and pending[0][0] <= tick_s:
                at_s, act = pending.popleft()
                self.partition.advance(at_s)
                act(self)
            self.partition.advance(tick_s)
            if tick_s <= self.leaderless_until_s:
                state = self.policy.initial(state.target)
                continue
            reading = None if tick_s <= self.blind_until_s else self.partition.read()
            decision = self.policy.decide(reading, state, self.limits)
            run.decisions.append((tick_s, decision))
            state = decision.state
            if decision.target != self.partition.target:
                # Nothing else happens between the reading and the reaction, except arrivals
                # that a scenario puts there; those are handled a fraction of a second late.
                self.partition.advance(tick_s + self.reaction_s)
                self.partition.resize(decision.target)
        return run

    def _ticks(self, until_s: float) -> Iterator[float]:
        for index in range(1, int(until_s / self.cycle_s) + 1):
            yield index * self.cycle_s
