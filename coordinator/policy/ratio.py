"""Experiment 0: exponential both ways on PWQD. Quick, and it oscillates.

It doubles in every cycle above the upper threshold and halves in every cycle below the lower
one. Halving on the first quiet cycle is what makes it oscillate: a load that comes in bursts is
met with few workers each time. It is kept as the baseline that the default has to beat.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from coordinator.policy.base import FIRST_LOOK, Policy, PolicySettings, bounded, setting
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioSettings(PolicySettings):
    """The band of PWQD, in jobs per worker, inside which the count stays."""

    threshold_pwqd: float = setting(4.0)
    low_pwqd: float = setting(1.0)
    step_factor: float = setting(2.0)

    def __post_init__(self) -> None:
        self.require_not_negative("low_pwqd")
        self.require_above("threshold_pwqd", "low_pwqd")
        require(self.step_factor > 1, f"step_factor={self.step_factor} must exceed 1")


class RatioState(PolicyState, frozen=True, kw_only=True):
    """The target, and whether anything was observed since this state began."""

    observed: bool = False


class RatioPolicy(Policy[RatioSettings, RatioState]):
    """Double above the threshold, halve below the lower one."""

    name = "ratio"
    version = 1

    def on_reading(self, reading: Reading, state: RatioState, limits: Limits) -> Decision:
        if not state.observed:
            return bounded(replace(state, observed=True), state.target, limits, FIRST_LOOK)
        wanted, reason = self._wanted(reading, state.target)
        return bounded(RatioState(target=wanted, observed=True), state.target, limits, reason)

    def _wanted(self, reading: Reading, target: int) -> tuple[int, str]:
        settings, pwqd = self.settings, reading.pwqd
        if pwqd > settings.threshold_pwqd:
            grown = max(int(target * settings.step_factor), target + 1)
            return grown, f"PWQD {pwqd:.1f} above {settings.threshold_pwqd:.1f}"
        if pwqd < settings.low_pwqd:
            return int(
                target / settings.step_factor
            ), f"PWQD {pwqd:.1f} below {settings.low_pwqd:.1f}"
        return target, (
            f"PWQD {pwqd:.1f} between {settings.low_pwqd:.1f} and {settings.threshold_pwqd:.1f}"
        )
