"""As many workers as finish the backlog within a target wait, besides those that are busy.

    target = busy + backlog x seconds per job / wait_s

(A frequently copied formula divides by the seconds per job.) It follows every reading in both
directions, so it changes the count in almost every cycle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace

from coordinator.policy.base import FIRST_LOOK, Policy, PolicySettings, bounded, setting
from coordinator.policy.demand import Demand, busy_workers, waiting
from coordinator.policy.model import Decision, Limits, PolicyState, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetWaitSettings(PolicySettings):
    """Times in seconds."""

    cycle_s: float = 1.0
    wait_s: float = setting(2.0, "Time within which the backlog should have started.")

    def __post_init__(self) -> None:
        self.require_above_zero("cycle_s", "wait_s")


class TargetWaitState(PolicyState, frozen=True, kw_only=True):
    """The target, and what was measured of the jobs."""

    demand: Demand = Demand()

    @property
    def measured(self) -> Demand:
        """Return what was measured of the jobs."""
        return self.demand


class TargetWaitPolicy(Policy[TargetWaitSettings, TargetWaitState]):
    """Size the pool so that the backlog starts within a target wait."""

    name = "target-wait"
    version = 2
    figure_names = ("busy", "waiting", "service_s", "wait_s")

    def on_reading(self, reading: Reading, state: TargetWaitState, limits: Limits) -> Decision:
        last = state.demand
        problem = last.problem(reading)
        if problem:
            older = last.at_s is not None and reading.at_s <= last.at_s
            kept = state if older else replace(state, demand=last.restart(reading))
            return bounded(kept, state.target, limits, f"{problem}: held")
        demand = last.observe(reading, self.settings.cycle_s)
        if last.at_s is None:
            return bounded(replace(state, demand=demand), state.target, limits, FIRST_LOOK)
        busy, jobs, wait_s = busy_workers(reading), waiting(reading), self.settings.wait_s
        wanted = busy + workers_for(jobs, demand.service_s, wait_s)
        reason = (
            f"{busy} busy, and {jobs} waiting jobs of {demand.service_s:.3g} s within {wait_s:g} s"
        )
        figures = (busy, jobs, demand.service_s, wait_s)
        seen = TargetWaitState(target=wanted, demand=demand)
        return bounded(seen, state.target, limits, reason, figures=figures)


def workers_for(backlog: int, service_s: float, wait_s: float) -> int:
    """Return how many workers start this backlog within the target wait (Little's law)."""
    return math.ceil(backlog * service_s / wait_s)
