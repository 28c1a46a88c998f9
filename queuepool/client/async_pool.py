"""The Queue Pool for asyncio: the methods of QueuePool, awaited."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeVar, Unpack, overload

from queuepool.client import calls
from queuepool.client.base import BasePool
from queuepool.client.batch import AsyncBatch
from queuepool.client.calls import (
    EnqueueOptions,
    KeyedOptions,
    ManyOptions,
    Payload,
    TypedTask,
)
from queuepool.client.flows.declared import Flow
from queuepool.client.flows.handle import AsyncFlowHandle
from queuepool.client.flows.starting import start
from queuepool.client.group import AsyncTaskGroup as AsyncTaskGroup  # noqa: PLC0414 - known from here
from queuepool.client.handles import AsyncJobHandle
from queuepool.client.holding import hold
from queuepool.client.inspecting import AsyncInspect
from queuepool.client.limits import AsyncLimits
from queuepool.client.network import AsyncNetwork
from queuepool.client.questions import ask
from queuepool.client.results import EnqueueResults
from queuepool.client.schedules import AsyncSchedules
from queuepool.client.tenant import AsyncTenant, largest_tenants
from queuepool.models import JobState, JobStatus, TenantLoad
from queuepool.models.doctor import Verdict
from queuepool.models.log import LogEntry, LogKind
from queuepool.routing.finding import known_id
from queuepool.servers import AsyncPort
from queuepool.tasks.job import AsyncEnqueued, Enqueued, Job, bound
from queuepool.tasks.options import spelled_out
from queuepool.tasks.registry import Task
from queuepool.tasks.typed import R
from queuepool.telemetry.spans import enqueueing
from queuepool.verbs import Verb

T = TypeVar("T")


class AsyncQueuePool(BasePool[AsyncPort]):
    """Enqueue jobs, follow them, cancel them. For the tasks of one event loop.

    Arguments, results and errors are those of QueuePool. In another event loop than the first, its
    calls raise InvalidInputError until it is closed.

    >>> async def main() -> None:
    ...     async with AsyncQueuePool("redis://localhost:6379/0", partitions=4) as pool:
    ...         job = await pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7")
    ...         print(await job.result(timeout_s=10))
    ...         await pool.enqueue_many("greet", [{"name": "Ada"}] * 300, partition_key="bulk-42")
    ...         print((await pool.group("bulk-42").wait(show=False)).done)
    >>> asyncio.run(main())
    Hello, Ada
    300
    """

    def _open(self, servers: Mapping[str, AsyncPort] | None) -> None:
        self._network = AsyncNetwork(self.config, servers)

    @overload
    async def enqueue(
        self, task: Job[R], payload: None = None, **options: Unpack[EnqueueOptions]
    ) -> AsyncJobHandle[R]: ...
    @overload
    async def enqueue(
        self, task: TypedTask[R], payload: Payload | None = None, **options: Unpack[KeyedOptions]
    ) -> AsyncEnqueued[R]: ...
    @overload
    async def enqueue(
        self, task: calls.AnyTask, payload: Payload | None = None, **options: Unpack[KeyedOptions]
    ) -> AsyncEnqueued: ...

    @spelled_out(EnqueueOptions, partition_key=None, spread=1)
    async def enqueue(
        self,
        task: Job[Any] | calls.AnyTask,
        payload: Payload | None = None,
        **options: Any,
    ) -> Any:
        """Enqueue one job; when this returns, it is stored as durably as requested.

        The options and errors are those of QueuePool.enqueue.
        """
        sender = self._sender(options.pop("durability", None))
        if options.get("spread") is not None:
            options["spread"] = await self._network.do(self._spread_of(task, options))
        with enqueueing(task) as span:
            chunk, of = calls.one(self.producer, task, payload, trace=span.parent, **options)
            answer = await self._network.do(sender.one(chunk))
            span.enqueued(job_id=answer.job_id, partition=answer.partition)
        if isinstance(task, Job):
            return self._handle(of, answer)
        found: Enqueued[Any] = AsyncEnqueued(answer.job_id, answer.status, answer.partition)
        return bound(found, partial(self._handle, of))

    @overload
    async def enqueue_many(
        self, task: Iterable[Job[R]], items: None = None, **options: Unpack[ManyOptions]
    ) -> EnqueueResults[AsyncEnqueued[R]]: ...
    @overload
    async def enqueue_many(
        self, task: TypedTask[R], items: Iterable[Payload | Job[R]], **options: Unpack[ManyOptions]
    ) -> EnqueueResults[AsyncEnqueued[R]]: ...
    @overload
    async def enqueue_many(
        self, task: calls.AnyTask, items: calls.Items, **options: Unpack[ManyOptions]
    ) -> EnqueueResults[AsyncEnqueued]: ...

    @spelled_out(ManyOptions, partition_key=None, spread=1, wait_when_full_s=0.0, results="all")
    async def enqueue_many(
        self,
        task: calls.AnyTask | Iterable[Job[Any]],
        items: calls.Items | None = None,
        **options: Any,
    ) -> EnqueueResults[Any]:
        """Enqueue any number of jobs, streamed; returns one result per job, in order.

        The options and errors are those of QueuePool.enqueue_many.
        """
        with enqueueing(task) as span:
            results, task_of = await self._many(task, items, trace=span.parent, **options)
            span.enqueued(jobs=results.jobs)
        return results.bind(
            AsyncEnqueued, lambda position: partial(self._handle, task_of(position))
        )

    async def _many(
        self, task: Any, items: calls.Items | None, **options: Any
    ) -> tuple[EnqueueResults[Any], calls.TaskOf]:
        then, into = options.pop("then", None), options.pop("into", None)
        if then is not None or into is not None:
            steps = self._many_in_batch(task, items, then=then, into=into, **options)
            results, task_of, name = await self._network.do(steps)
            results.of_batch = self.batch(name)
            return results, task_of
        if options.get("spread") is not None:
            options["spread"] = await self._network.do(self._spread_of(None, options))
        sender, chunks, held, task_of = self._bulk(task, items, **options)
        return await self._network.do(sender.all(chunks, held)), task_of

    def _handle(self, of: Task | None, enqueued: Enqueued[Any]) -> AsyncJobHandle[Any]:
        return AsyncJobHandle(
            self._network, enqueued.job_id, enqueued.partition, of, enqueued.status
        )

    def batch(self, name: str) -> AsyncBatch:
        """Return a handle on a batch: status, tree, results, cancel, to be awaited."""
        return AsyncBatch(self._network, name)

    async def enqueue_flow(self, flow: Flow) -> AsyncFlowHandle:
        """Enqueue the steps of a flow, as QueuePool.enqueue_flow does."""
        return self.flow(await self._network.do(start(self.producer, self._default, flow)))

    def flow(self, name: str) -> AsyncFlowHandle:
        """Return a handle on a flow: status, wait, results, cancel, to be awaited."""
        return AsyncFlowHandle(self._network, name)

    async def status(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobStatus:
        """Return where a job is. The key may be left out, as for QueuePool.status."""
        return await self.job(job_id, partition_key=partition_key).status()

    async def result(
        self, job_id: str, *, partition_key: str | bytes | None = None, timeout_s: float = 30.0
    ) -> Any:
        """Wait for a job to end; return its result. Raises WaitTimeoutError, or the job's error."""
        return await self.job(job_id, partition_key=partition_key).result(timeout_s=timeout_s)

    def job(
        self, job_id: str, *, partition_key: str | bytes | None = None, tenant: str | None = None
    ) -> AsyncJobHandle:
        """Return a handle on a job: result, status, cancel, to be awaited.

        The key may be left out, as for `status`. Asks the server nothing yet.
        """
        return AsyncJobHandle(
            self._network, known_id(job_id), **self._place_of(partition_key, tenant)
        )

    async def cancel(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobState:
        """Cancel a job; returns the state it was in. The key may be left out, as for `status`."""
        return await self.job(job_id, partition_key=partition_key).cancel()

    def group(self, partition_key: str | bytes, *, tenant: str | None = None) -> AsyncTaskGroup:
        """Return a handle on a task group: totals, progress, wait, cancel, hold."""
        return AsyncTaskGroup(
            self._network, self.producer.route(partition_key, tenant), partition_key
        )

    def tenant(self, name: str) -> AsyncTenant:
        """Return a handle on a tenant: weight, hold, status, awaited."""
        return AsyncTenant(self._network, name)

    async def largest_tenants(self, most: int = 3) -> list[TenantLoad]:
        """Return the tenants that have the most ready jobs, at most 20, of those next in turn."""
        return await self._network.do(largest_tenants(self.config, most))

    async def hold(
        self, *, partition: int | None = None, pool: str | None = None, task: Any = None
    ) -> int:
        """Start no more jobs, in one partition or in all, or of a task, until they are released.

        Returns how many partitions were not held before.
        """
        return await self._network.do(hold(self.producer, partition, pool, task, on=True))

    async def release(
        self, *, partition: int | None = None, pool: str | None = None, task: Any = None
    ) -> int:
        """End such a hold; returns how many partitions were held."""
        return await self._network.do(hold(self.producer, partition, pool, task, on=False))

    async def log(
        self,
        *,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        kinds: Collection[LogKind | str] = (),
        most: int = 1000,
    ) -> list[LogEntry]:
        """Return what happened to the queue, as QueuePool.log does."""
        from queuepool.client import log  # rarely needed

        return await self._network.do(log.read(self.config, since, until, kinds, most))

    async def doctor(self) -> Verdict:
        """Return what is wrong with the queue, by a single look at its servers.

        What shows only over time is named as not judged; a coordinator judges that, too.
        """
        from queuepool.client.checkup import observed  # rarely needed, and large
        from queuepool.telemetry.doctor import judge

        return judge(await self._network.do(observed(self.config)))

    @property
    def limits(self) -> AsyncLimits:
        """Return the limits of the queue: set, pause, resume, remove, get, list, awaited."""
        return AsyncLimits(self._network)

    @property
    def inspect(self) -> AsyncInspect:
        """Return what looks into the queue: the asyncio twin of Inspect."""
        return AsyncInspect(self._network, self.producer)

    @property
    def schedules(self) -> AsyncSchedules:
        """Return the schedules of the queue, awaited."""
        return AsyncSchedules(self._network, self.producer, self._default)

    async def run_verb(self, partition: int, verb: Verb[T]) -> T:
        """Run a verb that may be repeated, until the server answers; return its typed reply.

        Raises the last UnavailableError after retry_for_s.
        """
        return await self._network.do(ask(self.config, partition, verb))

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._network.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
