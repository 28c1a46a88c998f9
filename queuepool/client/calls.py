"""The calls that enqueue, in their forms: a task and payloads, or jobs that bring their task along.

    enqueue(write_row.job(id=1))             enqueue("write_row", {"id": 1})
    enqueue_many([a.job(), b.job()])         enqueue_many("write_row", [{"id": 1}, Job({"id": 2})])

Both pools take the same forms and options; here they become what the Producer lays out. Pure.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from queuepool.client.defaults import Defaults
from queuepool.client.producer import Chunk, Producer
from queuepool.client.timing import seconds_of
from queuepool.errors import InvalidInputError, shown
from queuepool.models import Durability, Tier
from queuepool.tasks.job import Job
from queuepool.tasks.registry import Task
from queuepool.tasks.typed import TaskFunction

TaskOf = Callable[[int], Task | None]


class CallOptions(TypedDict, total=False):
    """What every enqueue call may say of its jobs. delay: a timedelta, or seconds."""

    tier: Tier | int | str | None
    delay: timedelta | float | None
    delay_s: float | None
    run_at: datetime | None
    max_attempts: int | None
    timeout_s: float | None
    durability: Durability | str | None


class OneJobOptions(CallOptions, total=False):
    """The options of enqueue."""

    job_id: str | None


class ManyJobsOptions(CallOptions, total=False):
    """The options of enqueue_many."""

    wait_when_full_s: float


class _Common(TypedDict):
    tier: Tier | int | str | None
    delay_s: float | None
    max_attempts: int | None
    timeout_s: float | None


def one(
    producer: Producer,
    task: str | Callable[..., Any] | Job[Any],
    payload: Mapping[str, Any] | None,
    partition_key: str | bytes | None,
    job_id: str | None,
    **call: Unpack[_Common],
) -> tuple[Chunk, Task | None]:
    """Return the chunk of an enqueue call, and the task where it is known here.

    The options of a job that names its task come first, then the call's, then the task's.
    """
    if not isinstance(task, Job):
        defaults = producer.defaults(task, **call)
        payload = {} if payload is None else payload
        return producer.single(defaults, payload, partition_key, job_id), defaults.of
    job = task
    if payload is not None:
        raise InvalidInputError("a job has its arguments already: leave the payload out")
    if job.task is None:
        raise InvalidInputError(
            "this job names no task: make it by task.job(...), or pass the task and the payload"
        )
    own_delay_s = seconds_of(job.delay, job.delay_s)
    defaults = producer.defaults(
        job.task,
        tier=call["tier"] if job.tier is None else job.tier,
        delay_s=call["delay_s"] if own_delay_s is None else own_delay_s,
        max_attempts=call["max_attempts"] if job.max_attempts is None else job.max_attempts,
        timeout_s=call["timeout_s"] if job.timeout_s is None else job.timeout_s,
    )
    partition_key = partition_key if job.partition_key is None else job.partition_key
    job_id = job_id if job.job_id is None else job.job_id
    return producer.single(defaults, job.payload, partition_key, job_id), defaults.of


def many(
    producer: Producer,
    task: str | Callable[..., Any] | Iterable[Job[Any]],
    items: Iterable[Mapping[str, Any] | Job[Any]] | None,
    **call: Unpack[_Common],
) -> tuple[Defaults, Iterable[Mapping[str, Any] | Job[Any]], TaskOf]:
    """Return what Producer.chunks takes of an enqueue_many call, and the task of each position."""
    if items is not None:
        if not isinstance(task, str) and not callable(task):
            raise InvalidInputError(f"{shown(task)} is no task: pass its name, or the function")
        common = producer.defaults(task, **call)
        return common, items, lambda _position: common.of
    if isinstance(task, (str, TaskFunction, Job)) or not isinstance(task, Iterable):
        raise InvalidInputError(
            f"enqueue_many({shown(task)}) has no items: they are the second argument, behind the "
            "task; or pass an iterable of jobs made by task.job(...)"
        )

    def for_task(name: str | TaskFunction[..., ..., Any, Any]) -> Defaults:
        return producer.defaults(name, **call)

    for_task("-")  # a bad option is refused before the first item is asked for
    jobs = _Told(task, producer)
    return Defaults(task="", of=None, tier=Tier.DEFAULT, for_task=for_task), jobs, jobs.task_of


class _Told:
    """Jobs of any tasks, once; remembers the task of each for the results, two bytes a job."""

    def __init__(self, jobs: Iterable[Job[Any]], producer: Producer) -> None:
        self._jobs, self._producer = jobs, producer
        self._numbers: dict[Any, int] = {}
        self._of = array("H")

    def __iter__(self) -> Iterator[Job[Any]]:
        for job in self._jobs:
            task = getattr(job, "task", None)  # a payload has none, and is refused later
            self._of.append(self._numbers.setdefault(task, len(self._numbers)))
            yield job

    def task_of(self, position: int) -> Task | None:
        """Return the task of a job, where it is known here."""
        task = list(self._numbers)[self._of[position]]
        return self._producer.registry.find(task) if isinstance(task, str) else task.task
