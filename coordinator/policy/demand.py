"""How much work arrives and how long a job takes, measured from readings. Pure.

arrivals   what finished, plus what the backlog and the jobs in flight grew by (signed)
rate       smoothed; a bulk is backlog and no rate, so one reading raises it only so far
service_s  worker-seconds spent / jobs finished, both fading; if jobs of late take clearly longer,
           what these have taken so far, ended or not (see `lately`)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator.policy.lately import Lately
from coordinator.policy.model import LimitUse, Reading

_PRIOR_S, _PRIOR_JOBS = 0.1, 1.0  # before anything finished, a job is taken to need 0.1 s
_LEAST_FADE_S, _FADE_JOBS = 30.0, 5.0  # of service times
_REMEMBERED_JOBS = 25.0  # whose service times fade only as others finish
_LEAST_TAU_S, _TAU_JOBS = 3.0, 2.0  # of the rate of arrivals
_USED_TAU_S = 5.0  # of what a limit lets through
_PART: Final = 2.0  # of what all jobs took, at most what those of one limit took
LOW: Final = 0.4  # square roots of the load, by which the size may be below it
_MOST: Final = 10**12  # jobs; a larger count is damaged


class LimitTally(Struct, frozen=True, kw_only=True):
    """What was seen of a limit: its totals, its rate, and its fading sums."""

    finished_total: int
    service_s_total: float
    used_per_s: float = 0.0
    finished: float = 0.0
    worker_s: float = 0.0


class Demand(Struct, frozen=True, kw_only=True):
    """What readings say so far; `at_s` is None until the first one."""

    at_s: float | None = None
    measured: bool = False  # anything but the first reading
    backlog: int = 0
    in_flight: int = 0
    finished_total: int = 0
    per_s: float = 0.0  # jobs that arrive, smoothed
    finished: float = 0.0  # fading sums
    worker_s: float = 0.0
    limits: Mapping[str, LimitTally] = field(default_factory=dict)
    lately: Lately = Lately()

    @property
    def service_s(self) -> float:
        """Return the seconds of a worker that a job takes."""
        usual_s = self.usual_s
        return self.lately.service_s(usual_s) or usual_s

    @property
    def changed(self) -> bool:
        """Return whether jobs of late clearly take longer than usual."""
        return self.lately.service_s(self.usual_s) > 0

    @property
    def usual_s(self) -> float:
        """Return what those that finished took on average; the last ones count a little more."""
        return (self.worker_s + _PRIOR_S) / (self.finished + _PRIOR_JOBS)

    def problem(self, reading: Reading) -> str:
        """Return why nothing can be concluded from a reading, or an empty string."""
        if max(reading.backlog, reading.finished_total, in_flight(reading)) > _MOST:
            return "a count is impossibly large"
        if reading.busy > 0 and reading.workers == 0:
            return f"{reading.busy} busy of no workers"
        if self.at_s is None:
            return ""
        if reading.at_s <= self.at_s:
            return "the reading is not newer than the last one"
        if reading.finished_total < self.finished_total:
            return f"finished jobs fell from {self.finished_total} to {reading.finished_total}"
        return ""

    def restart(self, reading: Reading) -> Demand:
        """Return what is known when only this reading counts for differences from now on."""
        return replace(
            self,
            at_s=reading.at_s,
            backlog=min(reading.backlog, _MOST),
            in_flight=min(in_flight(reading), _MOST),
            finished_total=min(reading.finished_total, _MOST),
            limits={one.name: _tally(one) for one in reading.limits},
        )

    def observe(self, reading: Reading, cycle_s: float) -> Demand:
        """Return what is known after one more reading, which has no problem."""
        if self.at_s is None:
            return self.restart(reading)
        passed_s = reading.at_s - self.at_s
        # Beyond two cycles, what happened in between is unknown: it must not weigh like seen time.
        seen_s = min(passed_s, 2 * cycle_s)
        finished = reading.finished_total - self.finished_total
        busy = busy_workers(reading)
        keep = math.exp(-seen_s / max(_LEAST_FADE_S, _FADE_JOBS * self.usual_s))
        if self.finished:
            keep = max(keep, min(_REMEMBERED_JOBS / self.finished, 1.0))
        jobs = self.finished * keep + finished * seen_s / passed_s
        worker_s = self.worker_s * keep + busy * seen_s
        service_s = (worker_s + _PRIOR_S) / (jobs + _PRIOR_JOBS)
        weight = 1 - math.exp(-seen_s / max(_LEAST_TAU_S, _TAU_JOBS * service_s))
        return Demand(
            at_s=reading.at_s,
            measured=True,
            backlog=reading.backlog,
            in_flight=in_flight(reading),
            finished_total=reading.finished_total,
            per_s=self._rate(reading, finished, passed_s, weight),
            finished=jobs,
            worker_s=worker_s,
            limits={one.name: self._limit(one, passed_s, keep, worker_s) for one in reading.limits},
            lately=self.lately
            if seen_s < passed_s
            else self.lately.observe(reading, busy, seen_s, finished),
        )

    def _rate(self, reading: Reading, finished: int, passed_s: float, weight: float) -> float:
        grown = reading.backlog - self.backlog + in_flight(reading) - self.in_flight
        if not self.measured:
            # What finishes is the best guess: a new leader must not take a load for none.
            return max(min(finished, finished + grown) / passed_s, 0.0)
        most = max(2 * self.per_s, self.per_s + 3 * math.sqrt(self.per_s + 1))
        rate = min((finished + grown) / passed_s, most)
        return max(self.per_s + (rate - self.per_s) * weight, 0.0)

    def unused_workers(self, reading: Reading) -> float:
        """Return the workers for what limits grant and parked jobs do not use yet.

        Only the unused part: what a limit lets through is seen as arrivals already.
        """
        if not reading.limits:
            return 0.0
        needed = self._workers_for_permits(reading)
        for one in reading.limits:
            tally = self.limits.get(one.name)
            if tally is not None and one.parked > one.granted_per_s:
                service_s = (tally.worker_s + self.service_s) / (tally.finished + 1)
                unused = max(one.granted_per_s - tally.used_per_s, 0.0) * service_s
                needed += min(unused, one.parked)  # which is bounded by what there is
        return needed

    def _workers_for_permits(self, reading: Reading) -> float:
        """Return the workers for jobs that hold a permit while they wait, for which others park.

        Of the jobs that wait, it is not known which: at most as many as the load varies by.
        """
        ready = waiting(reading)
        if not ready or not any(one.parked and not one.granted_per_s for one in reading.limits):
            return 0.0
        load = self.per_s * self.service_s
        extra = min(float(ready), math.sqrt(load))
        return extra + LOW * math.sqrt(load + extra)  # which a size is lowered by

    def _limit(
        self, use: LimitUse, passed_s: float, keep: float, all_worker_s: float
    ) -> LimitTally:
        last = self.limits.get(use.name)
        if last is None or use.finished_total < last.finished_total:
            return _tally(use)
        finished = use.finished_total - last.finished_total
        worker_s = max(use.service_s_total - last.service_s_total, 0.0)
        weight = 1 - math.exp(-passed_s / _USED_TAU_S)
        return LimitTally(
            finished_total=use.finished_total,
            service_s_total=use.service_s_total,
            used_per_s=last.used_per_s + (finished / passed_s - last.used_per_s) * weight,
            finished=last.finished * keep + finished,
            worker_s=min(last.worker_s * keep + worker_s, _PART * all_worker_s),
        )


def in_flight(reading: Reading) -> int:
    """Return the jobs that are claimed: as the server knows them, or as the consumer reported."""
    return reading.busy if reading.in_flight is None else reading.in_flight


def busy_workers(reading: Reading) -> int:
    """Return the workers that have a job."""
    return min(in_flight(reading), reading.workers)


def waiting(reading: Reading) -> int:
    """Return the jobs that wait for a worker: in their lanes, or claimed ahead of time."""
    return reading.backlog + in_flight(reading) - busy_workers(reading)


def _tally(use: LimitUse) -> LimitTally:
    return LimitTally(finished_total=use.finished_total, service_s_total=use.service_s_total)
