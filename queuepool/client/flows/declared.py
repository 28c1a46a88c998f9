"""A flow as people declare it: steps, and which follow which. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, Unpack

from queuepool.client.after import DAY_S, After
from queuepool.client.routes import PartitionKey
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Tier
from queuepool.models.flows import OnDeadline, OnFailure
from queuepool.protocol.ids import ending_from
from queuepool.tasks.job import Job
from queuepool.tasks.options import refuse_unknown
from queuepool.tasks.typed import TaskFunction

MOST_STEPS = 200
MOST_WAITING = 100  # jobs of a step that follows others, and that follow one step
_LONGEST = 64
_OF_WAITING = ("on_failure", "on_deadline")


class StepOptions(TypedDict, total=False):
    """The options of a step: those of After."""

    on_failure: OnFailure
    deadline_s: float
    on_deadline: OnDeadline | None
    tier: Tier | int | str | None
    tenant: str | None
    pool: str | None
    max_attempts: int | None
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its jobs, and the names of the steps that they wait for. job: task and options."""

    name: str
    job: After
    rows: Sequence[Mapping[str, Any] | Job[Any]] | None
    after: tuple[str, ...]
    partition_key: PartitionKey

    @property
    def items(self) -> Sequence[Mapping[str, Any] | Job[Any]]:
        """Return its jobs, as enqueue_many takes them."""
        if self.rows is not None:
            return self.rows
        return [self.job.task if isinstance(self.job.task, Job) else self.job.payload]

    def job_of(self, item: Mapping[str, Any] | Job[Any]) -> After:
        """Return one of its jobs. Raises InvalidInputError."""
        if not isinstance(item, Job):
            return replace(self.job, payload=item)
        own = item if item.task is not None else replace(item, task=_task(self.job))
        return replace(self.job, task=own)

    def key_of(self, item: Mapping[str, Any] | Job[Any]) -> str | bytes:
        """Return the partition key of one of its jobs."""
        payload = item.payload if isinstance(item, Job) else item
        key = self.partition_key
        return key(payload) if callable(key) else key


class Flow:
    """Steps, of which some follow others: `pool.enqueue_flow(flow)` starts it.

    >>> flow = Flow("nightly", partition_key="nightly")
    >>> flow.add("extract", {"day": "2026-11-22"}).add("load", after=["extract"])
    Flow('nightly', steps=['extract', 'load'])

    name: what people call it. partition_key: of all steps that have none of their own. flow_id: a
    text of your own, such as the day: a flow of that name and id runs once. Without one each object
    is a flow of its own, and enqueueing it again adds nothing. deadline_s: how long a step waits
    for those that it follows, from the call on, unless it says otherwise. keep_s: how long results
    are kept after the last deadline.
    """

    def __init__(
        self,
        name: str,
        *,
        partition_key: PartitionKey | None = None,
        flow_id: str | None = None,
        deadline_s: float = 7 * DAY_S,
        keep_s: float = DAY_S,
    ) -> None:
        """Begin a flow without steps."""
        self.name = _checked_name("a flow", name)
        text: object = flow_id
        if text is not None and not _is_id(text):
            raise InvalidInputError(
                f"flow_id={shown(flow_id)}: use a text of 1 to 200 characters, such as the day"
            )
        self.flow_id = flow_id or ending_from(os.urandom(9)).decode()
        self.partition_key, self.deadline_s, self.keep_s = partition_key, deadline_s, keep_s
        self._steps: dict[str, Step] = {}

    def add(
        self,
        task: str | Callable[..., Any] | Job[Any],
        payload: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        each: Iterable[Mapping[str, Any] | Job[Any]] | None = None,
        after: str | Sequence[str] = (),
        partition_key: PartitionKey | None = None,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Add a step, and return the flow. Raises InvalidInputError.

        task, payload: as for enqueue, or a job made by `task.job(...)`. name: default: that of the
        task. each: payloads, or jobs: the step has a job for each; at most 100 if it follows others
        (for more, let a job add jobs with `into=ctx.batch`). after: the names of the steps that it
        follows. partition_key: default: that of the flow; or a function of the payload. on_failure,
        deadline_s, on_deadline: what it means for each job of this step that a step which it
        follows failed, as for After. The other options: as for enqueue.
        """
        refuse_unknown("add", dict(options), StepOptions)
        follows = (after,) if isinstance(after, str) else _listed("after", after, "names of steps")
        waits = sorted(set(options) & {*_OF_WAITING, "deadline_s"})
        if waits and not follows:
            raise InvalidInputError(f"{waits[0]} is for a step that follows others: see after")
        rows = None if each is None else [*_listed("each", each, "payloads, or jobs")]
        _check_arguments(task, payload, rows)
        times: dict[str, Any] = {"deadline_s": self.deadline_s, "keep_s": self.keep_s, **options}
        job = After(task, {} if payload is None else payload, **times)
        own = _checked_name("a step", _name_of(task) if name is None else name)
        key = self._key_of(own, partition_key)
        if own in self._steps:
            raise InvalidInputError(f"two steps are called {shown(own)}: rename one")
        _check_rows(own, rows, follows)
        self._steps[own] = Step(own, job, rows, follows, key)
        return self

    def _key_of(self, step: str, given: PartitionKey | None) -> PartitionKey:
        key = self.partition_key if given is None else given
        if key is None:
            raise InvalidInputError(
                f"step {shown(step)} needs a partition_key, or the flow needs one: it determines "
                "where jobs run"
            )
        return key

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps in the order in which they were added."""
        return tuple(self._steps.values())

    def __repr__(self) -> str:
        return f"Flow({self.name!r}, steps={list(self._steps)})"


def _listed(name: str, given: object, what: str) -> tuple[Any, ...]:
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping, Job)):
        return tuple(given)
    raise InvalidInputError(f"{name}={shown(given)}: use a list of {what}")


