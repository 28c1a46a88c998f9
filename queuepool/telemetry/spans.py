"""Spans of enqueue calls and executions, where OpenTelemetry is in use. Imports none of it.

It is in use once a tracer provider is set in this process: by the application, by
`opentelemetry-instrument`, or in a consumer by OTEL_* variables. The spans themselves are made in
queuepool.telemetry.otel.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol, Self

_LONGEST_NAME = 200
_NAMED = "OTEL_PYTHON_TRACER_PROVIDER" in os.environ  # the API makes that one at the first request


class EnqueueTrace(Protocol):
    """The span of one enqueue call: a context manager that ends it.

    parent: the traceparent that its jobs carry; None for none.
    """

    parent: str | None

    def enqueued(self, *, job_id: str = "", partition: int | None = None, jobs: int = 1) -> None:
        """Note what was enqueued."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object, /
    ) -> None: ...


class RunTrace(Protocol):
    """The span of one execution."""

    @property
    def parent(self) -> str:
        """Return the traceparent of what the handler does."""

    @property
    def ids(self) -> tuple[str, str] | None:
        """Return the ids of the trace and the span; None if it is not kept."""

    def enter(self) -> None:
        """Make it the current span of the calling thread, or coroutine."""

    def leave(self) -> None:
        """Make the span before it the current one again: in the thread that has entered it."""

    def end(self, how: str, error: str, next_try_s: float | None) -> None:
        """End it. how: see RunEnd. error: the type of the error, if it is one."""


class _Untraced:
    parent: str | None = None

    def enqueued(self, *, job_id: str = "", partition: int | None = None, jobs: int = 1) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object, /
    ) -> None:
        pass


_UNTRACED = _Untraced()


def in_use() -> bool:
    """Return whether spans of this process go anywhere."""
    api = sys.modules.get("opentelemetry.trace")
    # None: none was set. get_tracer_provider looks into the environment each time, which takes
    # longer than the rest of a call's span.
    if getattr(api, "_TRACER_PROVIDER", api) is None and not _NAMED:
        return False
    proxy = getattr(api, "ProxyTracerProvider", None)  # none while it is being imported
    return proxy is not None and not isinstance(api.get_tracer_provider(), proxy)  # type: ignore[union-attr]  # it has been imported


def enqueueing(task: object) -> EnqueueTrace:
    """Return the span of an enqueue call, within the current one. task: as it was passed."""
    if not in_use():
        return _UNTRACED
    from queuepool.telemetry.otel.spans import EnqueueSpan

    return EnqueueSpan(_name_of(task))


def _name_of(task: Any) -> str:
    """Return the name of a call's task; "" if each job has its own."""
    of = task if isinstance(task, str) else getattr(task, "task", task)  # of a Job
    name = of if isinstance(of, str) else getattr(of, "name", getattr(of, "__qualname__", ""))
    return name[:_LONGEST_NAME] if isinstance(name, str) else ""
