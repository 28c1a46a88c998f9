"""What jobs take of late, those that still run included: seen before the first of them ends. Pure.

Means of finished jobs say nothing of long ones that have just begun, and after thousands of short
ones, little of the first that end. What all workers spent since the last few ends, shared by these
and by the jobs that run, is a time that a job surely takes:

    service_s >= (worker-seconds + busy x usual) / (ended + busy)

It is believed where it is clearly above the usual. The last ends are as many as a few of each
worker; if far fewer end than their pace lets expect, other jobs run, and it begins again.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from coordinator.policy.model import Reading

_LEAST_JOBS, _JOBS_A_WORKER = 20.0, 4.0  # that have ended, and count
_CLEARLY = 2.0  # times the usual
_FEWER = 0.25  # share of the ends that were to be expected: of other jobs
_EXPECTED = 16.0  # ends, with fewer of which nothing can be said
_SURE_CYCLES = 2  # of these: one may be a stall of the server


class Lately(Struct, frozen=True, kw_only=True):
    """busy: workers at the last reading. worker_s: since the last few ends; ended: how many.

    fewer_s, fewer: the same of the cycles since far fewer ended than before; they are cycles.
    """

    busy: int = 0
    worker_s: float = 0.0
    ended: float = 0.0
    fewer_s: float = 0.0
    fewer: float = 0.0
    cycles: int = 0

    def observe(self, reading: Reading, busy: int, seconds: float, ended: int) -> Lately:
        """Return what is known after one more cycle; nothing new, if its counts are old."""
        if reading.is_old(seconds):
            return self
        worker_s, jobs = self.fewer_s + busy * seconds, self.fewer + ended
        expected = worker_s * self.ended / self.worker_s if self.worker_s > 0 else 0.0
        if expected >= _EXPECTED and jobs < _FEWER * expected:
            if self.cycles + 1 >= _SURE_CYCLES:
                return Lately(busy=busy, worker_s=worker_s, ended=jobs)
            return replace(self, busy=busy, fewer_s=worker_s, fewer=jobs, cycles=self.cycles + 1)
        keep = math.exp(-jobs / max(_LEAST_JOBS, _JOBS_A_WORKER * busy)) if jobs else 1.0
        return Lately(
            busy=busy, worker_s=self.worker_s * keep + worker_s, ended=self.ended * keep + jobs
        )

    def service_s(self, usual_s: float) -> float:
        """Return what a job surely takes, if that is clearly more than usual; 0 if it is not."""
        jobs = self.ended + self.fewer + self.busy
        if not self.busy or not jobs:
            return 0.0
        surely_s = (self.worker_s + self.fewer_s + self.busy * usual_s) / jobs
        return surely_s if surely_s > _CLEARLY * usual_s else 0.0
