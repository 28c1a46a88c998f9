"""A fixed number of workers: the policy to compare the others with, and the manual gearbox."""

from dataclasses import dataclass, field
from typing import ClassVar

from coordinator.policy.cycle import MISSING, bounded
from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSettings:
    """How many workers to keep; without a number, the minimum of the limits."""

    workers: int | None = None

    def __post_init__(self) -> None:
        require(
            self.workers is None or self.workers >= 1,
            f"workers={self.workers} must be at least 1, or left out",
        )


@dataclass(frozen=True, slots=True)
class StaticPolicy:
    """Keep one count, whatever is observed."""

    name: ClassVar[str] = "static"
    version: ClassVar[int] = 1
    settings: StaticSettings = field(default_factory=StaticSettings)

    def initial(self, target: int) -> PolicyState:
        return PolicyState(target=target)

    def decide(
        self,
        reading: Reading | None,
        state: PolicyState,
        limits: Limits,
    ) -> Decision:
        if reading is None:
            return bounded(state, state.target, limits, MISSING)
        wanted = self.settings.workers
        fixed = PolicyState(target=limits.min_workers if wanted is None else wanted)
        return bounded(fixed, state.target, limits, f"fixed at {fixed.target} workers")
