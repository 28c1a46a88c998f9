"""Admits parked jobs to their lanes as limits allow, and reads which gates there are. Pure.

What it asks the homes of limits is sent beside the turns: a home may be on another server, and no
turn waits for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consumer.core.steps.step import Step
from queuepool.verbs.owner.gates import Admitted, admit, gates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb

_LOOK_EVERY_S = 15.0  # a token that tells of a gate may be lost
_STALE_EVERY_S = 1.0
_NEXT_PAGE_S = 1.0  # while there are more gates than are known at once


class Admit(Step):
    """State.gates_s says when to read the gates."""

    brings_work = True

    def __init__(self, state: State) -> None:
        self._state = state
        self._cursor = b"0"
        self._admits = False  # in this turn

    def due_s(self, now_s: float) -> float:
        state = self._state
        return min(state.gates_s, state.gatekeeper.next_s(now_s))

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state = self._state
        found: list[Verb[Any]] = []
        if turn.now_s >= state.gates_s:
            found.append(gates(self._cursor))
            turn.looks = state.looks
        planned = state.gatekeeper.plan(turn.now_s)
        found += (admit(state.ownership, g, n, most_waiting=most) for g, n, most in planned)
        self._admits = bool(planned)
        state.work_expected = state.work_expected or self._admits
        return found

    def on_reply(self, reply: Any, turn: Turn) -> None:
        keeper, armed = self._state.gatekeeper, self._state.armed is not None
        # The claim of this turn comes first where a server has lost the other script
        claims = armed or turn.claiming > 0
        if isinstance(reply, Admitted):
            keeper.on_admitted(reply, turn.replied_s, claims=claims)
            return
        first, self._cursor = self._cursor == b"0", reply.cursor
        last, quiet = reply.cursor == b"0", reply.earlier == 0
        keeper.on_gates(reply.gates, armed=armed, claims=claims, first=first, last=last)
        self._state.looks = self._state.looks and not last
        if quiet:
            keeper.earlier.on_quiet(used=reply.used)
        if not last:
            pause_s = _NEXT_PAGE_S if keeper.gates.full else 0.0
        else:
            pause_s = _STALE_EVERY_S if keeper.earlier.possible else _LOOK_EVERY_S
        self._state.gates_s = turn.replied_s + pause_s

    def on_failure(self, turn: Turn, now_s: float) -> None:
        """Read the gates again: an admission may or may not have happened."""
        if turn.carries(self):
            self._cursor, self._state.gates_s = b"0", now_s
            if self._admits:
                self._state.gatekeeper.on_no_reply()
