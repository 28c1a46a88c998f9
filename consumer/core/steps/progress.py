"""Stores what running jobs say of their progress, a few times in each poll interval."""

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

_EARLY = 0.8  # of a poll interval before the next poll


class Progress(Step):
    """Only the latest text of a job is kept, so the next one replaces a lost one."""

    def __init__(self, state: State) -> None:
        self._state = state

    def due_s(self, now_s: float) -> float:
        state = self._state
        return state.poll_s - _EARLY * state.settings.poll_s if state.progress else inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        texts, claimed = self._state.progress, self._state.in_flight.claimed
        if not texts:
            return ()
        some = dict(texts.popitem() for _ in range(min(own.MAX_BATCH, len(texts))))
        some = {id: text for id, text in some.items() if id in claimed}
        return (own.progress(self._state.ownership, some),) if some else ()
