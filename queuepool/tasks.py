"""Tasks: named functions that run jobs, and the context that a running job may use.

    @task(max_attempts=5, timeout_s=30)
    def send_mail(to: str, subject: str, ctx: JobContext) -> None: ...

The payload's fields become keyword arguments. A parameter annotated `JobContext`, or named `ctx`,
takes the context. Tasks are looked up in a registry by name; a name in a payload never imports
anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, overload

from queuepool.backoff import Backoff
from queuepool.errors import InvalidInputError, UnknownTaskError, shown
from queuepool.models import Tier

F = TypeVar("F", bound=Callable[..., Any])
MAX_ATTEMPTS = 2**31 - 1
_BACKOFF = Backoff()


class JobContext(Protocol):
    """What a handler may know and do about the job that it runs."""

    @property
    def job_id(self) -> str:
        """Return the job's id, the same in every attempt: use it to make effects idempotent."""

    @property
    def task(self) -> str:
        """Return the task's name."""

    @property
    def attempt(self) -> int:
        """Return the number of this execution, from 1."""

    @property
    def group(self) -> bytes:
        """Return the task group."""

    @property
    def partition(self) -> int:
        """Return the partition that runs the job."""

    @property
    def fencing_token(self) -> int:
        """Return the owner's epoch: a store that refuses lower tokens is safe from zombies."""

    @property
    def deadline(self) -> float | None:
        """Return the time.monotonic() at which the timeout strikes; None without a timeout."""

    @property
    def cancel_requested(self) -> bool:
        """Return whether somebody asked to cancel; stop by raising JobCancelled."""

    def progress(self, text: str) -> None:
        """Publish how far the job is: at most 256 bytes, the newest wins, sent with a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A registered function and its options."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    is_async: bool = False
    context_parameter: str | None = None
    max_attempts: int = 5
    timeout_s: float | None = None
    backoff: Backoff = _BACKOFF
    tier: Tier = Tier.DEFAULT
    result_ttl_s: float = 3600.0

    def __post_init__(self) -> None:
        check_name(self.name)
        check_attempts(self.max_attempts)
        if self.timeout_s is not None:
            check_timeout(self.timeout_s)
        if not _is_number(self.result_ttl_s) or not 0 <= self.result_ttl_s <= 30 * 86400:
            raise InvalidInputError(
                f"result_ttl_s={shown(self.result_ttl_s)}: use 0 (keep none) to 30 days"
            )
        if not isinstance(self.backoff, Backoff):
            raise InvalidInputError(f"backoff={shown(self.backoff)}: use Backoff(base_s=...)")


class Registry:
    """Task name -> task. `queuepool.task` fills the default one."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    @overload
    def task(self, function: F, /) -> F: ...
    @overload
    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        max_attempts: int = 5,
        timeout_s: float | None = None,
        backoff: Backoff = _BACKOFF,
        tier: Tier | int | str = Tier.DEFAULT,
        result_ttl_s: float = 3600.0,
    ) -> Callable[[F], F]: ...

    def task(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        max_attempts: int = 5,
        timeout_s: float | None = None,
        backoff: Backoff = _BACKOFF,
        tier: Tier | int | str = Tier.DEFAULT,
        result_ttl_s: float = 3600.0,
    ) -> F | Callable[[F], F]:
        """Register a plain or `async def` function as a task; returns the function unchanged.

        name: the function's own by default. max_attempts: executions in all. timeout_s: how long
        one may take. backoff: between attempts. result_ttl_s: how long a result other than None is
        kept. Raises InvalidInputError for bad options or a name that is taken.
        """

        def register(f: F) -> F:
            own_name = getattr(f, "__name__", "")  # a partial or an object has none
            if not (name or own_name):
                raise InvalidInputError(f"{shown(f)} is no function with a name: @task(name=...)")
            self.add(
                Task(
                    name=name or own_name,
                    function=f,
                    is_async=inspect.iscoroutinefunction(f),
                    context_parameter=_context_parameter(f),
                    max_attempts=max_attempts,
                    timeout_s=timeout_s,
                    backoff=backoff,
                    tier=check_tier(tier),
                    result_ttl_s=result_ttl_s,
                )
            )
            return f

        return register if function is None else register(function)

    def add(self, task: Task) -> None:
        """Register a task. The same function again (a module imported twice) replaces itself."""
        known = self._tasks.get(task.name)
        if known is not None and not _same(known.function, task.function):
            raise InvalidInputError(
                f"two functions want to be task {task.name!r}: {_where(known.function)} and "
                f"{_where(task.function)}. Give one of them another name: @task(name=...)"
            )
        self._tasks[task.name] = task

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
        for known in self._tasks.values():
            if known.function is task:
                return known.name
        raise InvalidInputError(
            f"{_where(task)} is not a registered task: decorate it with @task, or pass its name"
        )

    def as_mapping(self) -> Mapping[str, Task]:
        """Return all tasks by name."""
        return dict(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        """Iterate over the tasks."""
        return iter(tuple(self._tasks.values()))


default_registry = Registry()
task = default_registry.task


def check_tier(tier: object) -> Tier:
    """Return a tier from itself, its number or its name. Raises InvalidInputError."""
    try:
        if isinstance(tier, str):
            return Tier[tier.upper()]
        if isinstance(tier, int) and not isinstance(tier, bool):
            return Tier(tier)
    except (KeyError, ValueError):
        pass
    raise InvalidInputError(f"tier={shown(tier)}: use critical, high, default or low (0 to 3)")


def check_name(name: object) -> str:
    """Return a valid task name. Raises InvalidInputError."""
    if isinstance(name, str):
        try:
            if 1 <= len(name.encode()) <= 128:
                return name
        except UnicodeEncodeError:  # half of a surrogate pair
            pass
    raise InvalidInputError(f"task name {shown(name)}: use 1 to 128 bytes of UTF-8")


def check_attempts(max_attempts: object) -> int:
    """Return a valid number of attempts. Raises InvalidInputError."""
    is_int = isinstance(max_attempts, int) and not isinstance(max_attempts, bool)
    if isinstance(max_attempts, int) and is_int and 1 <= max_attempts <= MAX_ATTEMPTS:
        return max_attempts
    raise InvalidInputError(f"max_attempts={shown(max_attempts)}: use 1 to {MAX_ATTEMPTS:,}")


def check_timeout(timeout_s: object) -> float:
    """Return a valid timeout. Raises InvalidInputError."""
    if isinstance(timeout_s, (int, float)) and _is_number(timeout_s) and 0 < timeout_s <= 604_800:
        return float(timeout_s)
    raise InvalidInputError(f"timeout_s={shown(timeout_s)}: use more than 0 s, at most 7 days")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _context_parameter(function: Callable[..., Any]) -> str | None:
    for parameter in inspect.signature(function).parameters.values():
        note = parameter.annotation
        # Text when the module has `from __future__ import annotations`, under whatever alias.
        annotated = note is JobContext or (
            isinstance(note, str) and note.strip("\"'").rpartition(".")[2] == "JobContext"
        )
        if annotated or (parameter.name == "ctx" and note is parameter.empty):
            return parameter.name
    return None


def _same(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
    # `python -m app` imports app as __main__ and perhaps once more by its name.
    code = getattr(a, "__code__", None)
    other = getattr(b, "__code__", None)
    if a is b or code is None or other is None:
        return a is b
    return (a.__qualname__, code.co_filename, code.co_firstlineno) == (
        b.__qualname__,
        other.co_filename,
        other.co_firstlineno,
    )


def _where(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return f"{getattr(function, '__module__', '?')}.{name}" if name else shown(function)
