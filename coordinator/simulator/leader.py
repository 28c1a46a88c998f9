"""A leading coordinator in virtual time: the real planner, cycle by cycle. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coordinator.core.model import Observation, ScaleCommand
from coordinator.core.planner import CyclePlan, PartitionMemory, Planner
from coordinator.policy import Limits


class SimulatedLeader:
    """Observes and decides. Its memories are lost with it, as a process's are."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self._epoch = 1_000
        self._memories: Mapping[int, PartitionMemory] = {}
        self._away_until_s = -1.0
        self._blind: dict[int, float] = {}  # partition -> until when

    def go_away(self, now_s: float, for_s: float) -> None:
        """Stop leading; after a while another coordinator does, which knows nothing."""
        self._away_until_s = now_s + for_s
        self._memories = {}
        self._epoch += 1

    def go_blind(self, partitions: Sequence[int], until_s: float) -> None:
        """Fail to observe these partitions until then."""
        self._blind.update(dict.fromkeys(partitions, until_s))

    def change_bounds(self, bounds: Limits) -> None:
        """Decide within other bounds from now on."""
        self.planner = replace(self.planner, limits=bounds)

    def cycle(self, observations: Sequence[Observation], now_s: float) -> CyclePlan | None:
        """Return what to do now, or None while no one leads."""
        if now_s <= self._away_until_s:
            return None
        seen = [
            one
            if now_s > self._blind.get(one.partition, -1.0)
            else Observation(partition=one.partition, at_s=now_s, problem="no answer")
            for one in observations
        ]
        plan = self.planner.plan(self._epoch, self._memories, seen, {}, now_s)
        self._memories = plan.memories
        return plan

    def command_id(self, command: ScaleCommand) -> str:
        """Return the id under which a command is sent."""
        return f"{self._epoch}-{command.sequence}"
