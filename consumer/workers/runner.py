"""Run one job: decode, look the task up, call it, and turn whatever happens into an Outcome.

Nothing escapes: a handler's SystemExit, an exception whose str() fails, an unreadable body and an
unknown task all just end an attempt.

    returns                      done (a result other than None is kept for result_ttl_s)
    raises RetryLater            delayed, without using an attempt
    raises RateLimited           the same; its limits are waiting for, too
    raises PermanentError        dead
    its payload does not fit     dead, as bad-payload: it does not match the annotations
    its task is unknown here     set aside, without using an attempt
    raises JobCancelled          cancelled, if that was requested; else a failure
    times out, anything else     retried with backoff until max_attempts, then dead
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractContextManager
from contextvars import copy_context
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import msgspec

from consumer.core.jobs import DONE, HAND_BACK, ClaimedJob, End, Outcome
from consumer.workers import spanning, unknown
from consumer.workers.context import Progress, RunContext
from consumer.workers.forks import Origin
from queuepool.errors import JobCancelled, RateLimited, RetryLater, UndecodableError
from queuepool.models import ErrorRecord
from queuepool.models.places import partition_at
from queuepool.protocol import codec
from queuepool.protocol.batches import MARK
from queuepool.tasks.batch_ref import ResultsOf
from queuepool.tasks.outcome import is_last, record_of
from queuepool.tasks.registry import Registry, Task
from queuepool.telemetry import running
from queuepool.telemetry.spans import RunTrace
from queuepool.verbs.owner.verbs import Ownership

# Between a worker and a handler; it would be the same in each stored traceback.
_CALLERS = (
    f"{Path(__file__).parent}/",
    f"{Path(asyncio.__file__).parent}/",
    Future.result.__code__.co_filename,
)
_FALLBACK = Task(name="unknown", function=lambda: None)

_log = logging.getLogger("consumer.hooks")


class AsyncRunner(Protocol):
    """Runs the coroutine of a handler for the calling thread."""

    def run(self, coroutine: Coroutine[Any, Any, Any], timeout_s: float | None) -> Any:
        """Run a coroutine to its end and return its value."""


class Limits(Protocol):
    """Ends a plain handler that takes too long."""

    def limit(self, timeout_s: float) -> AbstractContextManager[None]:
        """Return a context in which JobTimeoutError is raised after this time."""


class Attempt(msgspec.Struct, eq=False, gc=False):  # no reference cycles
    """One execution of a job whose task is known, and its outcome.

    timeout_s: how long it may take; None for any time. span: where OpenTelemetry is in use.
    """

    job: ClaimedJob
    task: Task
    envelope: codec.Envelope
    started_s: float
    timeout_s: float | None
    span: RunTrace | None = None

    def returned(self, value: Any) -> Outcome:
        """Return the outcome of a handler that returned. Raises what encode_result raises."""
        task = self.task
        if value is None:
            done = Outcome(self.job, DONE, self.started_s, monotonic(), task.name)
            return done if self.span is None else self.traced(done)
        result = codec.encode_result(value)
        ttl_ms = int(task.result_ttl_s * 1000)
        kept = result if ttl_ms or MARK in self.job.id else None
        done = Outcome(
            self.job, DONE, self.started_s, monotonic(), task.name, kept, ttl_ms,
            max_attempts=self.envelope.options.max_attempts or task.max_attempts,
        )  # fmt: skip
        return self.traced(done)

    def failed(self, error: BaseException) -> Outcome:
        """Return the outcome of an attempt that raised this; never raises."""
        outcome = _failed(self.job, self.task, self.envelope.options, self.started_s, error)
        if self.job.run is not None:
            outcome.exception = error
        return self.traced(outcome)

    def lost(self, reason: str, what: str, message: str) -> Outcome:
        """Return the outcome of an attempt whose process died. what: in one word."""
        record = ErrorRecord(reason=reason, type=what, message=message)
        options, started_s = self.envelope.options, self.started_s
        return self.traced(_attempted(self.job, self.task, options, started_s, record))

    def traced(self, outcome: Outcome) -> Outcome:
        """Return the outcome, after the end of its span."""
        return outcome if self.span is None else spanning.ended(self.span, outcome)


class Runner:
    """Runs jobs of one ownership, in any number of threads.

    on_start: called with each attempt before it, if there are hooks; what it raises is only
    logged. trace: returns the span of an attempt, where OpenTelemetry is in use.
    start_until_s: the monotonic time after which no job may start, since the lease may be over.
    late: that has kept a job from starting. Those behind it go back, too, though the lease was
    renewed meanwhile: they would overtake it. The loop resets this.
    results_of: reads how the jobs of a batch ended; None in a process without a connection.
    """

    def __init__(
        self,
        registry: Registry,
        ownership: Ownership,
        loop: AsyncRunner,
        timekeeper: Limits,
        on_start: Callable[[Attempt], None] | None = None,
        trace: Callable[[Attempt], RunTrace] | None = None,
    ) -> None:
        self._on_start, self._trace = on_start, trace
        self._registry, self._ownership = registry, ownership
        self._partition = partition_at(ownership.partition)
        self._loop, self._timekeeper = loop, timekeeper
        self._origin = Origin()
        self.progress: Progress = {}
        for task in registry:
            task.signature.prepare()  # warn at the start, not during the first jobs
        self.start_until_s = float("inf")
        self.late = False
        self.results_of: ResultsOf | None = None
        self._unknown = unknown.UnknownTasks()

    def run(self, job: ClaimedJob) -> Outcome:
        """Execute one job in this thread; never raises.

        Context variables that its handler sets end with it: the thread has other jobs, too.
        """
        return copy_context().run(self._run, job)

    def _run(self, job: ClaimedJob) -> Outcome:
        attempt = self.begin(job)
        if isinstance(attempt, Outcome):
            return attempt
        try:
            arguments = self.arguments(attempt)
            task, timeout_s = attempt.task, attempt.timeout_s
            if attempt.span is not None:
                attempt.span.enter()
            if task.is_async:
                value = self._loop.run(task.function(**arguments), timeout_s)
            elif timeout_s is None:
                value = task.function(**arguments)
            else:
                with self._timekeeper.limit(timeout_s):
                    value = task.function(**arguments)
            self._origin.leave_if_forked()
            return attempt.returned(value)
        except BaseException as error:  # a handler may raise anything; the worker continues
            self._origin.leave_if_forked(error)
            return attempt.failed(error)
        finally:
            if attempt.span is not None:
                attempt.span.leave()

    def failed(self, job: ClaimedJob, error: BaseException) -> Outcome:
        """Return the outcome of a job that had begun when its worker got this error."""
        attempt = self.begin(job)
        return attempt.failed(error) if isinstance(attempt, Attempt) else attempt

    def begin(self, job: ClaimedJob) -> Attempt | Outcome:
        """Return the execution, or the job's outcome without one; never raises."""
        started = monotonic()
        if job.cancelled:
            return Outcome(job, End.CANCELLED, started, started)
        if started > self.start_until_s or self.late:
            self.late = True
            return Outcome(job, HAND_BACK, started, started)
        job.started_s = started
        try:
            if job.damage:
                raise UndecodableError(job.damage)
            envelope = codec.decode_envelope_after(job.body, job.group)
        except BaseException as error:
            return _failed(job, _FALLBACK, codec.NO_OPTIONS, started, error)
        task = self._registry.find(envelope.task)
        if task is None:
            return self._set_aside(job, envelope.task, started)
        timeout_s = envelope.options.timeout_s or task.timeout_s
        attempt = Attempt(job, task, envelope, started, timeout_s)
        if self._trace is not None:
            attempt.span = self._trace(attempt)
        if self._on_start is not None and self._registry.hooks.used:
            try:
                self._on_start(attempt)
            except BaseException as error:  # a worker that died here would keep its job
                _log.error("the hooks of a start were not told: %s", type(error).__name__)
        return attempt

    def arguments(self, attempt: Attempt) -> dict[str, Any]:
        """Return the arguments for the handler, which runs next here. Raises BadPayloadError."""
        task, arguments, job = attempt.task, attempt.envelope.payload, attempt.job
        running.note((job.id, task.name, job.attempt, job.group, self._partition))
        convert = task.signature.convert
        if convert is not None:
            arguments = convert(arguments)
        if task.context_parameter is not None:
            if task.context_parameter in arguments:
                task.signature.refuse_context()
            timeout_s = attempt.timeout_s
            deadline = None if timeout_s is None else attempt.started_s + timeout_s
            arguments[task.context_parameter] = RunContext(
                attempt.job,
                task.name,
                self._ownership,
                deadline,
                self.progress,
                continues=attempt.envelope.options.batch,
                results_of=self.results_of,
            )
        return arguments

    def _set_aside(self, job: ClaimedJob, task: str, started: float) -> Outcome:
        return Outcome(
            job, End.RETRY, started, monotonic(), _FALLBACK.name,
            delay_ms=int(self._unknown.pause_s(task, started) * 1000), charged=False,
            error=unknown.record(task), reason="unknown-task", aside=task,
        )  # fmt: skip


