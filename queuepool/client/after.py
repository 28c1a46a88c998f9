"""What follows the jobs of a call: its task, and what failures and time do to it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Tier
from queuepool.models.flows import OnDeadline, OnFailure
from queuepool.tasks.job import Job
from queuepool.tasks.options import is_number
from queuepool.tasks.typed import TaskFunction

DAY_S = 86_400.0
MOST_DEADLINE_S = 90 * DAY_S
_MOST_KEEP_S = 30 * DAY_S


@dataclass(frozen=True, slots=True)
class After:
    """The job that runs once all jobs of a call have ended, with access to their results.

    task: a name, a function, or a job made by `task.job(...)`; payload: as for enqueue.
    partition_key: by default that of the jobs, if they share one. on_failure: what happens if jobs
    died, were cancelled or expired: "fail": this job dies once all have ended; "partial": it runs
    and sees which failed; "wait": it waits until dead jobs are replayed or discarded. deadline_s:
    how long it waits, at most 90 days; on_deadline: it dies ("fail"; the default with on_failure
    "fail") or runs with the results so far ("partial"). keep_s: how long results are kept after
    that, at least until it has ended. batch_id: your own id; repeating the whole call with it adds
    nothing twice. Other options: as for enqueue.
    """

    task: str | Callable[..., Any] | Job[Any]
    payload: Mapping[str, Any] = field(default_factory=dict)
    partition_key: str | bytes | None = None
    on_failure: OnFailure = "fail"
    deadline_s: float = 7 * DAY_S
    on_deadline: OnDeadline | None = None
    keep_s: float = DAY_S
    batch_id: str | None = None
    tier: Tier | int | str | None = None
    tenant: str | None = None
    pool: str | None = None
    max_attempts: int | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.task, Job) and self.payload:
            raise InvalidInputError("After: a job already has its arguments: omit the payload")
        _one_of("on_failure", self.on_failure, ("fail", "partial", "wait"))
        if self.on_deadline is not None:
            _one_of("on_deadline", self.on_deadline, ("fail", "partial"))
        _within("deadline_s", self.deadline_s, MOST_DEADLINE_S)
        _within("keep_s", self.keep_s, _MOST_KEEP_S)
        text: object = self.batch_id
        if text is not None and not (isinstance(text, str) and 1 <= len(text) <= 200):
            raise InvalidInputError(
                f"batch_id={shown(self.batch_id)}: use a text of 1 to 200 characters"
            )

    @property
    def late(self) -> OnDeadline:
        """Return what the deadline does."""
        if self.on_deadline is not None:
            return self.on_deadline
        return "fail" if self.on_failure == "fail" else "partial"

    def parts(self) -> tuple[str | Callable[..., Any], Mapping[str, Any]]:
        """Return its task and payload. Raises InvalidInputError."""
        if not isinstance(self.task, Job):
            return self.task, self.payload
        if self.task.task is None:
            raise InvalidInputError("After: this job has no task: create it with task.job(...)")
        of: str | TaskFunction[..., ..., Any, Any] = self.task.task
        return of, self.task.payload

    def options(self) -> dict[str, Any]:
        """Return its options, as for enqueue; those of a job take precedence."""
        own = self.task if isinstance(self.task, Job) else None
        names = ("tier", "pool", "max_attempts", "timeout_s")
        mine = {name: getattr(own, name, None) for name in names}
        found = {n: getattr(self, n) if v is None else v for n, v in mine.items()}
        return found | {"limit": None if own is None else own.limit}

    def refuse_impossible(self) -> None:
        """Raise InvalidInputError for what a job asks for, but none that follows others can have.

        Nor a unique key or expiry, which it may have from its task as well.
        """
        for name in ("job_id", "delay", "delay_s"):
            if isinstance(self.task, Job) and getattr(self.task, name):
                raise InvalidInputError(
                    f"a job that follows others cannot have a {name}: its id names what it "
                    "follows, and it starts when that has ended"
                )


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidInputError(f"{name}={shown(value)}: use {' or '.join(map(repr, allowed))}")


def _within(name: str, value: object, most: float) -> None:
    if not (isinstance(value, (int, float)) and is_number(value) and 0 < value <= most):
        raise InvalidInputError(
            f"{name}={shown(value)}: use more than 0 s, at most {most / DAY_S:g} days"
        )
