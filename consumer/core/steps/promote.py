"""Moves delayed jobs to their lanes when the soonest is due, as far as this owner knows. Pure."""

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


class Promote(Step):
    """State.promote_s says when: infinite while nothing is delayed.

    After an outage that was longer than the deadlines of batches, their continuations are due by
    themselves: all of these batches are concluded before.
    """

    brings_work = True

    def __init__(self, state: State) -> None:
        self._state = state

    def due_s(self, now_s: float) -> float:
        return inf if self._state.overdue else self._state.promote_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        if self._state.overdue or turn.now_s < self._state.promote_s:
            return ()
        self._state.work_expected = True
        return (own.promote(self._state.ownership),)

    def on_reply(self, promoted: own.Promoted, turn: Turn) -> None:
        due_ms = promoted.next_due_ms
        self._state.promote_s = inf if due_ms is None else turn.now_s + due_ms / 1000

    def on_failure(self, turn: Turn, now_s: float) -> None:
        """Promote again: the turn may have been one that made a job delayed."""
        if self._state.promote_s == inf:
            self._state.promote_s = now_s