def checked(flow: Flow) -> tuple[Step, ...]:
    """Return the steps of a flow that can run. Raises InvalidInputError."""
    steps = flow.steps
    if not 1 <= len(steps) <= MOST_STEPS:
        raise InvalidInputError(
            f"flow {flow.name!r} has {len(steps)} steps: use 1 to {MOST_STEPS:,}"
        )
    names = {step.name for step in steps}
    followers = dict.fromkeys(names, 0)
    for step in steps:
        if unknown := sorted(set(step.after) - names):
            raise InvalidInputError(
                f"step {shown(step.name)} follows {shown(unknown[0])}, which is not a step of flow "
                f"{flow.name!r}: {', '.join(sorted(names))}"
            )
        if len(set(step.after)) < len(step.after):
            raise InvalidInputError(f"step {shown(step.name)} follows a step twice")
        for name in step.after:
            followers[name] += len(step.items)
    for name, count in followers.items():
        if count > MOST_WAITING:
            raise InvalidInputError(
                f"{count:,} jobs follow step {shown(name)}; at most {MOST_WAITING} are possible: "
                f"let one job follow it and add the others with into=ctx.batch"
            )
    _refuse_cycles(flow.name, {step.name: step.after for step in steps})
    return steps


def _refuse_cycles(flow: str, after: Mapping[str, tuple[str, ...]]) -> None:
    left = dict(after)
    while free := [name for name, before in left.items() if not set(before) & set(left)]:
        for name in free:
            del left[name]
    if left:
        way = [next(iter(left))]
        while way.count(way[-1]) < 2:
            way.append(next(name for name in left[way[-1]] if name in left))
        circle = way[way.index(way[-1]) :]
        raise InvalidInputError(
            f"flow {flow!r} cannot start: {' follows '.join(map(shown, circle))}"
        )


def _check_arguments(task: object, payload: object, rows: object) -> None:
    if rows is not None and payload is not None:
        raise InvalidInputError("use either a payload or each for a step, not both")
    if isinstance(task, Job) and payload is not None:
        raise InvalidInputError("a job already has its arguments: omit the payload")
    if isinstance(task, Job) and rows is not None:
        raise InvalidInputError(
            "a job already has its arguments: pass its task if the step has a job for each item"
        )


def _check_rows(name: str, rows: Sequence[Any] | None, follows: Sequence[str]) -> None:
    if rows is None:
        return
    if not rows:
        raise InvalidInputError(f"step {shown(name)} has no jobs: each is empty")
    if follows and len(rows) > MOST_WAITING:
        raise InvalidInputError(
            f"step {shown(name)} has {len(rows):,} jobs that wait, at most {MOST_WAITING} may: let "
            "one of them add the others with into=ctx.batch"
        )


def _name_of(task: object) -> str:
    of = task.task if isinstance(task, Job) else task
    if isinstance(of, TaskFunction):
        return of.name
    return of if isinstance(of, str) else getattr(of, "__name__", "")


def _task(job: After) -> Any:
    return job.task.task if isinstance(job.task, Job) else job.task


def _is_id(text: object) -> bool:
    if not isinstance(text, str) or not 1 <= len(text) <= 200:
        return False
    return not any("\ud800" <= c <= "\udfff" for c in text)  # UTF-8 has none of these


def _checked_name(what: str, name: object) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST or not name.isprintable():
        raise InvalidInputError(
            f"{what} cannot be named {shown(name)}: use a text of 1 to {_LONGEST} characters"
        )
    return name
