"""When the jobs that are there now will have ended: a range, and how sure it is. Pure.

    waiting   jobs without a worker x seconds per job / workers
    tail      the longest of n that run: the largest of n exponential times, which is
              -seconds per job x log(1 - p^(1/n)) with probability p
    range     waiting / spread + tail (9 %)  to  waiting x spread + tail (97 %)

The range of several partitions has one tail over all of their jobs, from where the last of them
has none waiting: the more partitions, the later the last job. It is no sooner than any of theirs.

    tail      with n = the sum of running jobs x exp(-(longest waiting - waiting) / seconds per
              job): e^-t of exponential times outlive t, so those that began earlier count less
    seconds   per job: the mean of 4th powers over the running jobs, to the power of 1/4. Long jobs
              decide, as they end last, but not the one partition that was measured too long

The spread grows as fewer jobs were seen to end. Over recorded loads, with pools that follow them,
the truth is within the range four times out of five (`tests/unit/models/test_eta.py`). Two of the
numbers make up for service times with a longer tail than exponential ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

CONFIDENCE: Final = 0.8
_LOW, _LIKELY, _HIGH = 0.09, 0.5, 0.97  # of the tail
_SPREADS: Final = 1.28  # standard deviations on each side
_DRIFT: Final = 0.25  # by which a pace changes meanwhile, of itself
_PRIOR_JOBS: Final = 3.0
_LONGEST_S: Final = 1e9
_SEEN: Final = 30.0  # jobs that a known service time is taken to be of
_DRAIN_S: Final = 2.0  # of `sized`: workers for a backlog, so that it is worked off in that time
_MEAN_POWER: Final = 4  # of seconds per job, over partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """Seconds until the jobs that are there now have ended, if jobs go on as they do.

    With the confidence it is between low_s and high_s; likely_s: as often later as sooner.
    """

    low_s: float
    likely_s: float
    high_s: float
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class Pace:
    """What was seen lately: jobs that ended, and the worker-seconds of those that ran."""

    ended: float = 0.0
    worker_s: float = 0.0

    def faded(self, keep: float, ended: float, worker_s: float) -> Pace:
        """Return the pace after one more look; keep: the share of the old that counts on."""
        return Pace(self.ended * keep + max(ended, 0.0), self.worker_s * keep + max(worker_s, 0.0))

    @property
    def service_s(self) -> float | None:
        """Return the seconds per job, None if no job was seen to end."""
        return self.worker_s / self.ended if self.ended >= 0.5 and self.worker_s > 0 else None


def foretell(left: int, workers: int, pace: Pace) -> Eta | None:
    """Return when so many jobs have ended with so many workers; None if that is unknown.

    It is if no job was seen to end, or none has a worker.
    """
    if left <= 0:
        return Eta(low_s=0.0, likely_s=0.0, high_s=0.0)
    service_s = pace.service_s
    if service_s is None or workers <= 0:
        return None
    running = min(left, workers)
    waiting_s = min((left - running) * service_s / running, _LONGEST_S)
    spread = math.exp(_SPREADS * math.sqrt(1 / (pace.ended + _PRIOR_JOBS) + _DRIFT**2))
    return Eta(
        low_s=waiting_s / spread + _tail_s(running, service_s, _LOW),
        likely_s=waiting_s + _tail_s(running, service_s, _LIKELY),
        high_s=waiting_s * spread + _tail_s(running, service_s, _HIGH),
    )


def at_rate(jobs: int, per_s: float, service_s: float = 0.0) -> Eta | None:
    """Return when so many jobs have started at a rate that is granted, and the last have ended.

    service_s: of a job, which finds a worker at once.
    """
    if jobs <= 0:
        return Eta(low_s=0.0, likely_s=0.0, high_s=0.0)
    if per_s <= 0:
        return None
    likely_s, spread = min(jobs / per_s, _LONGEST_S), math.exp(_SPREADS * _DRIFT / 2)
    running = min(float(jobs), max(per_s * service_s, 1.0))
    return Eta(
        low_s=likely_s / spread + _tail_s(running, service_s, _LOW),
        likely_s=likely_s + _tail_s(running, service_s, _LIKELY),
        high_s=likely_s * spread + _tail_s(running, service_s, _HIGH),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """When one of several ends, None if that is unknown; how many of its jobs run, and how long."""

    eta: Eta | None
    running: float
    service_s: float


def part_of(eta: Eta | None, left: int, workers: int, service_s: float) -> Part:
    """Return what jobs that are left add to when all have ended."""
    return Part(eta, min(left, workers), service_s)


def part_with(left: int, workers: int, service_s: float) -> Part:
    """Return the same with workers that are not there yet; service_s: of a job, 0 if unknown."""
    eta = foretell(left, workers, Pace(_SEEN, _SEEN * service_s))
    return part_of(eta, left, workers, service_s)


def workers_within(most: int | None, present: int, left: int, service_s: float) -> int:
    """Return the workers that a partition comes to have with this maximum; None: it stays so.

    More come at once, as many as the backlog needs; fewer are left when jobs end.
    """
    if most is None or most <= present:
        return present if most is None else most
    waiting = max(left - present, 0)
    needed = math.ceil(min(left, present) + waiting * service_s / _DRAIN_S)
    return min(max(present, needed), most)


def last_of(parts: Iterable[Part]) -> Eta | None:
    """Return when all of several have ended; None if that is unknown of one."""
    known = list(parts)
    found = [part.eta for part in known if part.eta is not None]
    if not found or len(found) < len(known):
        return None
    busy = [part for part in known if part.running > 0 and part.service_s > 0]
    low_s, likely_s, high_s = (
        max(*(getattr(eta, side) for eta in found), _together_s(busy, side, share))
        for side, share in (("low_s", _LOW), ("likely_s", _LIKELY), ("high_s", _HIGH))
    )
    return Eta(low_s=low_s, likely_s=likely_s, high_s=high_s)


def _together_s(parts: Sequence[Part], side: str, share: float) -> float:
    """Return one side of the range of all, by the tail of their jobs together."""
    if not parts:
        return 0.0
    jobs = sum(part.running for part in parts)
    longest_s = max(part.service_s for part in parts)
    shares = sum(part.running * (part.service_s / longest_s) ** _MEAN_POWER for part in parts)
    service_s = longest_s * (shares / jobs) ** (1 / _MEAN_POWER)
    waiting_s: list[float] = [
        max(getattr(part.eta, side) - _tail_s(part.running, part.service_s, share), 0.0)
        for part in parts
    ]
    last_s = max(waiting_s)
    running = sum(
        part.running * math.exp((one_s - last_s) / service_s)
        for part, one_s in zip(parts, waiting_s, strict=True)
    )
    return last_s + _tail_s(running, service_s, share)


def _tail_s(running: float, service_s: float, share: float) -> float:
    return -service_s * math.log(-math.expm1(math.log(share) / running))
