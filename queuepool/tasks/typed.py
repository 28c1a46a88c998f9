"""What `@task` returns: the function itself, plus a typed way to create its jobs.

    @task
    def write_row(ctx: JobContext, id: int, name: str) -> str: ...

    write_row(ctx, 1, "Ada")                 calls the function
    write_row.job(id=1, name="Ada")          Job[str], its arguments checked by mypy and editors
    write_row.name                           the name of the task

`.job` takes the fields of the payload. The context is not one; type checkers know that only if it
is the first parameter, since no type can remove a later one.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Coroutine
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    overload,
)

from queuepool.tasks.context import JobContext
from queuepool.tasks.job import Job

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from queuepool.tasks.registry import Task

    R_co = TypeVar("R_co", covariant=True, default=Any)
else:  # a default needs Python 3.13, or a library
    R_co = typing.TypeVar("R_co", covariant=True)

R = typing.TypeVar("R")
V_co = typing.TypeVar("V_co", covariant=True)
CallP = ParamSpec("CallP")
JobP = ParamSpec("JobP")

_LIKE_A_FUNCTION = ("__code__", "__defaults__", "__kwdefaults__")


class TaskFunction(Generic[CallP, JobP, V_co, R_co]):
    """A function that is registered as a task. Calling it calls the function, here and now.

    CallP, V_co: the arguments and the return value of such a call. JobP, R_co: the arguments and
    the result of a job.
    """

    __name__: str
    __wrapped__: Callable[CallP, V_co]

    def __init__(self, function: Callable[CallP, V_co], task: Task) -> None:
        # Looks like the function to inspect, doctest, asyncio and other decorators.
        functools.update_wrapper(
            self, function, assigned=(*functools.WRAPPER_ASSIGNMENTS, *_LIKE_A_FUNCTION)
        )
        self.__dict__.pop("job", None)  # a function attribute would hide the method
        self.task = task
        if task.is_async and sys.version_info >= (3, 12):
            inspect.markcoroutinefunction(self)  # type: ignore[type-var, unused-ignore]

    @property
    def name(self) -> str:
        """Return the task's name."""
        return self.task.name

    def __call__(self, /, *args: CallP.args, **kwargs: CallP.kwargs) -> V_co:
        """Call the function itself; nothing is enqueued."""
        return self.__wrapped__(*args, **kwargs)

    def job(self, /, *args: JobP.args, **kwargs: JobP.kwargs) -> Job[R_co]:
        """Return a job with these arguments, for `enqueue` and `enqueue_many`.

        Its options come from the call that enqueues it, or from `.with_options(...)`. Raises
        InvalidInputError for arguments that cannot be named; `enqueue` checks the rest.
        """
        return Job(self.task.signature.bind(args, kwargs), task=self)

    def __reduce__(self) -> str:
        """Pickle by reference, as functions are: to where the decorated function is."""
        return getattr(self, "__qualname__", self.name)

    def __repr__(self) -> str:
        return f"<task {self.name!r}: {getattr(self, '__qualname__', self.__wrapped__)}>"


# The four kinds of handlers, by whether they take the context first and whether they are awaited.
ContextHandler: TypeAlias = Callable[Concatenate[JobContext, JobP], R]
AsyncContextHandler: TypeAlias = Callable[Concatenate[JobContext, JobP], Coroutine[Any, Any, R]]
AsyncHandler: TypeAlias = Callable[JobP, Coroutine[Any, Any, R]]
ContextTask: TypeAlias = TaskFunction[Concatenate[JobContext, JobP], JobP, V_co, R]


class TaskDecorator(Protocol):
    """What `@task(...)` with options returns."""

    @overload
    def __call__(
        self, function: AsyncContextHandler[JobP, R], /
    ) -> ContextTask[JobP, Coroutine[Any, Any, R], R]: ...
    @overload
    def __call__(self, function: ContextHandler[JobP, R], /) -> ContextTask[JobP, R, R]: ...
    @overload
    def __call__(
        self, function: AsyncHandler[JobP, R], /
    ) -> TaskFunction[JobP, JobP, Coroutine[Any, Any, R], R]: ...
    @overload
    def __call__(self, function: Callable[JobP, R], /) -> TaskFunction[JobP, JobP, R, R]: ...
