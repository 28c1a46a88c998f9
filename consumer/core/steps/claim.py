"""Claims jobs for free workers, plus a few that wait in memory (see prefetch). Pure.

    expected --fewer came than were asked for--> idle --a token, a promotion, a poll--> expected
                                                  `-- arm --> armed: the server carries the claim
                                                              out with the next token

A claim asks for at most slots + prefetch - open, less what ended and does not fit into this turn.
Its jobs go back if others that were claimed before do: they would overtake them. So a turn that
hands jobs back claims none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consumer.core.pace import LIGHT_BYTES
from consumer.core.steps.step import Step
from consumer.core.turn import Turn
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from consumer.core.state import State
    from queuepool.verbs import Verb


class Claim(Step):
    """While a claim is armed no other is planned: making a job ready leaves a token."""

    brings_work = True

    def __init__(self, state: State) -> None:
        self._state = state

    def due_s(self, now_s: float) -> float:
        return now_s if self.wants(now_s) > 0 else self._state.poll_s

    def wants(self, now_s: float) -> int:
        """Return how many jobs there is room for, if a claim is expected to find some."""
        return self.free_slots() if self._state.work_expected and self._may_claim(now_s) else 0

    def free_slots(self) -> int:
        """Return how many jobs may be claimed now; 0 or less for none."""
        state, in_flight = self._state, self._state.in_flight
        slots, suspects = state.slots, in_flight.suspects
        if len(suspects):  # they begin on workers that are free
            return slots - in_flight.open - suspects.slots
        return slots + state.prefetch.jobs(slots, in_flight.open_bytes) - in_flight.open

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state, polls = self._state, turn.now_s >= self._state.poll_s
        if polls:
            state.poll_s = turn.now_s + state.settings.poll_s
        tight = turn.sent_bytes > LIGHT_BYTES and state.pace.slowed
        if not (polls or state.work_expected) or tight or not self._may_claim(turn.now_s):
            return ()
        if turn.returns or turn.looks:  # a server that lost that script runs it after the claim
            state.work_expected = True
            return ()
        left = len(state.in_flight.outbox) - len(turn.outcomes)  # they keep their slots
        free = self.free_slots() - left
        return (self._verb(turn, free),) if free > 0 else ()

    def arm(self, now_s: float) -> Turn | None:
        """Return a turn whose claim may wait at the server for the next token, if one may."""
        state, in_flight, free = self._state, self._state.in_flight, self.free_slots()
        suspects, slow = in_flight.suspects, state.pace.jobs < own.MAX_BATCH
        if slow or len(suspects) or free <= 0 or in_flight.some_go_back:
            return None
        if not self._may_claim(now_s):
            return None
        turn = Turn(now_s)
        turn.verbs.append(self._verb(turn, free))
        turn.parts.append((self, 1))
        return turn

    def on_reply(self, claims: own.Claims, turn: Turn) -> None:
        all_taken = claims.taken < turn.claiming
        self._state.work_expected = not all_taken
        if claims.roused == b"0" or (claims.roused and not self._state.rousing):
            self._state.released = True
        keeper = self._state.gatekeeper
        refused: Collection[bytes] = ()
        if claims.limits or keeper.waiting:
            refused = keeper.on_claimed(claims.limits, turn.replied_s, all_found=all_taken)
        if keeper.unsure or (keeper.waiting and all_taken):  # cancelled
            self._state.looks = self._state.looks or keeper.unsure
            keeper.unsure, self._state.gates_s = False, turn.now_s
        if self._state.in_flight.some_go_back:
            refused = claims.ids
        jobs = self._state.in_flight.take(claims, turn.starting, turn.now_s, refused)
        self._state.costs.on_claimed(
            jobs,
            turn.replied_s,
            claimed=self._state.in_flight.claimed,
            all_taken=all_taken,
            ahead=turn.ahead,
        )
        turn.jobs += jobs

    def on_failure(self, turn: Turn, now_s: float) -> None:
        self._state.work_expected = True

    def _may_claim(self, now_s: float) -> bool:
        state = self._state
        return state.claims_known and state.in_flight.suspects.hold_s(now_s) <= 0

    def _verb(self, turn: Turn, free: int) -> Verb[own.Claims]:
        state = self._state
        turn.claiming = min(free, state.pace.jobs)
        turn.starting = max(0, state.slots - state.in_flight.open)
        shortest = state.settings.shortest_ms
        if shortest is None:
            turn.ahead = state.costs.ahead(turn.now_s, state.slots)
            if turn.claiming > 1:
                most = state.costs.most(turn.ahead, state.slots, turn.starting)
                turn.claiming = int(min(turn.claiming, most))
        return own.claim(
            state.ownership,
            turn.claiming,
            starting=turn.starting,
            promote_after_ms=int(state.settings.promote_after_s * 1000),
            weights=state.settings.tier_weights,
            ahead=turn.ahead,
            shortest_ms=shortest,
        )
