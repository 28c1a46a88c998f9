"""Which job the current thread or coroutine runs, for log lines of handlers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from queuepool.errors.escaping import id_text, key_text
from queuepool.models.tenants import key_in, tenant_text
from queuepool.telemetry.spans import in_use

# Job id, task, attempt, group and partition.
Running = tuple[bytes, str, int, bytes, int]
_running: ContextVar[Running | None] = ContextVar("queuepool_job", default=None)


# Notes that the calling thread, or coroutine, runs this job from now on; None: that it runs none.
note: Callable[[Running | None], object] = _running.set


def job_fields() -> dict[str, Any]:
    """Return which job runs here, for a log line: job, task, attempt, group, partition.

    And tenant, trace_id and span_id, if there are any. Empty outside of handlers. Threads that a
    handler starts know nothing of its job, unless they are started in a copy of its context, as
    `asyncio.to_thread` does.
    """
    running = _running.get()
    if running is None:
        return {}
    job_id, task, attempt, group, partition = running
    fields: dict[str, Any] = {
        "job": id_text(job_id),
        "task": task,
        "attempt": attempt,
        "group": key_text(key_in(group)),
        "partition": partition,
    }
    tenant = tenant_text(group)
    return fields | ({"tenant": tenant} if tenant else {}) | _trace()


def _trace() -> dict[str, str]:
    if not in_use():
        return {}
    of = sys.modules["opentelemetry.trace"].get_current_span().get_span_context()
    return (
        {"trace_id": f"{of.trace_id:032x}", "span_id": f"{of.span_id:016x}"} if of.is_valid else {}
    )


class JobLogFilter(logging.Filter):
    """Adds what `job_fields` returns to log records, as attributes; it drops none.

    What a record has already is kept. Consumers have one on their own log handler.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields to a record; return True."""
        for name, value in job_fields().items():
            record.__dict__.setdefault(name, value)
        return True
