"""The Queue Pool for asyncio: the methods of QueuePool, awaited, over the same Producer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from queuepool.client import calls
from queuepool.client.calls import ManyJobsOptions, OneJobOptions
from queuepool.client.delivery import (
    SERVER_ERRORS,
    Answer,
    Delivery,
    answers,
    call,
    note_end,
    note_settled,
    record_unknown,
    unanswered,
)
from queuepool.client.durability import Confirmation, batched, confirmation_for
from queuepool.client.group import AsyncTaskGroup as AsyncTaskGroup  # noqa: PLC0414 - known from here
from queuepool.client.handles import AsyncJobHandle
from queuepool.client.interruption import Source, note_sending, note_unsent, tell
from queuepool.client.producer import Chunk, PartitionKey, Producer
from queuepool.client.results import EnqueueResults
from queuepool.client.retrying import Attempts, check_wait
from queuepool.client.timing import delay_until
from queuepool.errors import InvalidInputError, UnavailableError
from queuepool.models import Durability, JobState, JobStatus, Tier
from queuepool.partitions.route import Leave
from queuepool.partitions.verifying import AsyncVerifier
from queuepool.protocol import ids
from queuepool.routing.finding import is_found, known_id, parts, the_only_one
from queuepool.routing.slots import partition_of
from queuepool.routing.topology import single
from queuepool.servers import AsyncPort
from queuepool.servers.connect import connect_async
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import AsyncEnqueued, Enqueued, Job
from queuepool.tasks.registry import Registry, Task, default_registry
from queuepool.tasks.typed import R, TaskFunction
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce

T = TypeVar("T")
Payload = Mapping[str, Any]
_ASKED_AT_ONCE = 32  # partitions, each by a call of its own


class AsyncQueuePool:
    """Enqueue jobs, follow them, cancel them. For the tasks of one event loop.

    Arguments, results and errors are those of QueuePool.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        partitions: int = 4,
        durability: Durability | str | None = None,
        config: PoolConfig | None = None,
        registry: Registry = default_registry,
        servers: Mapping[str, AsyncPort] | None = None,
    ) -> None:
        if config is None:
            if url is None:
                raise InvalidInputError("AsyncQueuePool needs a URL or a config; see from_env")
            config = PoolConfig(topology=single(url, partitions))
        if durability is not None:
            config = replace(config, durability=durability)
        self.config = config
        self.producer = Producer(config, registry)
        self._default = confirmation_for(config, None)
        self._servers = (
            dict(servers)
            if servers is not None
            else {
                n: connect_async(u, timeout_s=config.timeout_s)
                for n, u in config.topology.servers.items()
            }
        )
        self._verifier = AsyncVerifier(config, self._servers)
        self._route = self._verifier.state

    @classmethod
    def from_env(cls, *, registry: Registry = default_registry) -> Self:
        """Make a pool from QUEUEPOOL_* variables, or for the cluster of `queuepool up`."""
        from queuepool.settings.environment import (
            load_pool_config,  # pydantic is imported only here
        )

        return cls(config=load_pool_config(), registry=registry)

    @overload
    async def enqueue(
        self,
        task: Job[R],
        payload: None = None,
        *,
        partition_key: str | bytes | None = None,
        **options: Unpack[OneJobOptions],
    ) -> AsyncJobHandle[R]: ...
    @overload
    async def enqueue(
        self,
        task: TaskFunction[..., ..., Any, R],
        payload: Payload | None = None,
        *,
        partition_key: str | bytes,
        **options: Unpack[OneJobOptions],
    ) -> AsyncEnqueued[R]: ...
    @overload
    async def enqueue(
        self,
        task: str | Callable[..., Any],
        payload: Payload | None = None,
        *,
        partition_key: str | bytes,
        **options: Unpack[OneJobOptions],
    ) -> AsyncEnqueued: ...

    async def enqueue(
        self,
        task: Job[Any] | str | Callable[..., Any],
        payload: Payload | None = None,
        *,
        partition_key: str | bytes | None = None,
        tier: Tier | int | str | None = None,
        delay: timedelta | float | None = None,
        delay_s: float | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
        timeout_s: float | None = None,
        job_id: str | None = None,
        durability: Durability | str | None = None,
    ) -> Any:
        """Enqueue one job; it is stored when this returns, as durably as was asked for."""
        chunk, of = calls.one(
            self.producer,
            task,
            payload,
            partition_key,
            job_id,
            tier=tier,
            delay_s=delay_until(run_at, delay_s, delay),
            max_attempts=max_attempts,
            timeout_s=timeout_s,
        )
        results = EnqueueResults()
        try:
            await self._settle([chunk], results, self._asked(durability), 0.0)
        except SERVER_ERRORS:
            raise
        except BaseException as error:
            note_unsent(results, [chunk])
            tell(error, results)
            raise
        if isinstance(task, Job):
            return self._handle(of, results[0])
        return results.bind(AsyncEnqueued, lambda _position: partial(self._handle, of))[0]

    @overload
    async def enqueue_many(
        self,
        task: Iterable[Job[R]],
        items: None = None,
        *,
        partition_key: PartitionKey | None = None,
        **options: Unpack[ManyJobsOptions],
    ) -> EnqueueResults[AsyncEnqueued[R]]: ...
    @overload
    async def enqueue_many(
        self,
        task: TaskFunction[..., ..., Any, R],
        items: Iterable[Payload | Job[R]],
        *,
        partition_key: PartitionKey | None = None,
        **options: Unpack[ManyJobsOptions],
    ) -> EnqueueResults[AsyncEnqueued[R]]: ...
    @overload
    async def enqueue_many(
        self,
        task: str | Callable[..., Any],
        items: Iterable[Payload | Job],
        *,
        partition_key: PartitionKey | None = None,
        **options: Unpack[ManyJobsOptions],
    ) -> EnqueueResults[AsyncEnqueued]: ...

    async def enqueue_many(
        self,
        task: str | Callable[..., Any] | Iterable[Job[Any]],
        items: Iterable[Payload | Job[Any]] | None = None,
        *,
        partition_key: PartitionKey | None = None,
        tier: Tier | int | str | None = None,
        delay: timedelta | float | None = None,
        delay_s: float | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
        timeout_s: float | None = None,
        wait_when_full_s: float = 0.0,
        durability: Durability | str | None = None,
    ) -> EnqueueResults[Any]:
        """Enqueue any number of jobs, streamed; returns one result per job, in order."""
        defaults, jobs, of = calls.many(
            self.producer,
            task,
            items,
            tier=tier,
            delay_s=delay_until(run_at, delay_s, delay),
            max_attempts=max_attempts,
            timeout_s=timeout_s,
        )
        wait_s = check_wait("wait_when_full_s", wait_when_full_s)
        asked = self._asked(durability)
        results, held, gathered = EnqueueResults(), dict[int, Chunk](), dict[int, list[Chunk]]()
        chunks = self.producer.chunks(defaults, jobs, partition_key, held)
        batches = Source(batched(chunks, gathered, together=bool(asked)))
        try:
            for batch in batches:
                await self._settle(batch, results, asked, wait_s)
        except BaseException as error:
            note_end(error, results, batches, gathered, held)
            raise
        return results.bind(AsyncEnqueued, lambda position: partial(self._handle, of(position)))

    def _handle(self, of: Task | None, enqueued: Enqueued[Any]) -> AsyncJobHandle[Any]:
        return AsyncJobHandle(
            enqueued.job_id,
            enqueued.partition,
            self.run_verb,
            self._find,
            of=of,
            enqueue_status=enqueued.status,
        )

    def _asked(self, durability: Durability | str | None) -> Confirmation:
        return self._default if durability is None else confirmation_for(self.config, durability)

    async def _settle(
        self,
        chunks: Sequence[Chunk],
        results: EnqueueResults,
        asked: Confirmation,
        wait_when_full_s: float,
    ) -> None:
        """Send chunks of one partition in one call; see Sender.settle."""
        if not self._route.verified:  # asked only now: what is refused before needs no server
            await self._verifier.verify(Leave.RECORD)
        since_s = monotonic()
        for chunk in chunks:
            note_sending(results, chunk, since_s)
        left = note_settled(results, chunks, await self._attempt(chunks, asked))
        while left:
            chunk, answer = left.popleft()
            settling = Delivery(
                chunk, results, self.config, now_s=since_s, wait_when_full_s=wait_when_full_s
            )
            try:
                while pause := settling.pause_after(answer, monotonic(), random.random()):
                    await asyncio.sleep(pause)
                    (answer,) = await self._attempt([chunk], asked)
            except SERVER_ERRORS:
                for other, _answer in left:
                    record_unknown(results, other)
                raise
            since_s = monotonic()

    async def _attempt(self, chunks: Sequence[Chunk], asked: Confirmation) -> list[Answer]:
        first, begun_s = chunks[0], monotonic()
        server = self._servers[self.config.topology.server_of(first.partition)]
        verbs = call(chunks, self.config, asked)
        try:
            replies = await server.run(first.key, verbs)
        except UnavailableError as error:
            return unanswered(chunks, error, begun_s)
        return answers(chunks, replies, asked, begun_s)

    async def status(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobStatus:
        """Tell where a job is. The key may be left out, as for QueuePool.status."""
        return await self.job(job_id, partition_key=partition_key).status()

    async def _find(self, job_id: str) -> JobStatus:
        await self._verifier.verify(Leave.LOOK)
        count, slot = self.config.topology.partitions, ids.hinted_slot(job_id)
        statuses = []
        if slot is not None:
            first = partition_of(slot, count)
            hinted = await self.run_verb(first, produce.status(job_id, first))
            if is_found(hinted, slot):
                return hinted
            statuses.append(hinted)
        numbers = set(range(count)) - {status.partition for status in statuses}
        for some in parts(sorted(numbers), _ASKED_AT_ONCE):
            asked = [self.run_verb(n, produce.status(job_id, n)) for n in some]
            for answer in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(answer, BaseException):
                    raise answer
                statuses.append(answer)
        return the_only_one(statuses)

    async def result(
        self, job_id: str, *, partition_key: str | bytes | None = None, timeout_s: float = 30.0
    ) -> Any:
        """Wait for a job to end; return its result. Raises WaitTimeoutError, or the job's error."""
        return await self.job(job_id, partition_key=partition_key).result(timeout_s=timeout_s)

    def job(self, job_id: str, *, partition_key: str | bytes | None = None) -> AsyncJobHandle:
        """Return a handle on a job: result, status, cancel, to be awaited.

        The key may be left out, as for `status`. Asks the server nothing yet.
        """
        partition = None
        if partition_key is not None:
            partition = self.producer.route(partition_key).partition
        return AsyncJobHandle(known_id(job_id), partition, self.run_verb, self._find)

    async def cancel(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobState:
        """Cancel a job; returns the state it was in. The key may be left out, as for `status`."""
        return await self.job(job_id, partition_key=partition_key).cancel()

    def group(self, partition_key: str | bytes) -> AsyncTaskGroup:
        """Return a handle on a task group: totals, progress, wait, cancel."""
        return AsyncTaskGroup(self, self.producer.route(partition_key), partition_key)

    async def run_verb(self, partition: int, verb: Verb[T]) -> T:
        """Run a verb that may be repeated, until the server answers; return its typed reply.

        Raises the last UnavailableError after retry_for_s.
        """
        server = self._servers[self.config.topology.server_of(partition)]
        key = self.config.keyspace.partition(partition)
        if not self._route.verified:
            await self._verifier.verify(Leave.LOOK)
        attempts = Attempts(monotonic() + self.config.retry_for_s)
        while True:
            try:
                return verb.read((await server.run(key, [verb]))[0])
            except UnavailableError:
                pause = attempts.next_pause(monotonic(), random.random())
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._verifier.close()
        for server in self._servers.values():
            await server.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
