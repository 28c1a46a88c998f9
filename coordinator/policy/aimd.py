"""Experiment 1: congestion control as in TCP. Calm, and slow for the second burst.

Below the slow-start threshold it doubles, above it adds a few workers per cycle; when the
load is gone it halves and remembers half of the peak as the next slow-start threshold (RFC 5681
does the same to a congestion window). That memory is what makes the second burst slow.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from coordinator.policy.base import FIRST_LOOK, Policy, PolicySettings, bounded, setting
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class AimdSettings(PolicySettings):
    """Thresholds in jobs per worker, steps in workers, times in seconds."""

    threshold_pwqd: float = setting(4.0)
    low_pwqd: float = setting(1.0, "Waiting jobs per worker below which workers are removed.")
    add_workers: int = setting(4, "Workers added per step after slow start.")
    shrink_factor: float = setting(0.5, "Share of workers kept when shrinking.")
    hold_s: float = setting(30.0)  # before each multiplicative decrease
    cycle_s: float = 1.0

    def __post_init__(self) -> None:
        self.require_not_negative("low_pwqd", "hold_s")
        self.require_above_zero("cycle_s")
        self.require_above("threshold_pwqd", "low_pwqd")
        require(self.add_workers >= 1, f"add_workers={self.add_workers} must be at least 1")
        require(
            0 < self.shrink_factor < 1,
            f"shrink_factor={self.shrink_factor} must lie between 0 and 1",
        )


class AimdState(PolicyState, frozen=True, kw_only=True):
    """`slow_start` is the count up to which it doubles; None until a first decrease sets it."""

    at_s: float | None = None
    slow_start: int | None = None
    quiet_s: float = 0.0


class AimdPolicy(Policy[AimdSettings, AimdState]):
    """Double up to a learned threshold, then add; halve when quiet."""

    name = "aimd"
    version = 1

    def on_reading(self, reading: Reading, state: AimdState, limits: Limits) -> Decision:
        seen = replace(state, at_s=reading.at_s)
        if state.at_s is None:
            return bounded(seen, state.target, limits, FIRST_LOOK)
        if reading.pwqd > self.settings.threshold_pwqd:
            return self._grow(reading, seen, limits)
        if reading.pwqd < self.settings.low_pwqd:
            elapsed_s = reading.observed_s(state.at_s, self.settings.cycle_s)
            return self._shrink(seen, state.quiet_s + elapsed_s, limits)
        reason = f"PWQD {reading.pwqd:.1f} is within bounds"
        return bounded(replace(seen, quiet_s=0.0), state.target, limits, reason)

    def _grow(self, reading: Reading, state: AimdState, limits: Limits) -> Decision:
        above = f"PWQD {reading.pwqd:.1f} above {self.settings.threshold_pwqd:.1f}"
        if state.slow_start is None or state.target < state.slow_start:
            wanted, how = 2 * state.target, "slow start doubles"
            if state.slow_start is not None:
                wanted = min(wanted, state.slow_start)
        else:
            wanted = state.target + self.settings.add_workers
            how = f"past slow start, {self.settings.add_workers} more"
        grown = replace(state, target=wanted, quiet_s=0.0)
        return bounded(grown, state.target, limits, f"{above}: {how}")

    def _shrink(self, state: AimdState, quiet_s: float, limits: Limits) -> Decision:
        settings = self.settings
        if quiet_s < settings.hold_s or state.target <= limits.min_workers:
            reason = f"quiet for {quiet_s:.0f} s of {settings.hold_s:.0f}"
            return bounded(replace(state, quiet_s=quiet_s), state.target, limits, reason)
        shrunk = replace(
            state,
            target=int(state.target * settings.shrink_factor),
            slow_start=max(state.target // 2, limits.min_workers),
            quiet_s=0.0,
        )
        return bounded(
            shrunk,
            state.target,
            limits,
            f"quiet for {quiet_s:.0f} s: shrink to {settings.shrink_factor:.0%}",
        )
