"""What each turn records, and what becomes of outcomes that do not get through. Pure.

    pick --> a turn --answered--> forgotten        on_reply: the next one may carry more
                `-- no answer --> repeated         on_no_reply: the next one carries less

A turn that records much is *heavy*. It never carries the renewal of the lease, and while less than
usual is carried, it carries no claim either and a light turn follows: what is small goes on. An
outcome that is too large for any budget goes alone; after a try in vain it waits for as long as
that took, so that it costs the others half of the time at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.outbox import size_bytes, undelivered
from consumer.core.pace import LIGHT_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import ClaimedJob, Outcome
    from consumer.core.outbox import Outbox
    from consumer.core.pace import Pace
    from consumer.core.turn import Turn

TRIES = 5  # of an outcome that gets no answer although it goes alone


class Recording:
    """The outbox of one owner, and how much of it one turn carries."""

    def __init__(self, outbox: Outbox, pace: Pace) -> None:
        self._outbox, self.pace = outbox, pace
        self._was_heavy = False
        self._unanswered: Outcome | None = None  # it went alone, and no renewal was answered since
        self._alone_s = 0.0  # when one may go alone again

    def pick(self, plan: Turn, *, renews: bool) -> None:
        """Put into a plan what it shall record; renews: it carries the renewal of the lease."""
        pace = self.pace
        light = renews or self.is_tight
        budget = min(pace.budget_bytes, LIGHT_BYTES) if light else pace.budget_bytes
        alone = not light and plan.now_s >= self._alone_s
        plan.outcomes, plan.sent_bytes = self._outbox.pick(budget, alone=alone)
        self._was_heavy = plan.sent_bytes > LIGHT_BYTES

    @property
    def is_tight(self) -> bool:
        """Return whether the newest turn is heavy while less than usual is carried."""
        return self._was_heavy and self.pace.slowed

    def wait_s(self, now_s: float) -> float | None:
        """Return in how many seconds something can be recorded; None when the outbox is empty."""
        if not self._outbox:
            return None
        wait_s = max(0.0, self._alone_s - now_s)
        budget = self.pace.budget_bytes
        return 0.0 if wait_s and any(size_bytes((o,)) <= budget for o in self._outbox) else wait_s

    def left(self, plan: Turn) -> int:
        """Return how many outcomes a turn does not carry."""
        return len(self._outbox) - len(plan.outcomes)

    def on_reply(self, plan: Turn, turn_s: float, jobs: Sequence[ClaimedJob]) -> None:
        """Learn from a turn that was answered in this time, and brought these jobs."""
        claimed_bytes = sum(len(job.body) for job in jobs) if self.pace.is_slow(turn_s) else 0
        self.pace.on_reply(turn_s, plan.sent_bytes, claimed_bytes, plan.claiming)

    def on_no_reply(self, plan: Turn, now_s: float) -> None:
        """Learn from a turn without an answer."""
        self.pace.on_no_reply(plan.sent_bytes, plan.claiming)
        if len(plan.outcomes) == 1 and plan.sent_bytes > LIGHT_BYTES:
            self._unanswered = plan.outcomes[0]
            self._outbox.postpone(self._unanswered)
            self._alone_s = now_s + (now_s - plan.now_s)

    def on_renewal(self) -> list[object]:
        """Give a result up that alone gets no answer while renewals do; returns events."""
        outcome, self._unanswered = self._unanswered, None
        if outcome is None:
            return []
        outcome.unanswered += 1
        if outcome.unanswered < TRIES:
            return []
        failed = undelivered(outcome, TRIES)
        self._outbox.replace(outcome, failed)
        return [events.ResultUndelivered(failed, size_bytes((outcome,)))]
