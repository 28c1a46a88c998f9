"""The calls that enqueue, in their forms: a task and payloads, or jobs that bring their task along.

    enqueue(write_row.job(id=1))             enqueue("write_row", {"id": 1})
    enqueue_many([a.job(), b.job()])         enqueue_many("write_row", [{"id": 1}, Job({"id": 2})])

Both pools accept the same forms and options; here they become input of the Producer.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, Required, TypeAlias

from queuepool.client.after import After
from queuepool.client.arguments import delay_until, seconds_of
from queuepool.client.chunks import Chunk, OpenChunks
from queuepool.client.defaults import Defaults, traced
from queuepool.client.numbers import Numbers
from queuepool.client.producer import Producer
from queuepool.client.routes import PartitionKey
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Durability, Tier
from queuepool.tasks.batch_ref import BatchRef
from queuepool.tasks.job import Job, R_co
from queuepool.tasks.options import RunOptions, refuse_unknown
from queuepool.tasks.registry import Task
from queuepool.tasks.typed import TaskFunction
from queuepool.tasks.wishes import UniqueKey, UniqueKeyOf

Payload: TypeAlias = Mapping[str, Any]
TypedTask: TypeAlias = TaskFunction[..., ..., Any, R_co]
AnyTask: TypeAlias = str | Callable[..., Any]
Items: TypeAlias = Iterable[Mapping[str, Any] | Job[Any]]
TaskOf: TypeAlias = Callable[[int], Task | None]


class _CommonOptions(RunOptions, total=False):
    run_at: datetime | None


class OneOptions(_CommonOptions, total=False):
    """The options of `enqueue` besides the partition key."""

    job_id: str | None
    unique: str | bytes | None
    spread: int
    durability: Durability | str | None


class EnqueueOptions(OneOptions, total=False):
    """The options of `enqueue` for a job made by `task.job(...)`, which may have its own key."""

    partition_key: str | bytes | None


class KeyedOptions(OneOptions, total=False):
    """The options of `enqueue` for any other job."""

    partition_key: Required[str | bytes]


class ManyOptions(_CommonOptions, total=False):
    """The options of `enqueue_many` for all its jobs."""

    partition_key: PartitionKey | None
    unique: UniqueKey | UniqueKeyOf | None
    spread: int
    wait_when_full_s: float
    results: Literal["all", "failures"]
    durability: Durability | str | None
    then: After | None
    into: BatchRef | None


def one(
    producer: Producer,
    task: AnyTask | Job[Any],
    payload: Payload | None,
    *,
    partition_key: str | bytes | None = None,
    job_id: str | None = None,
    unique: UniqueKey | None = None,
    tenant: str | None = None,
    trace: str | None = None,
    spread: int | None = None,
    **options: Any,
) -> tuple[Chunk, Task | None]:
    """Return the chunk of an enqueue call, and its task if known in this process.

    The options of a job that names its task take precedence, then the call's, then the task's.
    trace: the traceparent of the call. spread: over how many slots the group is spread.
    """
    common = _common("enqueue", options) if options else options
    if unique is not None:
        common["unique"] = unique
    if not isinstance(task, Job):
        defaults = traced(producer.defaults(task, **common), trace)
        payload = {} if payload is None else payload
        return producer.single(
            defaults, payload, partition_key, job_id, tenant, spread or 1
        ), defaults.of
    job = task
    if payload is not None:
        raise InvalidInputError("a job already has its arguments: omit the payload")
    if job.task is None:
        raise InvalidInputError(
            "this job has no task: create it with task.job(...), or pass the task and the payload"
        )
    defaults = traced(producer.defaults(job.task, **common | _own(job)), trace)
    partition_key = partition_key if job.partition_key is None else job.partition_key
    job_id = job_id if job.job_id is None else job.job_id
    tenant = tenant if job.tenant is None else job.tenant
    chunk = producer.single(defaults, job.payload, partition_key, job_id, tenant, spread or 1)
    return chunk, defaults.of


def many(
    producer: Producer,
    task: AnyTask | Iterable[Job[Any]],
    items: Items | None,
    partition_key: PartitionKey | None,
    unique: UniqueKey | UniqueKeyOf | None = None,
    tenant: str | None = None,
    numbers: Numbers | None = None,
    trace: str | None = None,
    kept: dict[int, int] | None = None,
    spread: int | None = None,
    **options: Any,
) -> tuple[Iterator[Chunk], OpenChunks, TaskOf]:
    """Return the chunks of an enqueue_many call, and the task of each position.

    In between: filled with chunks of jobs that were consumed but not yet yielded. trace: the
    traceparent of the call. kept: where the task of each position is remembered, until the caller
    drops it; None: of all, at 2 bytes a job. spread: over how many slots the group is spread.
    """
    common = _common("enqueue_many", options) | {"unique": unique}
    defaults, jobs, task_of = _forms(producer, task, items, common, trace, kept)
    held: OpenChunks = {}
    chunks = producer.chunks(defaults, jobs, partition_key, held, tenant, numbers, spread or 1)
    return chunks, held, task_of


def _forms(
    producer: Producer,
    task: AnyTask | Iterable[Job[Any]],
    items: Items | None,
    call: dict[str, Any],
    trace: str | None,
    kept: dict[int, int] | None,
) -> tuple[Defaults, Items, TaskOf]:
    _refuse_what_has_no_items(task, items)
    if items is not None:
        if not isinstance(task, str) and not callable(task):
            raise InvalidInputError(
                f"{shown(task)} is not a task: pass a task's name, or its function"
            )
        common = traced(producer.defaults(task, **call), trace)
        return common, items, lambda _position: common.of
    if isinstance(task, (str, TaskFunction, Job)) or not isinstance(task, Iterable):
        raise InvalidInputError(
            f"enqueue_many({shown(task)}) has no items: pass them as the second argument, after "
            "the task, or pass an iterable of jobs created with task.job(...)"
        )

    def for_task(name: str | TaskFunction[..., ..., Any, Any]) -> Defaults:
        return traced(producer.defaults(name, **call), trace)

    for_task("-")  # a bad option is rejected before the first item is consumed
    jobs = _JobsOfTasks(task, producer, kept)
    call_only = Defaults(
        task="", of=None, tier=Tier.DEFAULT, limits=producer.limits, for_task=for_task
    )
    return call_only, jobs, jobs.task_of


def _refuse_what_has_no_items(*arguments: object) -> None:
    for given in arguments:
        if isinstance(given, AsyncIterable):
            raise InvalidInputError(
                "enqueue_many takes no async iterable: collect its items in a list first, or call "
                "it for one chunk after another"
            )
    if isinstance(arguments[-1], (Mapping, Job, str, bytes)):
        raise InvalidInputError(
            f"items is a single {type(arguments[-1]).__name__}: pass an iterable of payloads, such "
            "as [payload], or call enqueue for one job"
        )


def _common(call: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a call that Producer.defaults accepts."""
    refuse_unknown(call, options, _CommonOptions)
    times = (options.pop(name, None) for name in ("run_at", "delay_s", "delay"))
    return options | {"delay_s": delay_until(*times)}


