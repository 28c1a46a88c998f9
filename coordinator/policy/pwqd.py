"""Experiment 2: exponential up on a lasting PWQD, time decay down.

    up      at once when the backlog alone justifies the larger pool, else after k consecutive
            cycles above the threshold; a step is at most max(2x, +8)
    check   a step that did not raise completions is undone (see `gain_check`)
    hold    30 s after the last step up and after the last moment with a backlog
    down    exponential decay towards the workers that the load keeps busy, never below min

The slow decrease is what helps with a second burst: it finds most of the workers still there.
"""

import math
from dataclasses import dataclass, field

from msgspec.structs import replace

from coordinator.policy.base import FIRST_LOOK, Policy, PolicySettings, bounded, setting
from coordinator.policy.gain_check import GainCheckSettings, StepTrial, Verdict
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class PwqdSettings(PolicySettings):
    """Thresholds in jobs per worker, times in seconds, cycles counted."""

    cycle_s: float = 1.0  # time between two readings
    threshold_pwqd: float = setting(4.0, "Waiting jobs per worker above which workers are added.")
    quiet_pwqd: float = setting(1.0, "Waiting jobs per worker up to which workers may be removed.")
    cycles_above: int = setting(3, "Consecutive cycles above the threshold before a step.")
    deep_factor: float = 4.0  # at once if PWQD after the step still exceeds this x threshold...
    deep_cycles: float = 10.0  # ...and the backlog would last the larger pool this many cycles
    short_jobs: float = 20.0  # a worker that ends more jobs than this in a cycle has short ones
    step_factor: float = setting(2.0, "Factor by which a step grows the workers.")
    step_workers: int = setting(8, "Minimum workers that a step adds.")
    hold_s: float = setting(30.0, "Quiet time before workers are removed.")
    tau_s: float = setting(60.0, "Time constant of the decay.")
    headroom: float = setting(0.15, "Spare share of workers above the busy ones.")
    busy_smoothing_s: float = 10.0
    shrink_share: float = 0.1  # smaller steps down than this share of the pool are saved up
    gain_check: GainCheckSettings = field(default_factory=GainCheckSettings)

    def __post_init__(self) -> None:
        self.require_above_zero("cycle_s", "tau_s", "busy_smoothing_s", "deep_factor", "short_jobs")
        self.require_not_negative("quiet_pwqd", "hold_s", "headroom", "deep_cycles", "step_workers")
        self.require_above("threshold_pwqd", "quiet_pwqd")
        require(self.cycles_above >= 1, f"cycles_above={self.cycles_above} must be at least 1")
        require(self.step_factor > 1, f"step_factor={self.step_factor} must exceed 1")
        require(
            0 <= self.shrink_share < 1,
            f"shrink_share={self.shrink_share} must be at least 0 and below 1",
        )


class PwqdState(PolicyState, frozen=True, kw_only=True):
    """What one cycle leaves for the next; `at_s` is None until the first observation."""

    at_s: float | None = None
    finished_total: int = 0
    finished_per_s: float = 0.0  # in the last cycle
    above_cycles: int = 0  # consecutive cycles above the threshold, since the last step
    above: bool = False  # the last reading was above the threshold
    quiet_s: float = 0.0  # observed time since the last step up or backlog
    busy: float = 0.0  # smoothed busy workers
    level: float = 0.0  # the decaying, unrounded target
    trial: StepTrial = StepTrial()


