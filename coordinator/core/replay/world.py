"""One partition as it would be with other worker counts: jobs as a fluid. Pure.

n      jobs that wait or run; what arrives was observed, and arrives evenly within a cycle
dn/dt  = arrivals - min(n, workers) / seconds per job
wait   of those that start: since they arrived, in the order of arrival; of those that waited at
       first, or after a gap: since then
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

_BUCKETS, _SHORTEST_S, _GROWTH = 96, 0.01, 1.15  # of waits: from 10 ms to about 100 minutes
_MOST_GROUPS: Final = 256
_PIECES: Final = 8  # of a cycle at most, between full and not full


@dataclass(slots=True)
class Waits:
    """How long jobs waited, as a histogram; each bucket is 15 % wider than the one before."""

    counts: list[float] = field(default_factory=lambda: [0.0] * _BUCKETS)
    jobs: float = 0.0
    total_s: float = 0.0

    def add(self, jobs: float, wait_s: float) -> None:
        """Note that so many jobs waited so long."""
        if jobs <= 0:
            return
        self.jobs += jobs
        self.total_s += jobs * wait_s
        self.counts[_bucket(wait_s)] += jobs

    def copy(self) -> Waits:
        """Return the same waits."""
        return Waits(list(self.counts), self.jobs, self.total_s)

    def percentile_s(self, share: float) -> float:
        """Return the wait that this share of the jobs did not exceed, to 15 %."""
        left = share * self.jobs
        for index, count in enumerate(self.counts):
            left -= count
            if left <= 1e-9 and count:
                return 0.0 if not index else _SHORTEST_S * _GROWTH**index
        return 0.0

    @property
    def mean_s(self) -> float:
        """Return the mean wait."""
        return self.total_s / self.jobs if self.jobs else 0.0


def _bucket(wait_s: float) -> int:
    if wait_s < _SHORTEST_S:
        return 0
    return min(1 + int(math.log(wait_s / _SHORTEST_S) / math.log(_GROWTH)), _BUCKETS - 1)


@dataclass(slots=True)
class World:
    """The jobs of a partition with this many workers.

    groups: [jobs, when they arrived] of those that wait.
    """

    workers: int
    jobs: float = 0.0
    finished: float = 0.0
    now_s: float = 0.0
    groups: deque[list[float]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """Jobs that wait already go first."""
        self.reset(self.jobs)

    def pass_s(self, seconds: float, arrived: float, service_s: float, waits: Waits) -> None:
        """Let time pass in which so many jobs arrive; fewer than 0 were cancelled."""
        waited, before = self.waiting, self.jobs
        if arrived < 0:
            before = max(before + arrived, 0.0)
            waited, arrived = max(before - self.workers, 0.0), 0.0
        self.jobs = _flowed(before, arrived / seconds, self.workers, service_s, seconds)
        self.finished += max(before + arrived - self.jobs, 0.0)
        middle_s = self.now_s + seconds / 2
        self.now_s += seconds
        if not waited and not self.waiting:
            waits.add(arrived, 0.0)
            return
        self.groups.append([arrived, middle_s])
        self._start(max(waited + arrived - self.waiting, 0.0), middle_s, waits)
        if len(self.groups) > _MOST_GROUPS:
            self._merge()

    def reset(self, jobs: float) -> None:
        """Go on from so many jobs, of which nothing else is known: those that wait arrive now."""
        self.jobs = jobs
        self.groups.clear()
        if self.waiting:
            self.groups.append([self.waiting, self.now_s])

    def add_waiting(self, waits: Waits) -> None:
        """Note the jobs that still wait, with their waits so far."""
        for jobs, at_s in self.groups:
            waits.add(jobs, max(self.now_s - at_s, 0.0))

    @property
    def running(self) -> float:
        """Return the jobs that run."""
        return min(self.jobs, float(self.workers))

    @property
    def waiting(self) -> float:
        """Return the jobs that wait."""
        return max(self.jobs - self.workers, 0.0)

    def _start(self, jobs: float, at_s: float, waits: Waits) -> None:
        groups = self.groups
        while jobs > 0 and groups:
            first = groups[0]
            started = min(jobs, first[0])
            waits.add(started, max(at_s - first[1], 0.0))
            first[0] -= started
            jobs -= started
            if first[0] <= 0:
                groups.popleft()
        if not self.waiting:
            groups.clear()

    def _merge(self) -> None:
        """Halve the groups: two that are next to each other become one."""
        old = list(self.groups)
        self.groups.clear()
        for one, two in zip_longest(old[::2], old[1::2]):
            jobs = one[0] + (two[0] if two else 0.0)
            weighed_s = one[0] * one[1] + (two[0] * two[1] if two else 0.0)
            self.groups.append([jobs, weighed_s / jobs if jobs else one[1]])


def _flowed(jobs: float, per_s: float, workers: int, service_s: float, seconds: float) -> float:
    """Return the jobs after some time; exactly, piece by piece."""
    rate = workers / service_s
    left_s = seconds
    for _ in range(_PIECES):
        if jobs > workers or (jobs == workers and per_s >= rate):
            slope = per_s - rate
            full_s = math.inf if slope >= 0 else (workers - jobs) / slope
            if full_s >= left_s:
                return jobs + slope * left_s
            jobs = float(workers)
        else:
            settled = per_s * service_s
            full_s = math.inf
            if settled > workers:
                full_s = service_s * math.log((settled - jobs) / (settled - workers))
            if full_s >= left_s:
                return settled + (jobs - settled) * math.exp(-left_s / service_s)
            jobs = float(workers)
        left_s -= full_s
        if left_s <= 0:
            return jobs
    return jobs
