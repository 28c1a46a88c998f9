"""Waits for the outcome of each change: what is seen some cycles later.

A decision that follows sooner tells it by its own inputs, so nothing else is stored then.
"""

from __future__ import annotations

from collections.abc import Mapping

from coordinator.core.planner import CyclePlan
from coordinator.decisions.stored import Outcome, encode_outcome
from coordinator.policy import Direction

CYCLES = 5


class Outcomes:
    """The changes whose outcome is not known yet, of one leadership. Used by one thread."""

    def __init__(self) -> None:
        self._waiting: dict[int, int] = {}  # partition -> cycle of its last change

    def texts(
        self, epoch: int, cycle: int, plan: CyclePlan, seen: Mapping[int, tuple[int, float]]
    ) -> list[tuple[int, bytes]]:
        """Return (partition, text) of the outcomes that are known now, and note new changes.

        seen: partition -> (ms, executions that ended per second).
        """
        for decision in plan.notable:
            if decision.direction is not Direction.HOLD:
                self._waiting[decision.partition] = cycle
            elif decision.inputs is not None:
                self._waiting.pop(decision.partition, None)
        if not self._waiting:
            return []
        found = []
        for decision in plan.decisions:
            since, inputs = self._waiting.get(decision.partition), decision.inputs
            if since is None or inputs is None or cycle - since < CYCLES:
                continue
            del self._waiting[decision.partition]
            at_ms, finished_per_s = seen[decision.partition]
            outcome = Outcome(
                at_ms=at_ms,
                cycles=cycle - since,
                workers=inputs.workers,
                busy=inputs.busy,
                backlog=inputs.backlog,
                finished_per_s=finished_per_s,
            )
            found.append((decision.partition, encode_outcome(epoch, since, outcome)))
        return found
