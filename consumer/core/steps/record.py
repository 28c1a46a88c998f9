"""What each turn records, and how outcomes that do not get through are handled. Pure.

    picked --> a turn --answered--> forgotten       the next turn may carry more
                  `-- no answer --> repeated        the next turn carries less

Jobs go back to the front of their lanes, so one that was claimed later must not go back after one
that was claimed before it. They wait until no worker is about to refuse a job that it was given
(State.late), and until the reply to an armed claim was read: what that took goes back with them.

A turn that records much is *heavy*. It never carries the renewal of the lease, and while turns
carry less than usual, it carries no claim either and a light turn follows, so that small verbs
proceed. An outcome that exceeds any budget is sent alone; after a failed attempt it waits for as
long as that took, so that it costs the others at most half of the time.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.jobs import DONE, HAND_BACK, End
from consumer.core.outbox import executions, record_verbs, size_bytes, undelivered
from consumer.core.pace import LIGHT_BYTES
from consumer.core.steps.step import Step
from queuepool.protocol.batches import MARK
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import Outcome
    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb

TRIES = 5  # of an outcome that gets no reply although sent alone


class Record(Step):
    """Empties the outbox, in each turn as much as the pace allows."""

    def __init__(self, state: State) -> None:
        self._state, self._outbox = state, state.in_flight.outbox
        self._was_heavy = False
        self._unanswered: Outcome | None = None  # sent alone, and no renewal was answered since
        self._alone_s = 0.0  # when one may be sent alone again

    def due_s(self, now_s: float) -> float:
        outbox, budget = self._outbox, self._state.pace.budget_bytes
        if outbox.returns and self._state.claims_known:
            return now_s
        if not outbox.ends:
            return inf
        if now_s >= self._alone_s:
            return now_s
        return now_s if any(size_bytes((o,)) <= budget for o in outbox.ends) else self._alone_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state, pace = self._state, self._state.pace
        light = turn.now_s >= state.lease.due_s or (self._was_heavy and pace.slowed)
        budget = min(pace.budget_bytes, LIGHT_BYTES) if light else pace.budget_bytes
        alone = not light and turn.now_s >= self._alone_s
        # What is found in flight goes back with the others, in the order of their claims.
        returns = state.claims_known and turn.now_s < state.reconcile_s
        picked = self._outbox.pick(budget, alone=alone, returns=returns)
        turn.outcomes, turn.sent_bytes = picked
        turn.returns = any(outcome.end is HAND_BACK for outcome in turn.outcomes)
        self._was_heavy = turn.sent_bytes > LIGHT_BYTES
        if not turn.outcomes:
            return ()
        return list(record_verbs(state.ownership, turn.outcomes, state.settings))

    def on_reply(self, reply: Any, turn: Turn) -> None:
        if isinstance(reply, own.Finished):
            turn.duplicates += reply.duplicates
            turn.left.update(reply.left)
        elif isinstance(reply, own.Buried) and reply.evicted:
            turn.events.append(events.EvictedDead(reply.evicted))

    def on_answered(self, turn: Turn) -> None:
        """Forget what is recorded, before the claim is read: it may hold a job just handed back."""
        state, turn.recorded = self._state, True
        turn.outcomes = state.in_flight.recorded(turn.outcomes, turn.left)
        others = [o for o in turn.outcomes if o.end is not DONE or MARK in o.job.id]
        back = (o.job for o in others if o.end is HAND_BACK)
        unstarted = (job.id for job in back if not job.started_s)
        state.gatekeeper.on_recorded(state.in_flight.claimed, unstarted)
        if turn.duplicates:  # a claim of such an id may never have been announced
            state.reconcile_soon(turn.now_s)
        for outcome in others:
            if MARK in outcome.job.id:
                state.untold_s = turn.replied_s
            if outcome.end is End.RETRY:
                state.promote_by(turn.now_s + outcome.delay_ms / 1000)
            elif outcome.end is HAND_BACK:
                state.work_expected = True

    def on_success(self, turn: Turn, turn_s: float) -> None:
        """Learn from a turn in which all was answered, in this time."""
        state = self._state
        state.prefetch.turned(turn_s, *executions(turn.outcomes))
        slow = state.pace.is_slow(turn_s)
        claimed_bytes = sum(len(job.body) for job in turn.jobs) if slow else 0
        state.pace.on_reply(turn_s, turn.sent_bytes, claimed_bytes, turn.claiming)

    def on_failure(self, turn: Turn, now_s: float) -> None:
        self._state.in_flight.mark_unanswered(outcome.job for outcome in turn.outcomes)

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        self._state.in_flight.mark_unanswered()
        self._state.pace.on_no_reply(turn.sent_bytes, turn.claiming)
        if len(turn.outcomes) == 1 and turn.sent_bytes > LIGHT_BYTES:
            self._unanswered = turn.outcomes[0]
            self._outbox.postpone(self._unanswered)
            self._alone_s = now_s + (now_s - turn.now_s)

    def on_renewal(self, turn: Turn) -> list[object]:
        """Give up a result that gets no reply even alone, while renewals do; returns events."""
        outcome, self._unanswered = self._unanswered, None
        if outcome is None:
            return []
        outcome.unanswered += 1
        turn.counts_try = True
        if outcome.unanswered < TRIES:
            return []
        failed = undelivered(outcome, TRIES)
        self._outbox.replace(outcome, failed)
        return [events.ResultUndelivered(failed, size_bytes((outcome,)))]
