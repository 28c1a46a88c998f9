"""What each step of an owner's turn answers: when it needs one, what it sends, what it learns."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.turn import Turn
    from queuepool.verbs import Verb


class Step:
    """One thing that an owner does, and the only place that says when and how.

    ends_turn: when it sends something, no later step does. brings_work: an owner that drains is
    without it.
    """

    ends_turn = False
    brings_work = False

    def due_s(self, now_s: float) -> float:
        """Return the moment at which a turn is needed for it; inf for never."""
        return inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        """Return what it sends in this turn: what is due, and what may as well go with it."""
        return ()

    def on_reply(self, reply: Any, turn: Turn) -> None:
        """Learn from the reply to one of its verbs."""

    def on_answered(self, turn: Turn) -> None:
        """Note that each of its verbs in this turn was answered."""

    def on_failure(self, turn: Turn, now_s: float) -> None:
        """Note that a turn, its own or not, was refused in part or not answered at all."""

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        """Note, after on_failure, that no one answered: the turn may or may not have happened."""
