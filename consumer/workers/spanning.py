"""The spans of executions, where OpenTelemetry is in use; see queuepool.telemetry.spans."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from consumer.core.jobs import End, Outcome
from queuepool.errors.escaping import id_text
from queuepool.models.places import place_text
from queuepool.models.runs import RunEnd
from queuepool.models.tenants import key_in
from queuepool.protocol.codec import decode_error
from queuepool.telemetry.spans import RunTrace, in_use

if TYPE_CHECKING:
    from consumer.workers.runner import Attempt

_ENDS = {
    End.DONE: RunEnd.DONE,
    End.RETRY: RunEnd.FAILED,
    End.BURY: RunEnd.DEAD,
    End.CANCELLED: RunEnd.CANCELLED,
}


def tracer(partition: int, pool: str) -> Callable[[Attempt], RunTrace] | None:
    """Return what begins the span of an attempt; None if OpenTelemetry is not in use."""
    if not in_use():
        return None
    from queuepool.telemetry.otel.spans import RunSpan

    place = place_text(partition, pool)

    def begin(attempt: Attempt) -> RunTrace:
        job = attempt.job
        return RunSpan(
            task=attempt.task.name,
            parent=attempt.envelope.options.trace,
            job_id=id_text(job.id),
            group=key_in(job.group).decode(errors="backslashreplace"),
            partition=place,
            attempt=job.attempt,
            waited_s=job.waited_ms / 1000 + max(0.0, monotonic() - job.claimed_s),
        )

    return begin


def ended(span: RunTrace, outcome: Outcome) -> Outcome:
    """End the span of an execution; return the outcome with its ids."""
    end = _ENDS.get(outcome.end, RunEnd.LATER)
    if end is RunEnd.FAILED and not outcome.charged:
        end = RunEnd.LATER
    error = decode_error(outcome.error) if outcome.error else None
    again = outcome.end is End.RETRY
    span.end(
        end.value,
        "" if error is None else error.type or error.reason,
        outcome.delay_ms / 1000 if again else None,
    )
    outcome.trace = span.ids
    return outcome
