"""The options of an enqueue call for all its jobs, and for one that names its task. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from queuepool.client.routes import Route
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Tier
from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol import codec
from queuepool.tasks.job import Job
from queuepool.tasks.limiting import JobLimits, LimitOption, limits_of, refuse_undeclared
from queuepool.tasks.options import check_attempts, check_timeout
from queuepool.tasks.registry import Registry, Task
from queuepool.tasks.signature import Check
from queuepool.tasks.typed import TaskFunction
from queuepool.tasks.wishes import Wish, Wishes, wishes_of

_KNOWN_TASKS = 1024  # of one call, remembered
_KNOWN_LIMITS = 1024
TaskName = str | TaskFunction[..., ..., Any, Any]


class CallLimits:
    """Reads the `limit=` of calls and jobs. Safe to share between threads."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._of_text = lru_cache(_KNOWN_LIMITS)(limits_of)

    def of(self, limit: LimitOption | None, task: Task | None) -> JobLimits | None:
        """Return what it says, None for nothing. Raises InvalidInputError."""
        if limit is None:
            return None
        takes = None if task is None else task.signature
        if type(limit) is str:
            return self._of_text(limit, takes)
        return refuse_undeclared(limits_of(limit, takes), self._registry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Defaults for all jobs of a call. of: the task, if known in this process.

    check: of a payload against the task's signature. wishes: what jobs ask for besides being
    run. trace: the traceparent that they carry. batch: which they continue. limits: reads those
    that jobs name. pool: where they run. for_task: creates the defaults of one task, in a call
    whose jobs name theirs.
    """

    task: str
    of: Task | None
    tier: Tier
    delay_s: float = 0.0
    max_attempts: int | None = None
    timeout_s: float | None = None
    trace: str | None = None
    batch: str | None = None
    check: Check | None = None
    wishes: Wishes | None = None
    limits: CallLimits
    pool: str = DEFAULT_POOL
    for_task: Callable[[TaskName], Defaults] | None = None


def traced(defaults: Defaults, trace: str | None) -> Defaults:
    """Return the defaults of jobs that carry this traceparent."""
    return defaults if trace is None else replace(defaults, trace=trace)


def own_defaults(call: Defaults, job: Job[Any] | None, known: dict[TaskName, Defaults]) -> Defaults:
    """Return the defaults of a job that may name its own task. known: a cache of them."""
    task = None if job is None else job.task
    if task is None:
        if call.for_task is None:
            return call
        raise InvalidInputError(
            "neither the call nor the job names a task: pass the task first, or jobs created "
            "with task.job(...), such as write_row.job(id=1)"
        )
    found = known.get(task)
    if found is None:
        name = task if isinstance(task, str) else task.name
        if call.for_task is None and name != call.task:
            raise InvalidInputError(
                f"a job of task {shown(name)} in a call for task {shown(call.task)}: omit the "
                "call's task, so that each job uses its own"
            )
        found = call if call.for_task is None else call.for_task(task)
        if len(known) >= _KNOWN_TASKS:
            known.clear()
        known[task] = found
    return found


def options_of(defaults: Defaults, job: Job[Any] | None, route: Route | None) -> codec.Options:
    """Return the options in a job's envelope. Raises InvalidInputError."""
    attempts, timeout_s = defaults.max_attempts, defaults.timeout_s
    if job is not None and job.max_attempts is not None:
        attempts = check_attempts(job.max_attempts)
    if job is not None and job.timeout_s is not None:
        timeout_s = check_timeout(job.timeout_s)
    key = route.key_text if route else None
    trace, batch = defaults.trace, defaults.batch
    if attempts is timeout_s is None and key is trace is batch is None:
        return codec.NO_OPTIONS
    return codec.Options(attempts, timeout_s, trace, key, batch)


def wish_of(defaults: Defaults, job: Job[Any] | None, payload: Mapping[str, Any]) -> Wish | None:
    """Return what a job asks for besides being run. Raises InvalidInputError."""
    wishes = defaults.wishes
    if job is not None:
        plain = job.unique is job.unique_until is job.on_conflict is None
        if not plain or job.expires_s is not None or job.limit is not None:
            limits = defaults.limits.of(job.limit, defaults.of)
            own = (job.unique, job.unique_until, job.on_conflict, job.expires_s)
            wishes = wishes_of(*own, limits, wishes)
    return None if wishes is None else wishes.of(payload)


def milliseconds(seconds: float) -> int:
    """Return a duration in the server's unit."""
    return round(seconds * 1000)
