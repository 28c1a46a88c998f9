"""What the jobs that ended were worth, as the coordinator's gain check weighs them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core.jobs import HAND_BACK
from queuepool.models.work import WorkMeter
from queuepool.verbs.owner.limit_uses import work_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import Outcome

_SAMPLE = 50  # of the jobs that end in a turn: to look at each would cost short jobs a part


class Worked:
    """Measures executions by their task. Of many that end together, it looks at some."""

    def __init__(self) -> None:
        self._meter = WorkMeter()

    def on_ended(self, outcomes: Sequence[Outcome]) -> None:
        """Count executions that ended."""
        some = outcomes[:: len(outcomes) // _SAMPLE + 1]
        ran = [(o.task, o.ended_s - o.started_s) for o in some if o.end is not HAND_BACK]
        if ran:
            self._meter.add(ran, some[-1].ended_s, each=len(outcomes) / len(some))

    def text(self) -> str:
        """Return the report, "" if nothing has ended."""
        total = self._meter.total
        return work_text(total) if total.ended else ""
