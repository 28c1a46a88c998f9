"""Cycles of simulated leaders, as a feed would hand them over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core.memory import PartitionMemory
from coordinator.core.model import Observation
from coordinator.core.planner import CyclePlan, Planner
from coordinator.core.replay.cycle import Cycle
from coordinator.policy import Limits, Policy, make_policy
from coordinator.simulator.engine import simulate
from coordinator.simulator.leader import SimulatedLeader
from coordinator.simulator.scenario import Burst, Event, Flow, Limit, Scenario, Stream
from tests.unit.coordinator.observed import EPOCH, World, state

Change = Callable[[Planner], Planner]


def bursty(
    until_s: float = 90.0,
    *,
    partitions: int = 2,
    per_s: float = 40.0,
    events: tuple[Event, ...] = (),
    count: int = 900,
) -> Scenario:
    """Steady load, a bulk, and jobs of a limit."""
    steady = Stream(
        name="steady",
        arrivals=(Flow(from_s=0, until_s=until_s, per_s=per_s), Burst(at_s=20.5, count=count)),
        service_s=0.2,
        cv=1.0,
        lanes=8,
    )
    mail = Stream(name="mail", arrivals=(Burst(at_s=5, count=200),), service_s=0.1, limit="mail")
    return Scenario(
        streams=(steady, mail),
        limits=(Limit(name="mail", per_s=5.0),),
        partitions=partitions,
        bounds=Limits(min_workers=4, max_workers=48),
        reports_s=1.0,
        until_s=until_s,
        events=events,
    )


def cycles_of(
    scenario: Scenario, policy: Policy[Any, Any] | None = None, change: Change | None = None
) -> list[Cycle]:
    """Run a scenario; return what its leader saw and decided. change: of its planner."""
    found: list[Cycle] = []
    made: dict[int, Planner] = {}  # of a leader, whose planner is replaced by events only

    def cycle(
        self: SimulatedLeader, observations: Sequence[Observation], now_s: float
    ) -> CyclePlan | None:
        before = self._memories
        if change is not None and id(self.planner) not in made:
            self.planner = change(self.planner)
            made[id(self.planner)] = self.planner
        seen: list[Observation] = []
        planner = self.planner

        class Seeing:
            def plan(self, *arguments: Any, **named: Any) -> CyclePlan:
                seen.extend(arguments[2])
                return planner.plan(*arguments, **named)

        self.planner = Seeing()  # type: ignore[assignment]
        try:
            plan = original(self, observations, now_s)
        finally:
            self.planner = planner
        if plan is not None:
            found.append(
                Cycle(
                    planner=planner,
                    epoch=self._epoch,
                    memories=before,
                    observations=seen,
                    manual={},
                    now_s=now_s,
                    now_ms=0,
                    plan=plan,
                )
            )
        return plan

    original = SimulatedLeader.cycle
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimulatedLeader, "cycle", cycle)
        simulate(scenario, policy or make_policy("sized"))
    return found


def bounded_cycles(
    world: World, manual: Mapping[int, int], seconds: int = 60, memories: Any = None
) -> list[Cycle]:
    """Return what happens where a consumer obeys within its own maximum, a cycle in each second."""
    planner = Planner(policy=world.policy, limits=world.limits)
    found: list[Cycle] = []
    known: Mapping[int, PartitionMemory] = memories or {}
    for _ in range(seconds):
        world.now_s, world.done = world.now_s + 1.0, world.done + 10
        seen = state(world.consumer, backlog=world.backlog, done=world.done)
        cycle = Cycle(
            planner=planner,
            epoch=EPOCH,
            memories=known,
            observations=[Observation(partition=0, at_s=world.now_s, state=seen)],
            manual=manual,
            now_s=world.now_s,
            now_ms=0,
            plan=None,
        )
        plan = cycle.planned_by(planner)
        found.append(replace(cycle, plan=plan))
        known = plan.memories
        for command in plan.commands:
            world.apply(command)
    return found
