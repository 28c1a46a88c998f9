"""When delayed jobs go back to their lanes. Pure.

Promotion   the next promote: when the soonest delayed job is due, as far as this owner knows
Rousing     once, at the start of an owner life: jobs that were set aside because nobody here
            knew their task, and whose task is known now, are due at once; page by page
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.jobs import End
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from consumer.core.jobs import Outcome
    from queuepool.verbs import Verb


class Promotion:
    """at_s: when to promote, in seconds of time.monotonic(); infinite while nothing is delayed."""

    def __init__(self, now_s: float) -> None:
        self.at_s = now_s

    def by(self, due_s: float) -> None:
        """Note that a job is due at this moment."""
        self.at_s = min(due_s, self.at_s)

    def recorded(self, outcomes: Iterable[Outcome], sent_s: float) -> None:
        """Note when those that are to run again are due."""
        for outcome in outcomes:
            if outcome.end is End.RETRY:
                self.by(sent_s + outcome.delay_ms / 1000)

    def on_no_reply(self, now_s: float) -> None:
        """Promote again: the turn may have been one that made a job delayed."""
        if self.at_s == inf:
            self.at_s = now_s

    def reader(self, sent_s: float) -> Callable[[own.Promoted], None]:
        """Return what learns from the reply to a promote when the next job is due."""

        def on_reply(promoted: own.Promoted) -> None:
            due_ms = promoted.next_due_ms
            self.at_s = inf if due_ms is None else sent_s + due_ms / 1000

        return on_reply


class Rousing:
    """The round over the jobs that were set aside. tasks: those that this process knows."""

    def __init__(self, tasks: Iterable[str]) -> None:
        self._tasks = tuple(tasks)
        self._cursor: bytes | None = b"0" if self._tasks else None
        self._jobs: Counter[str] = Counter()

    @property
    def pending(self) -> bool:
        """Return whether the round is not over."""
        return self._cursor is not None

    def verb(self, life: own.Life) -> Verb[tuple[bytes, Mapping[str, int]]]:
        """Return the next step of the round."""
        return own.rouse(life, self._cursor or b"0", self._tasks)

    def on_reply(self, cursor: bytes, jobs: Mapping[str, int]) -> list[events.TasksKnown]:
        """Learn how many jobs of each task a step made due; return what the end of the round is."""
        self._jobs.update(jobs)
        self._cursor = None if cursor == b"0" else cursor
        return [events.TasksKnown(self._jobs)] if not self.pending and self._jobs else []
