"""Spans by the semantic conventions of messaging: an enqueue call sends, an execution processes.

    web request                  the application's own
      enqueue resize             PRODUCER; all jobs of the call carry its traceparent
        wait resize              from the enqueue to the first attempt
        run resize               CONSUMER; an attempt that failed, with its next try
        run resize               the next attempt
          enqueue publish        what the handler enqueued
        run album                the continuation of the call

A job is stored with one traceparent, so its attempts are siblings. Neither payloads nor messages of
exceptions are recorded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from typing import Self

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from queuepool.errors.escaping import visible

_NAME = "queuepool"
_W3C = TraceContextTextMapPropagator()
_Attributes = dict[str, AttributeValue]


def _tracer() -> trace.Tracer:
    return trace.get_tracer(_NAME)


def _common(operation: str, kind: str, task: str) -> _Attributes:
    found: _Attributes = {
        "messaging.system": "queuepool",
        "messaging.operation.type": kind,
        "messaging.operation.name": operation,
    }
    if task:
        found["messaging.destination.name"] = visible(task)
    return found


def _text(of: SpanContext) -> str:
    return f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags & 0xFF:02x}"


def within(parent: str | None) -> Context:
    """Return the context of a traceparent; an empty one if there is none, or a damaged one."""
    return Context() if parent is None else _W3C.extract({"traceparent": parent}, Context())


class EnqueueSpan:
    """The span of an enqueue call, a child of the current one."""

    def __init__(self, task: str) -> None:
        self._span = _tracer().start_span(
            f"enqueue {visible(task)}".rstrip(),
            kind=SpanKind.PRODUCER,
            attributes=_common("enqueue", "send", task),
        )
        of = self._span.get_span_context()
        self.parent: str | None = _text(of) if of.is_valid else None

    def enqueued(self, *, job_id: str = "", partition: int | None = None, jobs: int = 1) -> None:
        """Note what was enqueued: one job, or many."""
        if job_id:
            self._span.set_attribute("messaging.message.id", job_id)
        else:
            self._span.set_attribute("messaging.batch.message_count", jobs)
        if partition is not None:
            self._span.set_attribute("messaging.destination.partition.id", str(partition))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object, /
    ) -> None:
        """End it, with the type of the error."""
        if kind is not None:
            _fail(self._span, kind.__qualname__)
        self._span.end()


class RunSpan:
    """The span of an execution, a child of the call that enqueued the job.

    parent: the traceparent of the job. waited_s: since it was enqueued. The other facts: as hooks
    see them; partition: 3, 3/video.
    """

    def __init__(
        self,
        *,
        task: str,
        parent: str | None,
        job_id: str,
        group: str,
        partition: str,
        attempt: int,
        waited_s: float,
    ) -> None:
        above, now_ns, tracer = within(parent), time.time_ns(), _tracer()
        facts: _Attributes = {
            "messaging.message.id": job_id,
            "messaging.destination.partition.id": partition,
            "queuepool.attempt": attempt,
            "queuepool.group": group,
        }
        name = visible(task)
        if attempt == 1 and parent is not None:
            began_ns = now_ns - int(waited_s * 1e9)
            wait = tracer.start_span(
                f"wait {name}",
                above,
                start_time=began_ns,
                attributes=_common("wait", "receive", task) | facts,
            )
            wait.end(now_ns)
        self._before: Token[Context] | None = None
        self._span = tracer.start_span(
            f"run {name}",
            above,
            kind=SpanKind.CONSUMER,
            start_time=now_ns,
            attributes=_common("run", "process", task) | facts,
        )

    @property
    def parent(self) -> str:
        """Return the traceparent of what the handler does."""
        return _text(self._span.get_span_context())

    @property
    def ids(self) -> tuple[str, str] | None:
        """Return the ids of the trace and the span; None if it is not kept."""
        of = self._span.get_span_context()
        kept = of.is_valid and of.trace_flags.sampled
        return (f"{of.trace_id:032x}", f"{of.span_id:016x}") if kept else None

    def enter(self) -> None:
        """Make it the current span of the calling thread, or coroutine."""
        self._before = context.attach(trace.set_span_in_context(self._span))

    def leave(self) -> None:
        """Make the span before it the current one again: in the thread that has entered it."""
        if self._before is not None:
            context.detach(self._before)
            self._before = None

    def end(self, how: str, error: str, next_try_s: float | None) -> None:
        """End it. how: see RunEnd. error: the type of the error, if it is one."""
        self._span.set_attribute("queuepool.end", how)
        if error:
            _fail(self._span, error)
        if next_try_s is not None:
            self._span.add_event("retry", {"queuepool.next_try_s": next_try_s})
        self._span.end()


@contextmanager
def remote(parent: str) -> Iterator[None]:
    """Make a span of another process the current one, for as long as a block runs."""
    before = context.attach(within(parent))
    try:
        yield
    finally:
        context.detach(before)


def _fail(span: trace.Span, kind: str) -> None:
    span.set_attribute("error.type", visible(kind))
    span.set_status(Status(StatusCode.ERROR))
