"""Experiment 2, the default: exponential up on a lasting PWQD, time decay down.

    up      at once when the backlog alone justifies the larger pool, else after k consecutive
            cycles above the threshold; a step is at most max(2x, +8)
    check   a step that did not raise completions is taken back (see `help_check`)
    hold    30 s after the last step up and after the last moment with a backlog
    down    exponential decay towards the workers that the load keeps busy, never below min

The slow way down is what answers the second burst: it finds most of the workers still there.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

from coordinator.policy.cycle import FIRST, MISSING, bounded, observed_s
from coordinator.policy.help_check import HelpSettings, StepTrial, Verdict
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class PwqdSettings:
    """Thresholds in jobs per worker, times in seconds, cycles counted."""

    cycle_s: float = 1.0  # time between two readings
    threshold_pwqd: float = 4.0  # above it, more workers are wanted
    quiet_pwqd: float = 1.0  # up to it, the workers are not all needed
    cycles_above: int = 3  # consecutive cycles that prove a backlog lasts
    deep_factor: float = 4.0  # at once if PWQD after the step still exceeds this x threshold...
    deep_cycles: float = 10.0  # ...and the backlog would keep the larger pool for so many cycles
    short_jobs: float = 20.0  # a worker that ends more jobs than this in a cycle has short ones
    step_factor: float = 2.0
    step_workers: int = 8  # a step may always be this large
    hold_s: float = 30.0
    tau_s: float = 60.0  # time constant of the decay
    headroom: float = 0.15  # spare share above the workers that the load keeps busy
    busy_smoothing_s: float = 10.0
    shrink_share: float = 0.1  # smaller steps down than this share of the pool are saved up
    help_check: HelpSettings = field(default_factory=HelpSettings)

    def __post_init__(self) -> None:
        for name in ("cycle_s", "tau_s", "busy_smoothing_s", "deep_factor", "short_jobs"):
            require(getattr(self, name) > 0, f"{name}={getattr(self, name)} must be above 0")
        for name in ("quiet_pwqd", "hold_s", "headroom", "deep_cycles", "step_workers"):
            value = getattr(self, name)
            require(value >= 0, f"{name}={value} must not be negative")
        require(
            self.threshold_pwqd > self.quiet_pwqd,
            f"threshold_pwqd={self.threshold_pwqd} must exceed quiet_pwqd={self.quiet_pwqd}",
        )
        require(self.cycles_above >= 1, f"cycles_above={self.cycles_above} must be at least 1")
        require(self.step_factor > 1, f"step_factor={self.step_factor} must exceed 1")
        require(
            0 <= self.shrink_share < 1,
            f"shrink_share={self.shrink_share} must be at least 0 and below 1",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PwqdState(PolicyState):
    """What one cycle leaves to the next; `at_s` is None until something was observed."""

    at_s: float | None = None
    finished_total: int = 0
    finished_per_s: float = 0.0  # in the last cycle
    above_cycles: int = 0  # consecutive cycles above the threshold, since the last step
    above: bool = False  # the last reading was above the threshold
    quiet_s: float = 0.0  # observed time since the last step up or backlog
    busy: float = 0.0  # smoothed busy workers
    level: float = 0.0  # the decaying, unrounded target
    help: StepTrial = field(default_factory=StepTrial)


@dataclass(frozen=True, slots=True)
class PwqdPolicy:
    """Scale on per-worker queue depth."""

    name: ClassVar[str] = "pwqd"
    version: ClassVar[int] = 1
    settings: PwqdSettings = field(default_factory=PwqdSettings)

    def initial(self, target: int) -> PwqdState:
        return PwqdState(target=target, level=float(target))

    def decide(self, reading: Reading | None, state: PolicyState, limits: Limits) -> Decision:
        if reading is None:
            return bounded(state, state.target, limits, MISSING)
        own = state if isinstance(state, PwqdState) else self.initial(state.target)
        seen = self._observe(reading, own)
        if own.at_s is None:
            return bounded(seen, own.target, limits, FIRST)
        if seen.help.judge(self.settings.help_check) is Verdict.NO_HELP:
            return self._take_back(seen, limits)
        if seen.above:
            return self._grow(reading, seen, limits)
        elapsed_s = observed_s(reading, own.at_s, self.settings.cycle_s)
        return self._relax(reading, seen, elapsed_s, limits)

    def _observe(self, reading: Reading, last: PwqdState) -> PwqdState:
        """Return the state with this reading's measurements and the target unchanged."""
        tuned = self.settings
        above = reading.pwqd > tuned.threshold_pwqd
        seen = replace(
            last,
            at_s=reading.at_s,
            finished_total=reading.finished_total,
            above=above,
            above_cycles=last.above_cycles + 1 if above else 0,
        )
        if last.at_s is None:
            return replace(seen, busy=float(reading.busy))
        seconds = max(reading.at_s - last.at_s, 0.0)
        elapsed_s = observed_s(reading, last.at_s, tuned.cycle_s)
        finished = reading.finished_total - last.finished_total
        weight = 1 - math.exp(-elapsed_s / tuned.busy_smoothing_s)
        return replace(
            seen,
            finished_per_s=max(finished, 0) / seconds if seconds > 0 else last.finished_per_s,
            busy=last.busy + (reading.busy - last.busy) * weight,
            help=last.help.observe(
                workers=reading.workers,
                seconds=seconds,
                finished=finished,
                # A counter that fell back (lost writes) says nothing about this cycle.
                saturated=above and last.above and finished >= 0,
                elapsed_s=elapsed_s,
                settings=tuned.help_check,
            ),
        )

    def _take_back(self, state: PwqdState, limits: Limits) -> Decision:
        before, after = state.help.before, state.help.window
        assert before is not None  # noqa: S101 - for the type; a verdict needs a trial
        back = replace(
            state,
            target=before.workers,
            level=float(before.workers),
            above_cycles=0,
            quiet_s=0.0,
            help=state.help.take_back(self.settings.help_check),
        )
        reason = (
            f"{after.workers} workers finish {after.per_s:.1f} jobs/s, {before.workers} finished "
            f"{before.per_s:.1f}: no help, back for {back.help.pause_left_s:.0f} s"
        )
        return bounded(back, state.target, limits, reason, ("help_check",))

    def _grow(self, reading: Reading, state: PwqdState, limits: Limits) -> Decision:
        tuned, target = self.settings, state.target
        busy = replace(state, quiet_s=0.0, level=float(target))
        above = f"PWQD {reading.pwqd:.1f} above {tuned.threshold_pwqd:.1f}"

        def hold(why: str, *clamps: str) -> Decision:
            return bounded(busy, target, limits, f"{above}, {why}", clamps)

        if target >= limits.max_workers:
            return hold(f"held at the maximum of {limits.max_workers}", "max_workers")
        if reading.workers < target:
            return hold(f"{reading.workers} of {target} workers have started", "starting")
        if state.help.pause_left_s > 0:
            return hold(
                f"the last step did not help, next try in {state.help.pause_left_s:.0f} s",
                "help_check",
            )
        if state.help.before is not None:
            return hold("still measuring whether the last step helps", "help_check")
        wanted = max(int(target * tuned.step_factor), target + tuned.step_workers, target + 1)
        capped = min(wanted, limits.max_workers)
        deep = self._deep(reading, state, capped)
        if not deep and state.above_cycles < tuned.cycles_above:
            return hold(f"{state.above_cycles} of {tuned.cycles_above} consecutive cycles")
        grown = replace(
            busy,
            target=wanted,
            level=float(capped),
            above_cycles=0,
            help=state.help.step_up(target, tuned.cycle_s, tuned.help_check),
        )
        lasting = state.above_cycles >= tuned.cycles_above
        why = (
            f"{above} for {state.above_cycles} consecutive cycles"
            if lasting
            else f"{above}, and deep enough for {capped} workers at once"
        )
        return bounded(grown, target, limits, why)

    def _deep(self, reading: Reading, state: PwqdState, wanted: int) -> bool:
        """Tell whether the backlog justifies `wanted` workers without waiting any longer.

        It must be many jobs for each of them and, at the rate measured so far, work for many
        cycles: ten thousand jobs of 50 us are gone before a thread has started.
        """
        tuned = self.settings
        if reading.backlog / wanted <= tuned.deep_factor * tuned.threshold_pwqd:
            return False
        per_worker = state.finished_per_s * tuned.cycle_s / max(reading.workers, 1)  # a cycle
        if reading.backlog <= per_worker * wanted * tuned.deep_cycles:
            return False
        # Very short jobs are often bound to the processor, which more threads only slow down.
        # Their rate is known within two cycles, so it costs little to have a baseline first.
        check = tuned.help_check
        short = check.enabled and per_worker > tuned.short_jobs
        return not short or state.help.window.cycles >= check.min_cycles

    def _relax(
        self, reading: Reading, state: PwqdState, elapsed_s: float, limits: Limits
    ) -> Decision:
        tuned, target = self.settings, state.target
        if reading.pwqd > tuned.quiet_pwqd:
            kept = replace(state, quiet_s=0.0, level=float(target))
            return bounded(kept, target, limits, f"PWQD {reading.pwqd:.1f} needs the workers")
        quiet_s = state.quiet_s + elapsed_s
        if target <= limits.min_workers:
            rested = replace(state, quiet_s=quiet_s, level=float(target))
            return bounded(rested, target, limits, f"at the base, PWQD {reading.pwqd:.1f}")
        if quiet_s < tuned.hold_s:
            held = replace(state, quiet_s=quiet_s, level=float(target))
            reason = f"no backlog for {quiet_s:.0f} s, held until {tuned.hold_s:.0f} s"
            return bounded(held, target, limits, reason, ("hold",))
        needed = state.busy * (1 + tuned.headroom)
        above = max(min(state.level, target) - needed, 0.0)
        level = min(needed + above * math.exp(-elapsed_s / tuned.tau_s), float(target))
        decayed = replace(state, quiet_s=quiet_s, level=level)
        wanted = max(math.ceil(level), limits.min_workers)
        reason = f"no backlog for {quiet_s:.0f} s, decay towards {needed:.1f} needed workers"
        if wanted > target * (1 - tuned.shrink_share) and wanted > limits.min_workers:
            return bounded(decayed, target, limits, reason)
        return bounded(replace(decayed, target=wanted), target, limits, reason)