def _failed(
    job: ClaimedJob, task: Task, options: codec.Options, started: float, error: BaseException
) -> Outcome:
    try:
        return _failure(job, task, options, started, error)
    except BaseException:  # a RetryLater without its delay, a class without a name, ...
        strange = RuntimeError("the handler raised an exception that has no readable text")
        return _failure(job, task, options, started, strange)


def _failure(
    job: ClaimedJob, task: Task, options: codec.Options, started: float, error: BaseException
) -> Outcome:
    ended = monotonic()
    if isinstance(error, JobCancelled) and job.cancelled:
        return Outcome(job, End.CANCELLED, started, ended, task.name)
    if isinstance(error, RetryLater):
        delay_ms = int(error.delay_s * 1000)
        return Outcome(
            job, End.RETRY, started, ended, task.name, delay_ms=delay_ms, charged=False,
            slow_ms=delay_ms if isinstance(error, RateLimited) else 0,
        )  # fmt: skip
    return _attempted(job, task, options, started, record_of(error, _CALLERS))


def _attempted(
    job: ClaimedJob, task: Task, options: codec.Options, started: float, record: ErrorRecord
) -> Outcome:
    """Return the outcome of a failed attempt: another attempt, or dead."""
    ended, reason, error = monotonic(), record.reason, codec.encode_error(record)
    most = options.max_attempts or task.max_attempts
    if is_last(reason, job.attempt, most):
        return Outcome(
            job, End.BURY, started, ended, task.name,
            error=error, reason=reason, max_attempts=most,
        )  # fmt: skip
    delay_s = task.backoff.delay_s(job.attempt, random.random())
    return Outcome(
        job, End.RETRY, started, ended, task.name,
        delay_ms=int(delay_s * 1000), error=error, reason=reason, max_attempts=most,
    )  # fmt: skip
