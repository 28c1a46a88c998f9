"""Returns the jobs of dead owners to the front of their lanes, one batch per turn. Pure."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.outbox import CRASHED
from consumer.core.steps.step import Step
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb


class Recover(Step):
    """Those jobs come first: nothing is claimed until the last of them is back."""

    ends_turn = brings_work = True

    def __init__(self, state: State) -> None:
        self._state = state

    def due_s(self, now_s: float) -> float:
        return now_s if self._state.lease.to_recover else inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state = self._state
        if not state.lease.to_recover:
            return ()
        max_crashes = state.settings.max_crashes
        return (own.recover(state.ownership, max_crashes=max_crashes, error=CRASHED),)

    def on_reply(self, result: own.Recovered, turn: Turn) -> None:
        self._state.lease.to_recover, self._state.work_expected = result.epochs_to_recover, True
        self._state.gatekeeper.earlier.suspect()
        self._state.gates_s = turn.replied_s
        turn.events.append(events.RecoveredJobs(result))
