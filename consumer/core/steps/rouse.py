"""Makes jobs due that were set aside for tasks then unknown here, and known now.

Runs once, at the start of an ownership, page by page. Pure.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.steps.step import Step
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb


class Rouse(Step):
    """tasks: those known to this process."""

    brings_work = True

    def __init__(self, state: State, tasks: Sequence[str]) -> None:
        self._state, self._tasks = state, tuple(tasks)
        self._cursor: bytes | None = b"0" if tasks else None
        self._jobs: Counter[str] = Counter()

    def due_s(self, now_s: float) -> float:
        return inf if self._cursor is None else now_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        if self._cursor is None:
            return ()
        return (own.rouse(self._state.ownership, self._cursor, self._tasks),)

    def on_reply(self, page: tuple[bytes, Mapping[str, int]], turn: Turn) -> None:
        cursor, jobs = page
        self._jobs.update(jobs)
        self._cursor = None if cursor == b"0" else cursor
        if jobs:
            self._state.promote_s = turn.replied_s
        if self._cursor is None and self._jobs:
            turn.events.append(events.TasksKnown(self._jobs))
