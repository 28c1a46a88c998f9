"""As many workers as there are jobs to run, as Celery's autoscaler has it.

    more     at once: one worker for each job that is running or could run
    fewer    when the last rise was keep_alive_s ago: as many as have a job

The length of jobs plays no part, so short jobs get many more workers than they need.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from coordinator.policy.base import FIRST_LOOK, Policy, PolicySettings, bounded, setting
from coordinator.policy.demand import busy_workers, waiting
from coordinator.policy.model import Decision, Limits, PolicyState, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilisationSettings(PolicySettings):
    """Times in seconds."""

    cycle_s: float = 1.0
    keep_alive_s: float = setting(30.0, "Time after the last rise before workers are removed.")

    def __post_init__(self) -> None:
        self.require_above_zero("cycle_s")
        self.require_not_negative("keep_alive_s")


class UtilisationState(PolicyState, frozen=True, kw_only=True):
    """`risen_s`: the observed time since the last rise; `at_s`: of the last reading."""

    at_s: float | None = None
    risen_s: float = 0.0


class UtilisationPolicy(Policy[UtilisationSettings, UtilisationState]):
    """One worker for each job, and idle ones kept alive for a while."""

    name = "utilisation"
    version = 1

    def on_reading(self, reading: Reading, state: UtilisationState, limits: Limits) -> Decision:
        elapsed_s = reading.observed_s(state.at_s, self.settings.cycle_s)
        seen = replace(state, at_s=reading.at_s, risen_s=state.risen_s + elapsed_s)
        if state.at_s is None:
            return bounded(seen, state.target, limits, FIRST_LOOK)
        jobs = busy_workers(reading) + waiting(reading)
        keep_s = self.settings.keep_alive_s
        if jobs > state.target:
            grown = replace(seen, target=jobs, risen_s=0.0)
            return bounded(grown, state.target, limits, f"{jobs} jobs to run")
        if jobs < state.target and state.target > limits.min_workers and seen.risen_s < keep_s:
            reason = (
                f"{jobs} jobs to run, the last rise was {seen.risen_s:.0f} of {keep_s:.0f} s ago"
            )
            return bounded(seen, state.target, limits, reason, ("hold",))
        return bounded(replace(seen, target=jobs), state.target, limits, f"{jobs} jobs to run")
