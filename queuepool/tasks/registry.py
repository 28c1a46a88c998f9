"""Tasks: named functions that run jobs, and the registry that finds them by name.

    @task(max_attempts=5, timeout_s=30)
    def send_mail(ctx: JobContext, to: str, subject: str = "hi") -> None: ...

    pool.enqueue(send_mail.job(to="ada@example.org"), partition_key="promotion-42")
    pool.enqueue("send_mail", {"to": "ada@example.org"}, partition_key="promotion-42")

The payload's fields become keyword arguments, converted to their annotated types. A
parameter annotated `JobContext`, or named `ctx`, takes the context; as the first one, type checkers
leave it out of `.job(...)`. A name in a payload never imports anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import partial
from typing import Any, Unpack, overload

from queuepool.errors import InvalidInputError, UnknownTaskError
from queuepool.errors.escaping import shown
from queuepool.models import Schedule, Tier
from queuepool.models.places import DEFAULT_POOL, check_pool, check_slots
from queuepool.tasks.backoff import Backoff
from queuepool.tasks.hooks import Hook, Hooks, Moment, check_hook
from queuepool.tasks.limiting import LimitOption, limits_of, refuse_other_definitions
from queuepool.tasks.options import (
    TaskOptions,
    check_attempts,
    check_name,
    check_tier,
    check_timeout,
    is_number,
    refuse_unknown,
    spelled_out,
)
from queuepool.tasks.sameness import is_same_function
from queuepool.tasks.signature import Signature
from queuepool.tasks.typed import (
    AsyncContextHandler,
    AsyncHandler,
    ContextHandler,
    ContextTask,
    JobP,
    R,
    TaskDecorator,
    TaskFunction,
)
from queuepool.tasks.wishes import Wishes, key_of_fields, wishes_of

_BACKOFF = Backoff()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A registered function and its options. signature: what its payloads may contain."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    is_async: bool = False
    context_parameter: str | None = None
    max_attempts: int = 5
    timeout_s: float | None = None
    backoff: Backoff = _BACKOFF
    tier: Tier = Tier.DEFAULT
    result_ttl_s: float = 3600.0
    pool: str = DEFAULT_POOL
    slots: int = 1
    unique: Sequence[str] | None = None
    unique_until: str = "end"
    on_conflict: str = "skip"
    limit: LimitOption | None = None
    before: Hook | None = None
    after: Hook | None = None
    on_failed: Hook | None = None
    on_dead: Hook | None = None
    cron: str | None = None
    every: float | str | timedelta | None = None
    timezone: str = "UTC"
    schedule: Schedule | None = field(init=False, repr=False, compare=False)
    signature: Signature = field(init=False, repr=False, compare=False)
    wishes: Wishes | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        signature = Signature(self.name, self.function, self.context_parameter)
        object.__setattr__(self, "signature", signature)
        object.__setattr__(self, "context_parameter", signature.context)
        check_attempts(self.max_attempts)
        if self.timeout_s is not None:
            check_timeout(self.timeout_s)
        if not is_number(self.result_ttl_s) or not 0 <= self.result_ttl_s <= 30 * 86400:
            raise InvalidInputError(
                f"result_ttl_s={shown(self.result_ttl_s)}: use 0 (keep none) to 30 days"
            )
        if not isinstance(self.backoff, Backoff):
            raise InvalidInputError(f"backoff={shown(self.backoff)}: use Backoff(base_s=...)")
        check_pool(self.pool)
        check_slots(self.slots)
        for moment in Moment:
            if (hook := self.hook(moment)) is not None:
                check_hook(hook, moment)
        key = key_of_fields(self.name, self.unique, signature)
        limits = None if self.limit is None else limits_of(self.limit, signature)
        wishes = wishes_of(key, self.unique_until, self.on_conflict, None, limits)
        if wishes is not None:  # of jobs that have a key; others may be enqueued without one
            wishes = replace(wishes, need_key=False)
        object.__setattr__(self, "wishes", wishes)
        object.__setattr__(self, "schedule", self._declared())

    def _declared(self) -> Schedule | None:
        if self.cron is None and self.every is None:
            if self.timezone != "UTC":
                raise InvalidInputError(f"task {self.name!r}: timezone needs cron")
            return None
        return Schedule(
            self.name, self.name, cron=self.cron, every=self.every, timezone=self.timezone
        )

    def hook(self, moment: Moment) -> Hook | None:
        """Return the task's own hook of a moment."""
        found: Hook | None = getattr(self, moment)
        return found


_DEFAULTS = {f.name: f.default for f in fields(Task) if f.name in TaskOptions.__annotations__}
_DEFAULTS["name"] = None


