"""Makes jobs due that were set aside for tasks then unknown here, or held, and free to run now.

    start of an ownership, a task released --> rousing --page by page--> the last page was answered

A release during that begins it once more. A released task stays on record until the last page, so
whoever owns the partition next goes on with it. Pure.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.steps.step import Step
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb

_FIRST = b"0"


class Rouse(Step):
    """tasks: those known to this process."""

    brings_work = True

    def __init__(self, state: State, tasks: Sequence[str]) -> None:
        self._state, self._tasks = state, tuple(tasks)
        self._cursor = _FIRST
        self._jobs: Counter[str] = Counter()
        state.rousing = bool(tasks)

    def due_s(self, now_s: float) -> float:
        return now_s if self._state.rousing or self._state.released else inf

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state = self._state
        if not state.rousing and state.released:
            state.rousing, state.released = True, False
        if not state.rousing:
            return ()
        return (own.rouse(state.ownership, self._cursor, self._tasks),)

    def on_reply(self, page: own.Roused, turn: Turn) -> None:
        self._cursor = page.cursor
        self._jobs.update(page.jobs)
        if page.due or page.jobs:
            self._state.promote_s = turn.replied_s
        if self._cursor != _FIRST:
            return
        self._state.rousing = False
        if self._jobs:
            turn.events.append(events.TasksKnown(self._jobs))
            self._jobs = Counter()
