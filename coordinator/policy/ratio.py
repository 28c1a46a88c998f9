"""Experiment 0: exponential both ways on PWQD. Quick, and it oscillates.

It doubles in every cycle above the upper threshold and halves in every cycle below the lower
one. Halving on the first quiet cycle is what makes it swing: a load that comes in bursts is
met with few workers each time. It is kept as the baseline that the default has to beat.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from coordinator.policy.cycle import FIRST, MISSING, bounded
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioSettings:
    """The band of PWQD, in jobs per worker, inside which the count stays."""

    threshold_pwqd: float = 4.0
    low_pwqd: float = 1.0
    step_factor: float = 2.0

    def __post_init__(self) -> None:
        require(self.low_pwqd >= 0, f"low_pwqd={self.low_pwqd} must not be negative")
        require(
            self.threshold_pwqd > self.low_pwqd,
            f"threshold_pwqd={self.threshold_pwqd} must exceed low_pwqd={self.low_pwqd}",
        )
        require(self.step_factor > 1, f"step_factor={self.step_factor} must exceed 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioState(PolicyState):
    """The target, and whether anything was observed since this state began."""

    observed: bool = False


@dataclass(frozen=True, slots=True)
class RatioPolicy:
    """Double above the threshold, halve below the lower one."""

    name: ClassVar[str] = "ratio"
    version: ClassVar[int] = 1
    settings: RatioSettings = field(default_factory=RatioSettings)

    def initial(self, target: int) -> RatioState:
        return RatioState(target=target)

    def decide(self, reading: Reading | None, state: PolicyState, limits: Limits) -> Decision:
        if reading is None:
            return bounded(state, state.target, limits, MISSING)
        if not (isinstance(state, RatioState) and state.observed):
            seen = RatioState(target=state.target, observed=True)
            return bounded(seen, state.target, limits, FIRST)
        wanted, reason = self._wanted(reading, state.target)
        return bounded(RatioState(target=wanted, observed=True), state.target, limits, reason)

    def _wanted(self, reading: Reading, target: int) -> tuple[int, str]:
        tuned, pwqd = self.settings, reading.pwqd
        if pwqd > tuned.threshold_pwqd:
            grown = max(int(target * tuned.step_factor), target + 1)
            return grown, f"PWQD {pwqd:.1f} above {tuned.threshold_pwqd:.1f}"
        if pwqd < tuned.low_pwqd:
            return int(target / tuned.step_factor), f"PWQD {pwqd:.1f} below {tuned.low_pwqd:.1f}"
        return target, (
            f"PWQD {pwqd:.1f} between {tuned.low_pwqd:.1f} and {tuned.threshold_pwqd:.1f}"
        )
