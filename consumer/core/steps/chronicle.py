"""Keeps a history of executions that ended: sampled, once a second, never beside a claim.

    recorded --noted--> lines in memory --after a second, or 32 KiB--> one entry on the server

Failures are kept before successes: of each second at most `CONSUMER_HISTORY_RATE` of either. What
is sent is forgotten, whatever the reply, so a lost turn leaves a gap and no double.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core.jobs import DONE, HAND_BACK, End
from consumer.core.steps.step import Step
from queuepool.errors.escaping import id_text, key_text
from queuepool.models import JobId
from queuepool.models.history import PastRun
from queuepool.models.runs import RunEnd
from queuepool.models.tenants import key_in
from queuepool.protocol.codec import decode_error
from queuepool.protocol.history import encode_run
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import Outcome
    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.verbs import Verb

_EVERY_S = 1.0
_MOST_BYTES = 32 * 1024
_ENDS = {
    End.DONE: RunEnd.DONE,
    End.RETRY: RunEnd.FAILED,
    End.BURY: RunEnd.DEAD,
    End.CANCELLED: RunEnd.CANCELLED,
}


class Chronicle(Step):
    """Sends what was noted, and notes what a turn recorded."""

    def __init__(self, state: State) -> None:
        self._state, self._keep_bytes = state, state.settings.history_keep_bytes
        self._rate = state.settings.history_rate
        self._runs: list[tuple[PastRun, float]] = []  # with the time of its end
        self._due_s = inf
        self._window_s, self._left = -inf, {True: 0, False: 0}

    @property
    def pending(self) -> bool:
        """Return whether anything was noted and not sent."""
        return bool(self._runs)

    def due_s(self, now_s: float) -> float:
        return now_s if self._runs and self._state.draining else self._due_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        if turn.now_s < self.due_s(turn.now_s):
            return ()
        lines, size = list[bytes](), 0
        while self._runs and size < _MOST_BYTES:
            run, ended_s = self._runs.pop(0)
            lines.append(encode_run(run, max(0, int((turn.now_s - ended_s) * 1000))))
            size += len(lines[-1]) + 1
        self._due_s = turn.now_s if self._runs else inf
        if not lines:
            return ()
        return (own.chronicle(self._state.ownership, b"\n".join(lines), self._keep_bytes),)

    def note(self, outcomes: Sequence[Outcome], now_s: float) -> None:
        """Note executions whose end was recorded."""
        if now_s - self._window_s >= _EVERY_S:
            self._window_s, self._left = now_s, {True: self._rate, False: self._rate}
        left = self._left
        if not (left[True] or left[False]):
            return
        for outcome in outcomes:
            failed = outcome.end is not DONE
            if left[failed] and outcome.task and outcome.end is not HAND_BACK:
                left[failed] -= 1
                self._runs.append((_run(outcome), outcome.ended_s))
        if self._runs and self._due_s == inf:
            self._due_s = now_s + _EVERY_S


def _run(outcome: Outcome) -> PastRun:
    job, end = outcome.job, _ENDS[outcome.end]
    if end is RunEnd.FAILED and not outcome.charged:
        end = RunEnd.LATER
    error = decode_error(outcome.error) if outcome.error else None
    return PastRun(
        job_id=JobId(id_text(job.id)),
        task=outcome.task,
        group=key_text(key_in(job.group)),
        attempt=job.attempt,
        end=end,
        ended_ms=0,
        waited_s=max(0.0, job.waited_ms / 1000 + outcome.started_s - job.claimed_s),
        ran_s=max(0.0, outcome.ended_s - outcome.started_s),
        reason=outcome.reason,
        type=error.type if error else "",
        message=error.message if error else "",
    )
