"""One cycle of a leader, as it happened: everything that its decisions follow from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coordinator.core.memory import PartitionMemory
from coordinator.core.model import Observation
from coordinator.core.planner import CyclePlan, Planner


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """The arguments of one `Planner.plan`, and its result; only references, so it costs nothing.

    memories: those before the cycle. plan: None if nobody decided.
    """

    planner: Planner
    epoch: int
    memories: Mapping[int, PartitionMemory]
    observations: Sequence[Observation]
    manual: Mapping[int, int]
    now_s: float
    now_ms: int
    plan: CyclePlan | None

    def planned_by(self, planner: Planner) -> CyclePlan:
        """Return what a planner decides in this cycle."""
        return planner.plan(
            self.epoch,
            self.memories,
            self.observations,
            self.manual,
            self.now_s,
            now_ms=self.now_ms,
        )
