"""Admits parked jobs to their lanes as limits allow, and reads which gates there are. Pure.

What it asks the homes of limits is sent beside the turns: a home may be on another server, and no
turn waits for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consumer.core.steps.step import Step
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb

_LOOK_EVERY_S = 15.0  # a token that tells of a gate may be lost
_STALE_EVERY_S = 1.0


class Admit(Step):
    """State.gates_s says when to read the gates."""

    brings_work = True

    def __init__(self, state: State) -> None:
        self._state = state
        self._cursor = b"0"
        self._planned: list[tuple[str, int]] = []

    def due_s(self, now_s: float) -> float:
        state = self._state
        return min(state.gates_s, state.gatekeeper.next_s(now_s))

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state = self._state
        found: list[Verb[Any]] = []
        self._planned = []
        if turn.now_s >= state.gates_s:
            found.append(own.gates(self._cursor))
        for name, jobs, most in state.gatekeeper.plan(turn.now_s):
            self._planned.append((name, jobs))
            found.append(own.admit(state.ownership, name.encode(), jobs, most_waiting=most))
            state.work_expected = True
        return found

    def on_reply(self, reply: Any, turn: Turn) -> None:
        state = self._state
        if isinstance(reply, own.Admitted):
            name, planned = self._planned.pop(0)
            armed = state.armed is not None
            state.gatekeeper.on_admitted(name, planned, reply, turn.replied_s, armed=armed)
            return
        self._cursor, quiet = reply.cursor, reply.earlier == 0
        state.gatekeeper.on_gates(reply.gates, armed=state.armed is not None)
        if not reply.admitted:
            state.gatekeeper.stale = False  # nobody has asked for permits
        elif quiet:
            state.gatekeeper.end_earlier_permits()
        more = self._cursor != b"0"
        waits = not quiet and state.gatekeeper.stale
        pause_s = 0.0 if more else _STALE_EVERY_S if waits else _LOOK_EVERY_S
        state.gates_s = turn.replied_s + pause_s

    def on_failure(self, turn: Turn, now_s: float) -> None:
        """Read the gates again: an admission may or may not have happened."""
        if turn.carries(self):
            self._planned, self._cursor = [], b"0"
            self._state.gates_s = now_s
