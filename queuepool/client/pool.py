"""The Queue Pool: where applications enqueue and follow jobs.

    pool = QueuePool("redis://localhost:6379/0", partitions=4)
    job = pool.enqueue(send_mail.job(to="ada@example.org"), partition_key="promotion-42")
    job.result()
    pool.enqueue_many("send_mail", rows, partition_key="promotion-42")
    pool.group("promotion-42").wait()

It hides how many partitions there are and which server holds each. `AsyncQueuePool` has the same
methods. Both run the same steps; each has its own network to execute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self, Unpack, overload

from queuepool.client import calls
from queuepool.client.base import BasePool
from queuepool.client.batch import Batch
from queuepool.client.calls import EnqueueOptions, KeyedOptions, ManyOptions, Payload, TypedTask
from queuepool.client.flows.declared import Flow
from queuepool.client.flows.handle import FlowHandle
from queuepool.client.flows.starting import start
from queuepool.client.group import TaskGroup
from queuepool.client.handles import JobHandle
from queuepool.client.holding import hold
from queuepool.client.inspecting import Inspect
from queuepool.client.network import Network
from queuepool.client.pipeline import Bulk
from queuepool.client.results import EnqueueResults
from queuepool.client.schedules import Schedules
from queuepool.client.whereabouts import Whereabouts
from queuepool.models import JobState, JobStatus
from queuepool.routing.finding import known_id
from queuepool.servers import Port
from queuepool.tasks.job import Enqueued, Job, bound
from queuepool.tasks.options import spelled_out
from queuepool.tasks.registry import Task
from queuepool.tasks.typed import R
from queuepool.telemetry.spans import enqueueing


class QueuePool(Whereabouts, BasePool[Port]):
    """Enqueue jobs, follow them, cancel them. Safe to share between threads.

    >>> @task
    ... def greet(name: str) -> str:
    ...     return f"Hello, {name}"
    >>> with QueuePool("redis://localhost:6379/0", partitions=4) as pool:
    ...     job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7")
    ...     print(job.result(timeout_s=10))  # a consumer runs it
    Hello, Ada
    """

    def _open(self, servers: Mapping[str, Port] | None) -> None:
        self._network = Network(self.config, servers)
        self._handle_any = partial(self._handle, None)

    # -- enqueue ---------------------------------------------------------------------------------

    @overload
    def enqueue(
        self, task: Job[R], payload: None = None, **options: Unpack[EnqueueOptions]
    ) -> JobHandle[R]: ...
    @overload
    def enqueue(
        self, task: TypedTask[R], payload: Payload | None = None, **options: Unpack[KeyedOptions]
    ) -> Enqueued[R]: ...
    @overload
    def enqueue(
        self, task: calls.AnyTask, payload: Payload | None = None, **options: Unpack[KeyedOptions]
    ) -> Enqueued: ...

    @spelled_out(EnqueueOptions, partition_key=None, spread=1)
    def enqueue(
        self,
        task: Job[Any] | calls.AnyTask,
        payload: Payload | None = None,
        **options: Any,
    ) -> Any:
        """Enqueue one job; when this returns, it is stored as durably as requested.

        >>> job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7")
        >>> job.result(timeout_s=10)  # a str, as greet is annotated
        'Hello, Ada'
        >>> pool.enqueue("greet", {"name": "Ada"}, partition_key="welcome-7", job_id="ada").status
        <EnqueueStatus.ACCEPTED: 'accepted'>

        task: a job made by `task.job(...)`, which returns its JobHandle; or a task, by name or
        function, with its payload: the handler's keyword arguments. Where the task is registered,
        the arguments are checked against its signature. partition_key: names the task group. delay:
        a timedelta, or seconds; or delay_s: seconds; or run_at: an aware datetime. job_id: your own
        id, accepted once. unique: a key; while a job with it is in the partition and has not ended,
        nothing is enqueued, and the answer, CONFLICT, names that job. unique_until: its "end" or
        its "start". on_conflict: "skip"; or, where the other one waits, its payload becomes this
        one ("replace") and its delay begins again ("debounce"): the answer is REPLACED. expires_s:
        it starts within this time, or never. limit: as for `@task`; instead of the task's, () for
        none. spread: over how many slots the group is spread; an id is accepted once with the same.
        tenant: turns go between tenants first, then between the groups of each. pool: the worker
        pool that runs it, instead of the task's. durability: instead of the configured one.
        Raises InvalidInputError, QueueFullError, NotConfirmedError (stored, but not as durable), or
        UnavailableError when the server did not answer within retry_for_s: the job may be in;
        enqueue it again with its id, `error.results[0].job_id`.
        """
        sender = self._sender(options.pop("durability", None))
        if options.get("spread") is not None:
            options["spread"] = self._network.do(self._spread_of(task, options))
        with enqueueing(task) as span:
            chunk, of = calls.one(self.producer, task, payload, trace=span.parent, **options)
            enqueued = self._network.do(sender.one(chunk))
            span.enqueued(job_id=enqueued.job_id, partition=enqueued.partition)
        if isinstance(task, Job):
            return self._handle(of, enqueued)
        return bound(enqueued, self._reach(of))

    @overload
    def enqueue_many(
        self, task: Iterable[Job[R]], items: None = None, **options: Unpack[ManyOptions]
    ) -> EnqueueResults[Enqueued[R]]: ...
    @overload
    def enqueue_many(
        self, task: TypedTask[R], items: Iterable[Payload | Job[R]], **options: Unpack[ManyOptions]
    ) -> EnqueueResults[Enqueued[R]]: ...
    @overload
    def enqueue_many(
        self, task: calls.AnyTask, items: calls.Items, **options: Unpack[ManyOptions]
    ) -> EnqueueResults[Enqueued]: ...

    @spelled_out(ManyOptions, partition_key=None, spread=1, wait_when_full_s=0.0, results="all")
    def enqueue_many(
        self,
        task: calls.AnyTask | Iterable[Job[Any]],
        items: calls.Items | None = None,
        **options: Any,
    ) -> EnqueueResults[Any]:
        """Enqueue any number of jobs, streamed; returns one result per job, in order.

        >>> names = ["Ada", "Grace"]
        >>> results = pool.enqueue_many((greet.job(name=n) for n in names), partition_key="bulk-42")
        >>> results.accepted, results[1].result(timeout_s=10)
        (2, 'Hello, Grace')
        >>> pool.enqueue_many("greet", ({"name": n} for n in names), partition_key="bulk-42")
        EnqueueResults(accepted=2, duplicates=0, rejected=0, unknown=0)

        task: jobs made by `task.job(...)`, of one or several tasks; or a task, and the items:
        payloads, or Job objects with options. partition_key: one for all, or a function of
        the payload; so is unique. spread: over how many slots the group is spread, so that as many
        processes run it, in no order; a job_id is accepted once with the same spread.
        wait_when_full_s: how long to wait for room in a full partition before raising
        QueueFullError; its `results`, and UnavailableError's, have every consumed job.
        results: "failures" keeps only those of jobs that were not newly enqueued, in little memory.
        durability: instead of the pool's; thousands of jobs are confirmed together. then: an After,
        whose job runs when all these have ended; the results have the `batch`. into: a running
        job's ctx.batch, to which these are added; all of them are read before the first is sent.
        After an error of an item, all jobs before it are in. The order of a task group is kept,
        except that a full partition may accept a chunk before an earlier one.
        """
        with enqueueing(task) as span:
            results, task_of = self._many(task, items, trace=span.parent, **options)
            span.enqueued(jobs=results.jobs)
        return results.bind(Enqueued, lambda position: self._reach(task_of(position)))

    def _many(
        self, task: Any, items: calls.Items | None, **options: Any
    ) -> tuple[EnqueueResults[Any], calls.TaskOf]:
        then, into = options.pop("then", None), options.pop("into", None)
        if then is not None or into is not None:
            steps = self._many_in_batch(task, items, then=then, into=into, **options)
            results, task_of, name = self._network.do(steps)
            results.of_batch = self.batch(name)
            return results, task_of
        if options.get("spread") is not None:
            options["spread"] = self._network.do(self._spread_of(None, options))
        sender, chunks, held, task_of = self._bulk(task, items, **options)
        if sender.confirmation.verbs:
            return self._network.do(sender.all(chunks, held)), task_of
        return Bulk(self._network, sender).send_all(chunks, held), task_of

    def _reach(self, of: Task | None) -> Callable[[Enqueued[Any]], JobHandle[Any]]:
        return self._handle_any if of is None else partial(self._handle, of)

    def _handle(self, of: Task | None, enqueued: Enqueued[Any]) -> JobHandle[Any]:
        return JobHandle(self._network, enqueued.job_id, enqueued.partition, of, enqueued.status)

    # -- follow and cancel -------------------------------------------------------------------------

    def status(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobStatus:
        """Return where a job is. The key determines the partition to look in.

        >>> job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7", delay_s=3600)
        >>> print(pool.status(job.job_id).state)
        delayed

        Without it, an id that the library made names it; for your own ids all partitions
        are asked. Raises InvalidInputError when several have a job of that id.
        """
        return self.job(job_id, partition_key=partition_key).status()

    def result(
        self, job_id: str, *, partition_key: str | bytes | None = None, timeout_s: float = 30.0
    ) -> Any:
        """Wait for a job to end; return its result. Raises WaitTimeoutError, or the job's error.

        >>> job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7")
        >>> pool.result(job.job_id, timeout_s=10)
        'Hello, Ada'

        The key may be left out, as for `status`.
        """
        return self.job(job_id, partition_key=partition_key).result(timeout_s=timeout_s)

    def job(
        self, job_id: str, *, partition_key: str | bytes | None = None, tenant: str | None = None
    ) -> JobHandle:
        """Return a handle on a job: result, status, cancel. Asks the server nothing yet.

        The key may be left out, as for `status`.
        """
        return JobHandle(self._network, known_id(job_id), **self._place_of(partition_key, tenant))

    def cancel(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobState:
        """Cancel a job; returns the state it was in. The key may be left out, as for `status`.

        >>> job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7", delay_s=3600)
        >>> print(pool.cancel(job.job_id))
        delayed

        READY and DELAYED: it is gone. IN_FLIGHT: its handler sees ctx.cancel_requested. DEAD,
        DONE, EXPIRED, UNKNOWN: nothing to cancel. CANCELLED: it was cancelled already, perhaps by a
        first try of this call whose answer was lost.
        """
        return self.job(job_id, partition_key=partition_key).cancel()

    def group(self, partition_key: str | bytes, *, tenant: str | None = None) -> TaskGroup:
        """Return a handle on a task group: totals, progress, wait, cancel, hold.

        >>> pool.enqueue_many("greet", [{"name": "Ada"}] * 300, partition_key="bulk-42").accepted
        300
        >>> pool.group("bulk-42").wait(timeout_s=30, show=False).done
        300
        """
        return TaskGroup(self._network, self.producer.route(partition_key, tenant), partition_key)

    def batch(self, name: str) -> Batch:
        """Return a handle on a batch: status, tree, results, cancel. Asks the server nothing yet.

        name: as `results.batch.name`; the id of its continuation, unless that is in a batch.
        """
        return Batch(self._network, name)

    def enqueue_flow(self, flow: Flow) -> FlowHandle:
        """Enqueue the steps of a flow. Nothing is written if one of them is wrong.

        If it raises UnavailableError or QueueFullError, or the process dies, enqueue the flow again
        with its id: nothing is added twice.
        """
        return self.flow(self._network.do(start(self.producer, self._default, flow)))

    def flow(self, name: str) -> FlowHandle:
        """Return a handle on a flow: status, wait, results, cancel. Asks the server nothing yet."""
        return FlowHandle(self._network, name)

    # -- hold and release --------------------------------------------------------------------------

    def hold(
        self, *, partition: int | None = None, pool: str | None = None, task: Any = None
    ) -> int:
        """Start no more jobs, in one partition or in all, of one pool or of all, until released.

        task: a task or its name: start no more of its jobs, in all partitions and pools. It need
        not be known yet. Returns how many partitions were not held; each pool of one counts.
        Running jobs continue, as do claimed ones. A hold survives restarts, and does not affect
        the holds of groups.

        >>> pool.hold(), pool.hold(partition=1), pool.release()
        (4, 0, 4)
        >>> pool.hold(task="send_mail"), pool.release(task="send_mail")
        (4, 4)
        """
        return self._network.do(hold(self.producer, partition, pool, task, on=True))

    def release(
        self, *, partition: int | None = None, pool: str | None = None, task: Any = None
    ) -> int:
        """End such holds; returns how many partitions were held, each pool of one counted."""
        return self._network.do(hold(self.producer, partition, pool, task, on=False))

    @property
    def inspect(self) -> Inspect:
        """Return what looks into the queue: find jobs, see what runs and fails, replay, discard."""
        return Inspect(self._network, self.producer)

    @property
    def schedules(self) -> Schedules:
        """Return the schedules of the queue: set, pause, resume, run, remove, get, list."""
        return Schedules(self._network, self.producer, self._default)

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self._network.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
