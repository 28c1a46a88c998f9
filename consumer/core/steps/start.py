"""Reports which jobs started, so that a crash is charged to them: suspects before they start."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core.steps.step import Step
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb


class Start(Step):
    """Only suspects make a turn due; jobs started from memory are reported with the next one."""

    def __init__(self, state: State) -> None:
        self._state, self._in_flight = state, state.in_flight

    def due_s(self, now_s: float) -> float:
        in_flight = self._in_flight
        return in_flight.suspects.due_s(now_s) if in_flight.open < self._workers else inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        turn.starts = self._in_flight.starts_to_report(turn.now_s, self._workers)
        if not turn.starts:
            return ()
        return (own.start(self._state.ownership, [job.id for job in turn.starts]),)

    def on_reply(self, _: int, turn: Turn) -> None:
        turn.jobs += self._in_flight.on_started(turn.starts, turn.replied_s)

    @property
    def _workers(self) -> int:
        return 0 if self._state.draining else self._state.slots
