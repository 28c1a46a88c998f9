"""Log lines of failed attempts, limited to a number that people can read.

A kind is (task, reason, whether the job died). In a window of 10 s the first 5 of each kind get a
line each, and the rest are counted: "37 more in the last 10 s". The exception of a handler is
stored with the job but never logged: its text may contain parts of the payload.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from consumer.core.jobs import End, Outcome
from queuepool.errors.escaping import id_text, key_text, typed, visible
from queuepool.models.tenants import key_in, tenant_text
from queuepool.protocol.codec import decode_error

_WINDOW_S = 10.0
_LINES = 5  # of a kind and window
_KINDS = 100  # the others count as one kind
_LONGEST = 100  # characters of a name
_OTHERS = ("other tasks", "several reasons", False)

Kind = tuple[str, str, bool]


class FailureLog:
    """Logs failed attempts. One thread calls it; now_s: any monotonic clock, in seconds."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._since_s = 0.0
        self._counts: dict[Kind, int] = {}

    def note(self, outcomes: Sequence[Outcome], now_s: float, partition: int) -> None:
        """Log those of a partition that failed or died; who asked to run later did not fail."""
        if self._counts and now_s - self._since_s >= _WINDOW_S:
            self.flush(now_s)
        for outcome in outcomes:
            if outcome.reason and outcome.charged:
                self._note(outcome, outcome.end is End.BURY, now_s, partition)

    def flush(self, now_s: float) -> None:
        """Log how many lines were left out, and begin a new window."""
        for (task, reason, died), count in self._counts.items():
            if count > _LINES:
                self._log.log(
                    _level(died), "%d more in the last %.0f s: jobs of %s %s (%s)",
                    count - _LINES, max(1.0, now_s - self._since_s), plain(task),
                    "are dead" if died else "failed", reason,
                )  # fmt: skip
        self._counts.clear()

    def _note(self, outcome: Outcome, died: bool, now_s: float, partition: int) -> None:
        if not self._counts:
            self._since_s = now_s
        kind: Kind = (outcome.task, outcome.reason, died)
        if kind not in self._counts and len(self._counts) >= _KINDS:
            kind = _OTHERS
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count > _LINES:
            return
        job, job_id = outcome.job, id_text(outcome.job.id)
        why = f" ({outcome.reason})" if died or outcome.reason != "failed" else ""
        what = ("is dead" if died else "failed") + why
        what_next = (
            f"see `queuepool dead show {typed(job_id)}`"
            if died
            else f"next try in {outcome.delay_ms / 1000:.1f} s"
        )
        error = plain(decode_error(outcome.error).type) if outcome.error else ""
        ids, tenant = outcome.trace, tenant_text(job.group)
        traced = {} if ids is None else {"trace_id": ids[0], "span_id": ids[1]}
        self._log.log(
            _level(died), "job %s %s: %s at attempt %d of %d; %s",
            job_id, what, error or "an error", job.attempt,
            max(job.attempt, outcome.max_attempts), what_next,
            extra={
                "job": job_id,
                "task": plain(outcome.task),
                "group": plain(key_text(key_in(job.group))),
                "attempt": job.attempt,
                "partition": partition,
                "reason": outcome.reason,
                **({"tenant": plain(tenant)} if tenant else {}),
                **traced,
            },
        )  # fmt: skip


def _level(died: bool) -> int:
    return logging.ERROR if died else logging.WARNING


def plain(text: str) -> str:
    """Return a name on one line, which cannot forge a log line or control a terminal."""
    shown = visible(text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
