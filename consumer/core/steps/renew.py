"""Renews the lease, which brings commands, cancellations and news. Pure.

After a turn without a reply the lease is renewed first, by a separate turn; RenewAlone precedes the
steps that send much, Renew follows them.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core.steps.step import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.steps.record import Record
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb
    from queuepool.verbs.owner import verbs as own


class Renew(Step):
    """Keeps the partition: renews four times per lease, at least once a second.

    It also reports counts that changed, with a turn that is taken for something else.
    """

    def __init__(self, state: State, record: Record) -> None:
        self._state, self._record = state, record

    def due_s(self, now_s: float) -> float:
        return self._state.lease.due_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state, now_s = self._state, turn.now_s
        lease = state.lease
        due = now_s >= lease.due_s or lease.is_news(state.alive, state.busy, now_s)
        return (self.verb(now_s),) if due else ()

    def verb(self, now_s: float) -> Verb[own.Renewal]:
        """Return the verb that renews the lease and reports on the workers."""
        state = self._state
        reports = (state.worked.text(), state.gatekeeper.uses.text(now_s))
        return state.lease.renewal(
            state.ownership,
            alive=state.alive,
            busy=state.busy,
            load=state.load(),
            limits=",".join(filter(None, reports)),
        )

    def on_reply(self, renewal: own.Renewal, turn: Turn) -> None:
        state, sent_s = self._state, turn.now_s
        turn.events += state.lease.renewed(renewal, sent_s, draining=state.draining)
        turn.events += self._record.on_renewal(turn)
        if renewal.rolled_back:
            state.reconcile_s = sent_s
            state.in_flight.mark_unanswered()
        state.in_flight.cancel(renewal.cancels)
        if renewal.next_due_ms is not None:
            state.promote_by(sent_s + renewal.next_due_ms / 1000)

    def on_failure(self, turn: Turn, now_s: float) -> None:
        if turn.carries(self):
            self._state.lease.due_s = now_s


class RenewAlone(Step):
    """The first renewal after a turn without an answer."""

    ends_turn = True

    def __init__(self, renew: Renew, state: State) -> None:
        self._renew, self._state = renew, state
        self.pending = False

    def due_s(self, now_s: float) -> float:
        return now_s if self.pending else inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        return (self._renew.verb(turn.now_s),) if self.pending else ()

    def on_reply(self, renewal: own.Renewal, turn: Turn) -> None:
        self.pending = False
        self._renew.on_reply(renewal, turn)

    def on_failure(self, turn: Turn, now_s: float) -> None:
        if turn.carries(self):
            self._state.lease.due_s = now_s

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        self.pending = True
