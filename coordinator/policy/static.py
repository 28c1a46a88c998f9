"""A fixed number of workers: a baseline for the others, and for manual operation."""

from dataclasses import dataclass

from coordinator.policy.base import Policy, PolicySettings, bounded, setting
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSettings(PolicySettings):
    """How many workers to keep; by default the minimum of the limits."""

    workers: int | None = setting(None, "The fixed worker count.")

    def __post_init__(self) -> None:
        require(
            self.workers is None or self.workers >= 1,
            f"workers={self.workers} must be at least 1, or left out",
        )


class StaticPolicy(Policy[StaticSettings, PolicyState]):
    """Keeps one count, whatever is observed."""

    name = "static"
    version = 1

    def on_reading(self, _reading: Reading, state: PolicyState, limits: Limits) -> Decision:
        wanted = self.settings.workers
        fixed = PolicyState(target=limits.min_workers if wanted is None else wanted)
        return bounded(fixed, state.target, limits, f"fixed at {fixed.target} workers")
