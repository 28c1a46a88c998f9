"""Experiment 1: congestion control as in TCP. Calm, and slow for the second burst.

Below the slow-start threshold it doubles, above it adds a few workers per cycle; when the
load is gone it halves and remembers half of the peak as the next slow-start threshold (RFC 5681
does the same to a congestion window). That memory is what makes the second burst slow.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from coordinator.policy.cycle import FIRST, MISSING, bounded, observed_s
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class AimdSettings:
    """Thresholds in jobs per worker, steps in workers, times in seconds."""

    threshold_pwqd: float = 4.0
    low_pwqd: float = 1.0
    add_workers: int = 4
    shrink_factor: float = 0.5
    hold_s: float = 30.0  # quiet time before each multiplicative decrease
    cycle_s: float = 1.0

    def __post_init__(self) -> None:
        require(self.low_pwqd >= 0, f"low_pwqd={self.low_pwqd} must not be negative")
        require(
            self.threshold_pwqd > self.low_pwqd,
            f"threshold_pwqd={self.threshold_pwqd} must exceed low_pwqd={self.low_pwqd}",
        )
        require(self.add_workers >= 1, f"add_workers={self.add_workers} must be at least 1")
        require(
            0 < self.shrink_factor < 1,
            f"shrink_factor={self.shrink_factor} must lie between 0 and 1",
        )
        require(self.hold_s >= 0, f"hold_s={self.hold_s} must not be negative")
        require(self.cycle_s > 0, f"cycle_s={self.cycle_s} must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class AimdState(PolicyState):
    """`slow_start` is the count up to which it doubles; None until a first decrease sets it."""

    at_s: float | None = None
    slow_start: int | None = None
    quiet_s: float = 0.0


@dataclass(frozen=True, slots=True)
class AimdPolicy:
    """Double up to a learned threshold, then add; halve when quiet."""

    name: ClassVar[str] = "aimd"
    version: ClassVar[int] = 1
    settings: AimdSettings = field(default_factory=AimdSettings)

    def initial(self, target: int) -> AimdState:
        return AimdState(target=target)

    def decide(self, reading: Reading | None, state: PolicyState, limits: Limits) -> Decision:
        if reading is None:
            return bounded(state, state.target, limits, MISSING)
        own = state if isinstance(state, AimdState) else self.initial(state.target)
        seen = replace(own, at_s=reading.at_s)
        if own.at_s is None:
            return bounded(seen, own.target, limits, FIRST)
        if reading.pwqd > self.settings.threshold_pwqd:
            return self._grow(reading, seen, limits)
        if reading.pwqd < self.settings.low_pwqd:
            elapsed_s = observed_s(reading, own.at_s, self.settings.cycle_s)
            return self._shrink(seen, own.quiet_s + elapsed_s, limits)
        reason = f"PWQD {reading.pwqd:.1f} is content"
        return bounded(replace(seen, quiet_s=0.0), own.target, limits, reason)

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
        tuned = self.settings
        if quiet_s < tuned.hold_s or state.target <= limits.min_workers:
            reason = f"quiet for {quiet_s:.0f} s of {tuned.hold_s:.0f}"
            return bounded(replace(state, quiet_s=quiet_s), state.target, limits, reason)
        shrunk = replace(
            state,
            target=int(state.target * tuned.shrink_factor),
            slow_start=max(state.target // 2, limits.min_workers),
            quiet_s=0.0,
        )
        return bounded(
            shrunk,
            state.target,
            limits,
            f"quiet for {quiet_s:.0f} s: shrink to {tuned.shrink_factor:.0%}",
        )
