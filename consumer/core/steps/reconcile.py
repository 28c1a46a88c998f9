"""Reads which jobs are in flight here according to the server, and hands back unknown ones. Pure.

A claim whose reply was lost is in that set but not in memory. The set is read periodically,
immediately after a turn without a reply, and soon again after a find. That turn claims nothing: a
server that lost a script runs its verb after the others of the turn, and a claim in the same turn
would look like a lost one.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.state import RECONCILE_EVERY_S, RECONCILE_SOON_S
from consumer.core.steps.step import Step
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb


class Reconcile(Step):
    """Waits while a claim is armed: what that takes is unknown until its reply."""

    ends_turn = True

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: Collection[bytes] = ()  # to the turn that reads

    def due_s(self, now_s: float) -> float:
        return inf if self._state.armed is not None else self._state.reconcile_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        if turn.now_s < self.due_s(turn.now_s):
            return ()
        self._known = set(self._state.in_flight.claimed)
        return (own.in_flight(self._state.ownership),)

    def on_reply(self, ids: Sequence[bytes], turn: Turn) -> None:
        state, now_s = self._state, turn.now_s
        lost = [id for id in ids if id not in self._known]
        state.reconcile_s = now_s + (RECONCILE_SOON_S if lost else RECONCILE_EVERY_S)
        if lost:
            state.in_flight.hand_back_lost_claims(lost, now_s, ids)
            turn.events.append(events.Reconciled(len(lost)))

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        if turn.claiming:
            self._state.reconcile_s = now_s