class PwqdPolicy(Policy[PwqdSettings, PwqdState]):
    """Scale on per-worker queue depth."""

    name = "pwqd"
    version = 1

    def initial(self, target: int) -> PwqdState:
        return PwqdState(target=target, level=float(target))

    def on_reading(self, reading: Reading, state: PwqdState, limits: Limits) -> Decision:
        seen = self._observe(reading, state)
        if state.at_s is None:
            return bounded(seen, state.target, limits, FIRST_LOOK)
        if seen.trial.judge(self.settings.gain_check) is Verdict.NO_GAIN:
            return self._take_back(seen, limits)
        if seen.above:
            return self._grow(reading, seen, limits)
        elapsed_s = reading.observed_s(state.at_s, self.settings.cycle_s)
        return self._relax(reading, seen, elapsed_s, limits)

    def _observe(self, reading: Reading, last: PwqdState) -> PwqdState:
        """Return the state with this reading's measurements and the target unchanged."""
        settings = self.settings
        above = reading.pwqd > settings.threshold_pwqd
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
        elapsed_s = reading.observed_s(last.at_s, settings.cycle_s)
        finished = reading.finished_total - last.finished_total
        weight = 1 - math.exp(-elapsed_s / settings.busy_smoothing_s)
        return replace(
            seen,
            finished_per_s=max(finished, 0) / seconds if seconds > 0 else last.finished_per_s,
            busy=last.busy + (reading.busy - last.busy) * weight,
            trial=last.trial.observe(
                workers=reading.workers,
                seconds=seconds,
                finished=finished,
                # A counter that fell back (lost writes) says nothing about this cycle.
                saturated=above and last.above and finished >= 0,
                elapsed_s=elapsed_s,
                settings=settings.gain_check,
            ),
        )

    def _take_back(self, state: PwqdState, limits: Limits) -> Decision:
        before, after = state.trial.before, state.trial.window
        assert before is not None  # noqa: S101 - for the type; a verdict needs a trial
        back = replace(
            state,
            target=before.workers,
            level=float(before.workers),
            above_cycles=0,
            quiet_s=0.0,
            trial=state.trial.take_back(self.settings.gain_check),
        )
        reason = (
            f"{after.workers} workers finish {after.per_s:.1f} jobs/s, {before.workers} finished "
            f"{before.per_s:.1f}: no gain, back for {back.trial.pause_left_s:.0f} s"
        )
        return bounded(back, state.target, limits, reason, ("gain_check",))

    def _grow(self, reading: Reading, state: PwqdState, limits: Limits) -> Decision:
        settings, target = self.settings, state.target
        busy = replace(state, quiet_s=0.0, level=float(target))
        above = f"PWQD {reading.pwqd:.1f} above {settings.threshold_pwqd:.1f}"

        def hold(why: str, *clamps: str) -> Decision:
            return bounded(busy, target, limits, f"{above}, {why}", clamps)

        if target >= limits.max_workers:
            return hold(f"held at the maximum of {limits.max_workers}", "max_workers")
        if reading.workers < target:
            return hold(f"{reading.workers} of {target} workers have started", "starting")
        if state.trial.pause_left_s > 0:
            return hold(
                f"the last step did not help, next try in {state.trial.pause_left_s:.0f} s",
                "gain_check",
            )
        if state.trial.before is not None:
            return hold("still measuring whether the last step helps", "gain_check")
        wanted = max(int(target * settings.step_factor), target + settings.step_workers, target + 1)
        capped = min(wanted, limits.max_workers)
        deep = self._deep(reading, state, capped)
        if not deep and state.above_cycles < settings.cycles_above:
            return hold(f"{state.above_cycles} of {settings.cycles_above} consecutive cycles")
        grown = replace(
            busy,
            target=wanted,
            level=float(capped),
            above_cycles=0,
            trial=state.trial.step_up(target, settings.cycle_s, settings.gain_check),
        )
        lasting = state.above_cycles >= settings.cycles_above
        why = (
            f"{above} for {state.above_cycles} consecutive cycles"
            if lasting
            else f"{above}, and deep enough for {capped} workers at once"
        )
        return bounded(grown, target, limits, why)

    def _deep(self, reading: Reading, state: PwqdState, wanted: int) -> bool:
        """Return whether the backlog justifies `wanted` workers without waiting any longer.

        It must contain many jobs for each of them and, at the rate measured so far, work for many
        cycles: ten thousand jobs of 50 us are done before a thread has started.
        """
        settings = self.settings
        if reading.backlog / wanted <= settings.deep_factor * settings.threshold_pwqd:
            return False
        per_worker = state.finished_per_s * settings.cycle_s / max(reading.workers, 1)  # a cycle
        if reading.backlog <= per_worker * wanted * settings.deep_cycles:
            return False
        # Very short jobs are often CPU-bound, and more threads only slow them down.
        # Their rate is known within two cycles, so measuring a baseline first costs little.
        check = settings.gain_check
        short = check.enabled and per_worker > settings.short_jobs
        return not short or state.trial.window.cycles >= check.min_cycles

    def _relax(
        self, reading: Reading, state: PwqdState, elapsed_s: float, limits: Limits
    ) -> Decision:
        settings, target = self.settings, state.target
        if reading.pwqd > settings.quiet_pwqd:
            kept = replace(state, quiet_s=0.0, level=float(target))
            return bounded(kept, target, limits, f"PWQD {reading.pwqd:.1f} needs the workers")
        quiet_s = state.quiet_s + elapsed_s
        if target <= limits.min_workers:
            rested = replace(state, quiet_s=quiet_s, level=float(target))
            return bounded(rested, target, limits, f"at the base, PWQD {reading.pwqd:.1f}")
        if quiet_s < settings.hold_s:
            held = replace(state, quiet_s=quiet_s, level=float(target))
            reason = f"no backlog for {quiet_s:.0f} s, held until {settings.hold_s:.0f} s"
            return bounded(held, target, limits, reason, ("hold",))
        needed = state.busy * (1 + settings.headroom)
        above = max(min(state.level, target) - needed, 0.0)
        level = min(needed + above * math.exp(-elapsed_s / settings.tau_s), float(target))
        decayed = replace(state, quiet_s=quiet_s, level=level)
        wanted = max(math.ceil(level), limits.min_workers)
        reason = f"no backlog for {quiet_s:.0f} s, decay towards {needed:.1f} needed workers"
        if wanted > target * (1 - settings.shrink_share) and wanted > limits.min_workers:
            return bounded(decayed, target, limits, reason)
        return bounded(replace(decayed, target=wanted), target, limits, reason)
