"""As many workers as the work needs: steady load, plus the backlog within a wanted time.

    load   arrivals a second x seconds per job, plus what limits grant and no one uses yet
    work   backlog x seconds per job
    up     at once to  load - 0.4 sqrt(load) + work / drain_s
    down   at once to  load + 0.75 sqrt(load) + work / cycle_s, if that is a fair share lower
    check  a step that finished no more than before sets a ceiling (see `ceiling`)

A worker starts in no time, so all cost is idling afterwards: hence both ways at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from coordinator.policy.base import FIRST_LOOK, Policy, PolicySettings, bounded, setting
from coordinator.policy.ceiling import Ceiling
from coordinator.policy.demand import LOW, Demand, busy_workers, waiting
from coordinator.policy.doubt import doubted
from coordinator.policy.gain_check import GainCheckSettings, Verdict
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require
from coordinator.policy.step_verdict import ATTEMPT
from coordinator.policy.worth import Worth

_HIGH = 0.75  # square roots of the load, above it
_ANY = 10**9  # workers: more than there can be
_KNOWN_JOBS = 20  # finished, before their service time is believed


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedSettings(PolicySettings):
    """Times in seconds."""

    cycle_s: float = 1.0  # time between two readings
    drain_s: float = setting(2.0, "Time within which a backlog should be worked off.")
    hold_s: float = setting(0.0)
    shrink_share: float = 0.15  # smaller steps down than this share of the pool are saved up
    step_workers: int = setting(8)
    step_factor: float = setting(2.0)
    gain_check: GainCheckSettings = field(
        default_factory=lambda: GainCheckSettings(min_cycles=3, assumed_lag_cycles=1.5)
    )

    def __post_init__(self) -> None:
        self.require_above_zero("cycle_s", "drain_s")
        self.require_not_negative("hold_s", "step_workers")
        require(self.step_factor > 1, f"step_factor={self.step_factor} must exceed 1")
        require(
            0 <= self.shrink_share < 1,
            f"shrink_share={self.shrink_share} must be at least 0 and below 1",
        )


class SizedState(PolicyState, frozen=True, kw_only=True):
    """What one cycle leaves for the next. large_s: for how long fewer workers were enough."""

    demand: Demand = Demand()
    ceiling: Ceiling = Ceiling()
    worth: Worth = Worth()
    large_s: float = 0.0

    @property
    def useless_above(self) -> int:
        """Return the count above which the gain check found no gain, 0 for none."""
        return self.ceiling.workers

    @property
    def measured(self) -> Demand:
        """Return what was measured of the jobs."""
        return self.demand


class Work(NamedTuple):
    """All that a size is computed from; `size` is that of a decision, also of a recorded one.

    per_s: arrivals; unused: workers for what limits grant; waiting: jobs.
    """

    per_s: float
    service_s: float
    unused: float
    busy: int
    waiting: int
    drain_s: float
    cycle_s: float

    @property
    def steady(self) -> float:
        """Return how many workers the arrivals keep busy."""
        return self.per_s * self.service_s

    @property
    def waiting_s(self) -> float:
        """Return the seconds of a worker that wait."""
        return self.waiting * self.service_s


class Size(NamedTuple):
    """The workers wanted, at least and at most."""

    least: int
    most: int


def size(work: Work) -> Size:
    """Return how many workers there should be, at least and at most."""
    load = work.steady + work.unused
    root, work_s = math.sqrt(load), work.waiting_s
    low = min(
        load - LOW * root + work_s / work.drain_s,
        work.busy + work.waiting + max(work.per_s * work.cycle_s, load),
    )
    high = max(load + _HIGH * root + work_s / work.cycle_s, low, work.busy)
    return Size(math.ceil(low), math.ceil(high))


def reason_of(work: Work) -> str:
    """Return why a size is what it is."""
    why = f"{work.per_s:.1f} jobs/s of {work.service_s:.3g} s keep {work.steady:.1f} workers busy"
    if work.unused:
        why = f"{why}, unused grants of limits {work.unused:.1f}"
    if work.waiting:
        why = f"{why}; {work.waiting} waiting jobs are {work.waiting_s:.0f} s of work"
    return why


class _Size(NamedTuple):
    """The workers wanted, at least and at most, why, and of what it was computed."""

    least: int
    most: int
    why: str
    work: Work


class SizedPolicy(Policy[SizedSettings, SizedState]):
    """Size the pool by the work that arrives and waits."""

    name = "sized"
    version = 12
    figure_names = Work._fields

    def on_reading(self, reading: Reading, state: SizedState, limits: Limits) -> Decision:
        last = state.demand
        problem = last.problem(reading)
        if problem:
            begun = replace(state, demand=last.restart(reading), ceiling=Ceiling(), large_s=0.0)
            kept = state if last.at_s is not None and reading.at_s <= last.at_s else begun
            return bounded(kept, state.target, limits, f"{problem}: held")
        demand = last.observe(reading, self.settings.cycle_s)
        if last.at_s is None:
            return bounded(replace(state, demand=demand), state.target, limits, FIRST_LOOK)
        check = self.settings.gain_check
        finished = reading.finished_total - last.finished_total
        since_s, worth = reading.at_s - last.at_s, state.worth.observe(reading.work)
        seen = replace(
            state,
            demand=demand,
            ceiling=state.ceiling.observe(
                reading, since_s, finished * worth.share, check, limits.min_workers
            ),
            worth=worth,
        )
        if demand.changed and worth.as_usual:  # other jobs run now: nothing can be compared
            seen = replace(seen, ceiling=seen.ceiling.without_trial())
        verdict = seen.ceiling.judge(check)
        if verdict in (Verdict.NO_GAIN, Verdict.CHANGED):
            return self._close(seen, limits, changed=verdict is Verdict.CHANGED)
        ceiling = doubted(seen.ceiling, reading, worth.slower, check, limits.min_workers)
        if ceiling is not seen.ceiling:
            seen = replace(seen, ceiling=ceiling)
        tried = max(seen.ceiling.workers, limits.min_workers)
        if seen.ceiling.workers and tried < state.target:
            fewer, why = replace(seen, target=tried), _why_fewer(seen.ceiling, tried)
            return bounded(fewer, state.target, limits, why, ("gain_check",), wanted=state.target)
        return self._follow(reading, seen, limits, last.at_s)

    def _follow(
        self, reading: Reading, seen: SizedState, limits: Limits, last_s: float
    ) -> Decision:
        """Return the count that the work needs, as far as steps and limits allow it."""
        work = self._work(reading, seen.demand)
        wanted = _Size(*size(work), reason_of(work), work)
        if wanted.least > seen.target:
            rested = seen if not seen.large_s else replace(seen, large_s=0.0)
            return self._grow(reading, rested, wanted, limits)
        elapsed_s = reading.observed_s(last_s, self.settings.cycle_s)
        return self._shrink(seen, wanted, elapsed_s, limits)

    def _work(self, reading: Reading, demand: Demand) -> Work:
        return Work(
            per_s=demand.per_s,
            service_s=demand.service_s,
            unused=demand.unused_workers(reading),
            busy=busy_workers(reading),
            waiting=waiting(reading),
            drain_s=self.settings.drain_s,
            cycle_s=self.settings.cycle_s,
        )

    def _grow(self, reading: Reading, state: SizedState, size: _Size, limits: Limits) -> Decision:
        settings, target, ceiling = self.settings, state.target, state.ceiling

        def hold(why: str, *clamps: str) -> Decision:
            reason = f"{size.why}: {why}"
            return bounded(
                state, target, limits, reason, clamps, wanted=size.least, figures=size.work
            )

        if target >= limits.max_workers:
            return hold(f"held at the maximum of {limits.max_workers}", "max_workers")
        if reading.workers < target:
            return hold(f"{reading.workers} of {target} workers have started", "starting")
        if ceiling.careful and ceiling.before is not None:
            return hold("still measuring whether the last step helps", "gain_check")
        wanted, clamps = size.least, tuple[str, ...]()
        unsure = int(settings.step_factor**2 * max(ceiling.calm, settings.step_workers))
        if wanted > (step := self._step(state, unsure)):
            wanted, clamps = step, ("step",)
        if wanted > unsure and ceiling.is_unsure(state.demand, settings.gain_check):
            if unsure < ATTEMPT * target:
                return hold("still measuring whether the last step helps", "gain_check")
            wanted, clamps = unsure, ("step",)
        if ceiling.workers and wanted > ceiling.workers:
            wanted, clamps = max(ceiling.workers, target), ("gain_check",)
            if wanted == target and ceiling.probe.doubted:
                return hold(f"whether {target} workers finish as many is being tried", *clamps)
            if wanted == target:
                return hold(
                    f"more did not help, next try in {max(ceiling.pause_left_s, 0):.0f} s", *clamps
                )
        stepped = ceiling.step_up(state.demand, settings.gain_check)
        return bounded(
            replace(state, target=wanted, ceiling=stepped), target, limits, size.why, clamps,
            wanted=size.least if clamps else wanted, figures=size.work,
        )  # fmt: skip

    def _step(self, state: SizedState, unsure: int) -> int:
        """Return the count that one step may reach: any, once a step of any size can be judged.

        unsure: that of a step after which little would be known.
        """
        settings, target, ceiling, demand = self.settings, state.target, state.ceiling, state.demand
        judged = ceiling.can_judge(demand, settings.gain_check)
        if judged and demand.finished >= _KNOWN_JOBS and not ceiling.careful:
            return _ANY
        factor = ATTEMPT if ceiling.careful else settings.step_factor
        step = max(int(target * factor), target + settings.step_workers, target + 1)
        if not ceiling.careful and ceiling.knows_older(demand):
            step = max(step, unsure)
        return step

    def _shrink(self, state: SizedState, size: _Size, elapsed_s: float, limits: Limits) -> Decision:
        settings, target = self.settings, state.target
        wanted, least = size.most, limits.min_workers
        fewer = wanted < target and (
            wanted <= target * (1 - settings.shrink_share) or wanted <= least
        )
        if not fewer or target <= least:
            rested = state if not state.large_s else replace(state, large_s=0.0)
            rejected, clamps = (wanted, ("min_workers",)) if fewer else (None, ())
            return bounded(
                rested, target, limits, size.why, clamps, wanted=rejected, figures=size.work
            )
        large_s = state.large_s + elapsed_s
        if large_s < settings.hold_s:
            reason = f"{size.why}: held for {large_s:.0f} of {settings.hold_s:.0f} s"
            kept = replace(state, large_s=large_s)
            return bounded(
                kept, target, limits, reason, ("hold",), wanted=wanted, figures=size.work
            )
        shrunk = replace(state, target=wanted, large_s=0.0)
        return bounded(shrunk, target, limits, size.why, figures=size.work)

    def _close(self, state: SizedState, limits: Limits, *, changed: bool) -> Decision:
        ceiling, check = state.ceiling, self.settings.gain_check
        if changed:
            why, closed = "other jobs, to be measured", ceiling.measure_anew(check)
        else:
            why, closed = "no gain", ceiling.close(check, limits.min_workers)
        until = f"at most {closed.workers} for {closed.pause_left_s:.0f} s"
        if closed.probe.running:
            until = f"whether {closed.workers} finish as many is being tried"
        reason = f"{ceiling.explain()}: {why}, {until}"
        capped = replace(state, target=min(state.target, closed.workers), ceiling=closed)
        return bounded(capped, state.target, limits, reason, ("gain_check",), wanted=state.target)


def _why_fewer(ceiling: Ceiling, workers: int) -> str:
    if ceiling.probe.running:
        return f"whether {workers} workers finish as many is being tried"
    return f"more than {workers} workers did not help"
