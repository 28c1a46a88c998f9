"""Hooks: functions of an application that are called when its jobs start, end, fail or die.

    @hooks.on_failed                                   for every task of the registry
    def report(run: JobRun) -> None: ...

    @task(on_failed=report)                            for one task
    def send_mail(to: str) -> None: ...

They are declared where tasks are declared: `queuepool.hooks` belongs to `queuepool.task`, and each
Registry has its own. Who runs jobs calls them beside the jobs, so they can delay and break none.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.runs import JobRun, RunEnd

Hook: TypeAlias = Callable[[JobRun], Any]
H = TypeVar("H", bound=Hook)


class Moment(StrEnum):
    """When a hook is called; the name of the option of `@task`."""

    BEFORE = "before"
    AFTER = "after"
    FAILED = "on_failed"
    DEAD = "on_dead"


def moments_of(end: RunEnd) -> tuple[Moment, ...]:
    """Return the moments of an end, in the order in which their hooks are called."""
    if end is RunEnd.DEAD:
        return Moment.FAILED, Moment.DEAD, Moment.AFTER
    return (Moment.FAILED, Moment.AFTER) if end is RunEnd.FAILED else (Moment.AFTER,)


def check_hook(hook: object, moment: Moment) -> None:
    """Raise InvalidInputError for anything that cannot be called with a run."""
    if isinstance(hook, type) or not callable(hook):
        raise InvalidInputError(
            f"{moment}={shown(hook)}: use a function, or an `async def`, that takes a JobRun"
        )


class Hooks:
    """The hooks of all tasks of a registry. Each method is a decorator, sync or async.

    used: whether there is any hook, of a task or of all.
    """

    def __init__(self) -> None:
        self.used = False
        self._of_all: dict[Moment, tuple[Hook, ...]] = dict.fromkeys(Moment, ())

    def before(self, hook: H) -> H:
        """Call this when a job starts.

        >>> @hooks.before
        ... def begin(run: JobRun) -> None:
        ...     print("begins", run.task, run.job_id)
        """
        return self._add(Moment.BEFORE, hook)

    def after(self, hook: H) -> H:
        """Call this when an execution has ended, however it ended: `run.end` tells.

        >>> @hooks.after
        ... def measure(run: JobRun) -> None:
        ...     print(run.task, run.end, run.ran_s)
        """
        return self._add(Moment.AFTER, hook)

    def on_failed(self, hook: H) -> H:
        """Call this when an attempt has failed, also when it was the last one.

        >>> @hooks.on_failed
        ... def report(run: JobRun) -> None:
        ...     print(run.error, "next try in", run.next_try_s)
        """
        return self._add(Moment.FAILED, hook)

    def on_dead(self, hook: H) -> H:
        """Call this when a job has died: its last attempt failed, or another makes no sense.

        >>> @hooks.on_dead
        ... async def alarm(run: JobRun) -> None:
        ...     print("dead:", run.job_id)
        """
        return self._add(Moment.DEAD, hook)

    def of(self, moment: Moment, own: Hook | None) -> tuple[Hook, ...]:
        """Return the hooks to call: those of all tasks, then the task's own."""
        of_all = self._of_all[moment]
        return of_all if own is None or own in of_all else (*of_all, own)

    def _add(self, moment: Moment, hook: H) -> H:
        check_hook(hook, moment)
        if hook not in self._of_all[moment]:
            self._of_all[moment] += (hook,)
        self.used = True
        return hook
