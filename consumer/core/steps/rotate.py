"""After a turn without a reply: change the nonce, so that its delayed verbs are rejected.

    sound --no reply--> pending --answered--> sound

The change is sent alone: what depends on it must not overtake it.
"""

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


class Rotate(Step):
    """pending: the newest nonce is not confirmed yet."""

    ends_turn = True

    def __init__(self, state: State) -> None:
        self._state = state
        self.pending = False

    def due_s(self, now_s: float) -> float:
        return now_s if self.pending else inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        turn.is_rotation = self.pending
        return (self.verb(),) if self.pending else ()

    def verb(self) -> Verb[int]:
        """Return what puts the newest nonce in force."""
        return own.rotate_nonce(self._state.ownership)

    def on_reply(self, _: int, turn: Turn) -> None:
        self.pending = False

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        self._state.ownership = self._state.ownership.rotated()
        self.pending = True
