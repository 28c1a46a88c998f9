"""One job, run in the calling thread: the handler's context, and the outcome."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from queuepool.errors import (
    InvalidInputError,
    JobCancelled,
    JobTimeoutError,
    RetryLater,
    UnknownTaskError,
)
from queuepool.errors.escaping import shown
from queuepool.models import ErrorRecord, JobState
from queuepool.models.flows import BatchResult
from queuepool.models.tenants import key_in, tenant_text
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.tasks.batch_ref import ResultsOf, batch_of, results_of
from queuepool.tasks.context import progress_bytes
from queuepool.tasks.outcome import is_last, record_of
from queuepool.tasks.registry import Registry, Task
from queuepool.telemetry import running
from queuepool.verbs.owner import verbs as own

_FALLBACK = Task(name="unknown", function=lambda: None)
ASIDE_S = 1.0  # how long a job of an unknown task is set aside


@dataclass(frozen=True, slots=True)
class Claimed:
    """One claimed job. failed: how many attempts failed before this one."""

    job_id: bytes
    body: bytes
    failed: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How one execution ended. state: DONE, DELAYED (to be retried), DEAD or CANCELLED.

    exception: what the handler raised, unless it asked for later.
    unknown: no task of that name is registered here, so the job waits until one is.
    """

    job_id: str
    task: str
    attempt: int
    state: JobState
    result: Any = None
    error: ErrorRecord | None = None
    delay_s: float | None = None
    charged: bool = True
    result_ttl_s: float = 0.0
    exception: BaseException | None = field(default=None, repr=False, compare=False)
    unknown: bool = False


class Context:
    """What a handler can see and do about its job; a JobContext."""

    def __init__(
        self,
        job: Claimed,
        task: str,
        owned: OwnedPartition,
        timeout_s: float | None,
        *,
        continues: str | None = None,
        results_of: ResultsOf | None = None,
    ) -> None:
        self.continues, self._results_of = continues, results_of
        self.batch = batch_of(job.job_id.decode())
        self._job, self._owned = job, owned
        self.job_id, self.task = job.job_id.decode(), task
        group = codec.read_group(job.body)
        self.attempt, self.group, self.tenant = job.failed + 1, key_in(group), tenant_text(group)
        self.partition, self.fencing_token = owned.partition.number, owned.epoch
        self.deadline = None if timeout_s is None else time.monotonic() + timeout_s

    @property
    def cancel_requested(self) -> bool:
        """Return whether cancellation was requested, checked each time."""
        return self._owned.partition.status(self.job_id).cancel_requested

    def results(self, step: str | None = None) -> Iterator[BatchResult]:
        """Iterate over how the jobs ended that this one continues, by their numbers."""
        return results_of(self.continues, self._results_of, step)

    def progress(self, text: str) -> None:
        """Publish progress, at once."""
        news = {self._job.job_id: progress_bytes(text)}
        self._owned.run(own.progress(self._owned.ownership, news))


def _is_cancelled(error: BaseException, owned: OwnedPartition, job_id: str) -> bool:
    return isinstance(error, JobCancelled) and owned.partition.status(job_id).cancel_requested


def execute(
    registry: Registry,
    owned: OwnedPartition,
    job: Claimed,
    *,
    run_async: Callable[[Any], Any],
    jitter: float,
    results_of: ResultsOf | None = None,
) -> Ended:
    """Run a job and return how it ended; of a handler's exceptions, only Ctrl-C propagates."""
    job_id, attempt = job.job_id.decode(), job.failed + 1
    task, name, options = _FALLBACK, "", codec.NO_OPTIONS
    try:
        envelope = codec.decode_envelope(job.body)
        name, options = envelope.task, envelope.options
        found = registry.find(name)
        if found is None:
            unknown = UnknownTaskError(name, [t.name for t in registry])
            return _set_aside(job_id, name, attempt, unknown)
        task = found
        batch, timeout_s = options.batch, options.timeout_s or task.timeout_s
        context = Context(job, name, owned, timeout_s, continues=batch, results_of=results_of)
        group = codec.read_group(job.body)
        running.note((job.job_id, name, attempt, group, context.partition))
        result = _call(task, dict(envelope.payload), context, timeout_s, run_async)
        codec.encode_result(result)
        ttl_s = task.result_ttl_s
        return Ended(job_id, name, attempt, JobState.DONE, result=result, result_ttl_s=ttl_s)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if _is_cancelled(error, owned, job_id):
            record = record_of(error)
            return Ended(job_id, name, attempt, JobState.CANCELLED, error=record, exception=error)
        most, backoff = options.max_attempts or task.max_attempts, task.backoff
        delay_of = partial(backoff.delay_s, attempt, jitter)
        return _failed(job_id, name, attempt, error, most, delay_of)
    finally:
        running.note(None)


def _failed(
    job_id: str,
    name: str,
    attempt: int,
    error: BaseException,
    max_attempts: int,
    pause_s: Callable[[], float],
) -> Ended:
    """Return how an execution ended that raised. pause_s: returns how long before the next one."""
    delay_s = getattr(error, "delay_s", None)  # none in a subclass with its own __init__
    if isinstance(error, RetryLater) and delay_s is not None:
        return Ended(job_id, name, attempt, JobState.DELAYED, delay_s=delay_s, charged=False)
    record = record_of(error)
    if is_last(record.reason, attempt, max_attempts):
        return Ended(job_id, name, attempt, JobState.DEAD, error=record, exception=error)
    return Ended(
        job_id,
        name,
        attempt,
        JobState.DELAYED,
        error=record,
        delay_s=pause_s(),
        exception=error,
    )


def _set_aside(job_id: str, name: str, attempt: int, exception: UnknownTaskError) -> Ended:
    error = ErrorRecord(
        reason="unknown-task",
        message=f"waiting, uncharged, for a consumer with task {shown(name)}",
    )
    return Ended(
        job_id, name, attempt, JobState.DELAYED, error=error, delay_s=ASIDE_S, charged=False,
        unknown=True, exception=exception,
    )  # fmt: skip


def _call(
    task: Task,
    arguments: dict[str, Any],
    context: Context,
    timeout_s: float | None,
    run_async: Callable[[Any], Any],
) -> Any:
    if task.signature.convert is not None:
        arguments = task.signature.convert(arguments)
    if task.context_parameter is not None:
        if task.context_parameter in arguments:
            task.signature.refuse_context()
        arguments[task.context_parameter] = context
    if not task.is_async:
        return task.function(**arguments)

    async def within_its_time() -> Any:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await task.function(**arguments)
        except TimeoutError:
            if not limit.expired():
                raise
            raise JobTimeoutError(f"{task.name} ran longer than {timeout_s:g} s") from None

    return run_async(within_its_time())


def refuse_a_running_loop() -> None:
    """Raise InvalidInputError if an async handler could not run here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInputError(
        "run_jobs was called from a coroutine, but an async handler needs a separate event "
        "loop: use await asyncio.to_thread(run_jobs, pool)"
    )
