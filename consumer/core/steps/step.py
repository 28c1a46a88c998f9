"""The interface of each step of an owner: when it needs a turn, what it sends and learns."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.turn import Turn
    from queuepool.verbs import Verb


class Step:
    """One thing that an owner does, and the only place that defines when and how.

    ends_turn: if it sends something, no later step does. brings_work: a draining owner omits it.
    """

    ends_turn = False
    brings_work = False

    def due_s(self, now_s: float) -> float:
        """Return when it needs a turn; inf for never."""
        return inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        """Return what it sends in this turn: what is due, and what can be sent along."""
        return ()

    def on_reply(self, reply: Any, turn: Turn) -> None:
        """Learn from the reply to one of its verbs."""

    def on_answered(self, turn: Turn) -> None:
        """Note that each of its verbs in this turn was answered."""

    def on_failure(self, turn: Turn, now_s: float) -> None:
        """Handle a turn, its own or not, that was partly refused or got no reply."""

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        """Handle, after on_failure, a missing reply: the turn may or may not have happened."""
