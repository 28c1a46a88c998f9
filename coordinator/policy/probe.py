"""How many workers a hidden limit keeps busy: found by what fewer of them finish. Pure.

A step without gain says that fewer workers are enough, and not how many. Where clearly fewer jobs
finish, workers hardly wait for the limit, so they show how long a job really takes. By Little's
law, that time and the most jobs that finish a second are a load, which gets the workers that any
steady load gets. What was there before the step often shows it; if not, half of the workers run
for some seconds, then half of those, until clearly fewer jobs finish.

What was found outlasts the ceiling: an attempt with more workers that finishes no more than before
shows that they are still enough; if it finishes a little more, they are raised by that.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from coordinator.policy.baseline import Baseline
from coordinator.policy.gain_check import Window

_FEWER = 0.8  # clearly fewer than this share of the completions: no worker waits for the limit
_ENOUGH = 0.96  # share of the completions with which fewer workers finish as many
_STILL = 0.9  # share of the completions, either way, within which the limit has not changed
_SPARE = 0.5  # square roots of the load, beyond it: less than for a load that no limit bounds
_COUNTED = 300.0  # completions for a comparison: their scatter is about a twentieth...
_LONGEST_CYCLES = 15  # ...or so many cycles
_CHANCE = 3.0  # times the square root of a count, by which it may be too low
_PACE = 0.75  # share of the completions that the same jobs cause without a stall
_JOBS = 3.0  # that each worker has time for, at least
_ALL = 0.65  # share of the workers: if so many are needed, all are, as far as counts can tell


class Probe(Struct, frozen=True, kw_only=True):
    """enough: the fewest workers known to finish as many as any, and per_s: what these finish.

    tried: fewer, which are being tried; 0 for none. ruled_out: none shall be. doubted: the workers
    of which half are tried without a step, see `doubt`.
    """

    enough: int = 0
    per_s: float = 0.0
    tried: int = 0
    ruled_out: bool = False
    doubted: int = 0

    @property
    def running(self) -> bool:
        """Return whether fewer workers are being tried."""
        return self.tried > 0

    @property
    def needs_all(self) -> bool:
        """Return whether a doubt ended, as all workers are needed."""
        return 0 < self.doubted * _ALL <= self.enough and not self.running

    def doubt(self, window: Window, fewer: int) -> Probe:
        """Return the state in which fewer workers are tried, as nothing is known of so many."""
        workers = window.workers
        return Probe(enough=workers, per_s=window.steady_per_s, tried=fewer, doubted=workers)

    def observe(self, window: Window, ceiling: int, least: int = 1) -> tuple[Probe, int]:
        """Return the state after one more saturated reading, and the ceiling from now on.

        least: the fewest workers that may run.
        """
        if not self.tried or window.workers != self.tried or not self._had_time(window):
            return self, ceiling
        if self._refutes_doubt(window):
            return replace(self, tried=0), self.enough
        if window.finished < _COUNTED and window.cycles < _LONGEST_CYCLES:
            return self, ceiling
        found, workers = _compare(self, window.workers, window.steady_per_s, least)
        if found.running or found.needs_all:
            return found, workers
        return replace(found, doubted=0), workers

    def _had_time(self, window: Window) -> bool:
        """Return whether each worker could finish some jobs, which only then show their pace."""
        # Fewer wait less, so a job takes no longer than with as many as were enough.
        most_s = _JOBS * self.enough / self.per_s if self.per_s > 0 else 0.0
        jobs = window.steady_per_s * window.seconds
        return jobs >= _JOBS * window.workers or window.seconds >= most_s

    def _refutes_doubt(self, window: Window) -> bool:
        """Return whether all doubted workers are needed, whatever chance did to the counts.

        While half of them run, half of the jobs wait longer, so that is known as soon as it can be.
        """
        seconds, finished = window.settled
        if not self.doubted or window.cycles < 2 or min(seconds, finished, self.per_s) <= 0:
            return False
        pace = finished / seconds / self.per_s * self.doubted / window.workers
        return pace >= _PACE and pace * (1 + _CHANCE / math.sqrt(finished)) * _ALL <= 1

    def after_no_gain(self, before: Baseline, after: Window, least: int = 1) -> tuple[Probe, int]:
        """Return what is known once a step from `before` was no gain, and the ceiling."""
        per_s = after.per_s
        as_many = before.per_s >= _ENOUGH * per_s
        if self.ruled_out:
            found = before.workers if as_many else _needed(before.workers, before.per_s, per_s)
            return self, min(math.ceil(found), after.workers)
        if self.enough and not self.tried and _STILL * self.per_s <= per_s <= self.per_s / _STILL:
            raised = self.enough if as_many else before.workers * per_s / before.per_s
            enough = min(math.ceil(raised), after.workers)
            return replace(self, enough=enough), enough
        few = before.per_s < _FEWER * per_s
        first = _needed(before.workers, before.per_s, per_s) if few else before.workers / 2
        return _try(Probe(enough=after.workers, per_s=per_s), math.ceil(first), least)


def _compare(probe: Probe, workers: int, per_s: float, least: int) -> tuple[Probe, int]:
    """Return what is known once fewer workers finished per_s, and the ceiling."""
    if per_s <= 0:  # a stall
        return replace(probe, tried=0), probe.enough
    if per_s < _FEWER * probe.per_s:
        found = min(math.ceil(_needed(workers, per_s, probe.per_s)), probe.enough)
        found = max(found, least)
        return replace(probe, enough=found, tried=0), found
    enough = workers if per_s >= _ENOUGH * probe.per_s else probe.enough
    return _try(replace(probe, enough=enough), math.ceil(workers / 2), least)


def _try(probe: Probe, fewer: int, least: int) -> tuple[Probe, int]:
    workers = max(fewer, least)
    if workers == probe.tried or workers >= probe.enough:
        return replace(probe, tried=0), probe.enough
    return replace(probe, tried=workers), workers


def _needed(workers: float, per_s: float, most_per_s: float) -> float:
    """Return the workers for the most jobs a second, at the pace of so many."""
    load = most_per_s * workers / per_s
    return load + _SPARE * math.sqrt(load)