class Registry:
    """Task name -> task. `queuepool.task` fills the default one. hooks: of all its tasks."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self.hooks = Hooks()

    @overload
    def task(
        self, function: AsyncContextHandler[JobP, R], /
    ) -> ContextTask[JobP, Coroutine[Any, Any, R], R]: ...
    @overload
    def task(self, function: ContextHandler[JobP, R], /) -> ContextTask[JobP, R, R]: ...
    @overload
    def task(
        self, function: AsyncHandler[JobP, R], /
    ) -> TaskFunction[JobP, JobP, Coroutine[Any, Any, R], R]: ...
    @overload
    def task(self, function: Callable[JobP, R], /) -> TaskFunction[JobP, JobP, R, R]: ...
    @overload
    def task(self, function: None = None, /, **options: Unpack[TaskOptions]) -> TaskDecorator: ...

    @spelled_out(TaskOptions, **_DEFAULTS)
    def task(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a plain or `async def` function as a task.

        Returns the function as a TaskFunction: called, it is still the function, and
        `function.job(...)` is a typed job for `enqueue` and `enqueue_many`:

        >>> @task(max_attempts=3, timeout_s=30)
        ... def greet(name: str) -> str:
        ...     return f"Hello, {name}"
        >>> greet("Grace")
        'Hello, Grace'
        >>> pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7").result(timeout_s=10)
        'Hello, Ada'

        name: the function's own by default. max_attempts: executions in all. timeout_s: how long
        one may take. backoff: between attempts. result_ttl_s: how long a result other than None is
        kept. pool: the worker pool that runs it. slots: how many workers of it a job takes.
        unique: parameters; of jobs with the same values in them, one at a time is in a partition,
        until its "end" or its "start" (unique_until); a second one is dropped ("skip"), or its
        payload replaces that of one that waits ("replace", "debounce": on_conflict). limit: the
        limits that hold for its jobs: a name, a template such as "mail:{account}", a Limit, which
        also declares what it allows, a function of the payload, or up to four of these. before,
        after, on_failed, on_dead: hooks, functions that take a JobRun. cron (in timezone) or
        every: the times of a schedule of the task's name, which `pool.schedules.declare()` sets.
        Raises InvalidInputError for bad options, a name that is taken, or anything but a function
        that a payload can call.
        """
        refuse_unknown("task", options, TaskOptions)
        if function is None:
            return partial(self._register, **options)
        return self._register(function, **options)

    def _register(
        self, given: Callable[..., Any], *, name: str | None = None, **options: Any
    ) -> TaskFunction[..., ..., Any, Any]:
        f = self._undecorated(given, name)
        own_name = getattr(f, "__name__", "")  # a partial or an object has none
        if not name and own_name in ("", "<lambda>"):
            raise InvalidInputError(f"{shown(f)} is not a named function: use @task(name=...)")
        if "tier" in options:
            options["tier"] = check_tier(options["tier"])
        is_async = any(map(inspect.iscoroutinefunction, _run_by(f)))
        made = Task(name=name or own_name, function=f, is_async=is_async, **options)
        self.add(made)
        return TaskFunction(f, made)

    def _undecorated(self, given: Any, name: str | None) -> Callable[..., Any]:
        if isinstance(given, TaskFunction):  # for another registry, or under another name
            if self.find(given.name) is given.task and name in (None, given.name):
                raise InvalidInputError(
                    f"{_where(given)} is task {given.name!r} already: decorate it once, with all "
                    "its options"
                )
            return given.__wrapped__
        if isinstance(given, type) or not callable(given):
            kind = "a class" if isinstance(given, type) else "not callable"
            raise InvalidInputError(
                f"@task on {shown(given)}, which is {kind}: decorate a function or an `async def`"
            )
        function: Callable[..., Any] = given
        if any(map(_is_generator, _run_by(given))):
            raise InvalidInputError(
                f"@task on {_where(given)}, which is a generator function: nobody would iterate "
                "over it; return a list, or enqueue a job per item"
            )
        return function

    def add(self, task: Task) -> None:
        """Register a task. The same function (of a module imported twice) replaces itself."""
        known = self._tasks.get(task.name)
        if known is not None and not is_same_function(known.function, task.function):
            raise InvalidInputError(
                f"two functions are registered as task {task.name!r}: {_where(known.function)} "
                f"and {_where(task.function)}. Give one of them another name: @task(name=...)"
            )
        refuse_other_definitions(task, (t for t in self if t.name != task.name))
        self._tasks[task.name] = task
        self.hooks.used |= any(task.hook(moment) is not None for moment in Moment)

    def get(self, name: str) -> Task:
        """Return the task of that name. Raises UnknownTaskError."""
        try:
            return self._tasks[name]
        except KeyError:
            raise UnknownTaskError(name, list(self._tasks)) from None

    def find(self, name: str) -> Task | None:
        """Return the task of that name, or None."""
        return self._tasks.get(name)

    def name_of(self, task: str | Callable[..., Any]) -> str:
        """Return a task's name, given the name or the registered function."""
        if isinstance(task, str):
            return task
        if isinstance(task, TaskFunction):
            known = self._tasks.get(task.name)
            if known is not None and is_same_function(known.function, task.__wrapped__):
                return task.name
        for known in self._tasks.values():
            if known.function is task:
                return known.name
        raise InvalidInputError(
            f"{_where(task)} is not a registered task: decorate it with @task, or pass its name"
        )

    def __iter__(self) -> Iterator[Task]:
        """Iterate over the tasks."""
        return iter(tuple(self._tasks.values()))


default_registry = Registry()
task = default_registry.task
hooks = default_registry.hooks


def _run_by(function: Callable[..., Any]) -> tuple[Any, Any]:
    """Return what a call runs: the function, or the `__call__` of an object."""
    return function, type(function).__call__


def _is_generator(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _where(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return f"{getattr(function, '__module__', '?')}.{name}" if name else shown(function)