def _own(job: Job[Any]) -> dict[str, Any]:
    own = {
        "tier": job.tier,
        "delay_s": seconds_of(job.delay, job.delay_s),
        "max_attempts": job.max_attempts,
        "timeout_s": job.timeout_s,
        "expires_s": job.expires_s,
        "unique": job.unique,
        "unique_until": job.unique_until,
        "on_conflict": job.on_conflict,
        "limit": job.limit,
        "pool": job.pool,
    }
    return {name: value for name, value in own.items() if value is not None}


class _JobsOfTasks:
    """A pass over jobs of any tasks; remembers each one's task for the results, as a number.

    kept: by position; the results drop what they do not keep. None: of all, 2 bytes a job.
    """

    def __init__(
        self, jobs: Iterable[Job[Any]], producer: Producer, kept: dict[int, int] | None
    ) -> None:
        self._jobs, self._producer = jobs, producer
        self._numbers: dict[Any, int] = {}
        self._of: array[int] | dict[int, int] = array("H") if kept is None else kept

    def __iter__(self) -> Iterator[Job[Any]]:
        of = self._of
        for position, job in enumerate(self._jobs):
            task = getattr(job, "task", None)  # a plain payload has none, and is rejected later
            number = self._numbers.setdefault(task, len(self._numbers))
            if isinstance(of, dict):
                of[position] = number
            else:
                of.append(number)
            yield job

    def task_of(self, position: int) -> Task | None:
        """Return the task of a job if it is known in this process."""
        task = list(self._numbers)[self._of[position]]
        return self._producer.registry.find(task) if isinstance(task, str) else task.task
