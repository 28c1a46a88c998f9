"""What the jobs that ended were worth, as the coordinator's gain check weighs them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core.jobs import HAND_BACK
from queuepool.models.work import WorkMeter
from queuepool.verbs.owner.limit_uses import work_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import Outcome

_SAMPLE = 10  # of the jobs that end in a turn: to look at each would cost short jobs a part
_UNCOUNTED = 500  # at most; to count them together costs a fraction


class Worked:
    """Measures executions by their task. Of many that end together, it looks at some."""

    def __init__(self) -> None:
        self._meter = WorkMeter()
        self._uncounted: list[tuple[str, float, float]] = []
        self._ended_s = 0.0

    def on_ended(self, outcomes: Sequence[Outcome]) -> None:
        """Remember executions that ended."""
        if not outcomes:
            return
        some = outcomes[:: len(outcomes) // _SAMPLE + 1]
        each = len(outcomes) / len(some)
        self._uncounted += [
            (o.task, o.ended_s - o.started_s, each) for o in some if o.end is not HAND_BACK
        ]
        self._ended_s = outcomes[-1].ended_s
        if len(self._uncounted) >= _UNCOUNTED:
            self._count()

    def text(self) -> str:
        """Return the report, "" if nothing has ended."""
        self._count()
        total = self._meter.total
        return work_text(total) if total.ended else ""

    def _count(self) -> None:
        if self._uncounted:
            self._meter.add(self._uncounted, self._ended_s)
            self._uncounted.clear()
