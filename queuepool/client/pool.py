"""The Queue Pool: where applications enqueue jobs and ask for them.

    pool = QueuePool("redis://localhost:6379/0", partitions=4)
    job = pool.enqueue(send_mail.job(to="ada@example.org"), partition_key="promotion-42")
    job.result()
    pool.enqueue_many("send_mail", rows, partition_key="promotion-42")
    pool.group("promotion-42").wait()

It hides how many partitions there are and which server holds each. `AsyncQueuePool` has the same
methods. Both use the same network-free Producer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Self, Unpack, overload

from queuepool.client import calls
from queuepool.client.calls import ManyJobsOptions, OneJobOptions
from queuepool.client.durability import confirmation_for
from queuepool.client.group import TaskGroup
from queuepool.client.handles import JobHandle
from queuepool.client.patience import RetryingPartition, patiently
from queuepool.client.producer import Chunk, PartitionKey, Producer
from queuepool.client.results import EnqueueResults
from queuepool.client.retrying import check_wait
from queuepool.client.sender import Bulk, Sender
from queuepool.client.timing import delay_until
from queuepool.errors import InvalidInputError
from queuepool.models import Durability, JobState, JobStatus, Tier
from queuepool.partitions.partition import Partition
from queuepool.partitions.route import Leave
from queuepool.partitions.verifying import Verifier
from queuepool.protocol import ids
from queuepool.routing.finding import ASKED_AT_ONCE, is_found, known_id, parts, the_only_one
from queuepool.routing.slots import partition_of
from queuepool.routing.topology import single
from queuepool.servers import Port
from queuepool.servers.connect import connect
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Enqueued, Job, bound
from queuepool.tasks.registry import Registry, Task, default_registry
from queuepool.tasks.typed import R, TaskFunction
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce

Payload = Mapping[str, Any]


class QueuePool:
    """Enqueue jobs, follow them, cancel them. Safe to share between threads."""

    def __init__(
        self,
        url: str | None = None,
        *,
        partitions: int = 4,
        durability: Durability | str | None = None,
        config: PoolConfig | None = None,
        registry: Registry = default_registry,
        servers: Mapping[str, Port] | None = None,
    ) -> None:
        """Make a pool from a URL, or from a whole config (see also from_env).

        durability: instead of the config's. servers: ready-made servers by name, as
        queuepool.testing uses them.
        """
        if config is None:
            if url is None:
                raise InvalidInputError("QueuePool needs a URL or a config; see QueuePool.from_env")
            config = PoolConfig(topology=single(url, partitions))
        if durability is not None:
            config = replace(config, durability=durability)
        self.config = config
        self.producer = Producer(config, registry)
        self._partitions: dict[int, Partition] = {}
        self._default = self._new_sender(None)
        self._handle_any = partial(self._handle, None)
        self._servers = (
            dict(servers)
            if servers is not None
            else {
                n: connect(u, timeout_s=config.timeout_s)
                for n, u in config.topology.servers.items()
            }
        )
        self._verifier = Verifier(config, self._servers)
        self._route = self._verifier.state

    @classmethod
    def from_env(cls, *, registry: Registry = default_registry) -> Self:
        """Make a pool from QUEUEPOOL_* variables, or for the cluster of `queuepool up`."""
        from queuepool.settings.environment import (
            load_pool_config,  # pydantic is imported only here
        )

        return cls(config=load_pool_config(), registry=registry)

    # -- enqueue ---------------------------------------------------------------------------------

    @overload
    def enqueue(
        self,
        task: Job[R],
        payload: None = None,
        *,
        partition_key: str | bytes | None = None,
        **options: Unpack[OneJobOptions],
    ) -> JobHandle[R]: ...
    @overload
    def enqueue(
        self,
        task: TaskFunction[..., ..., Any, R],
        payload: Payload | None = None,
        *,
        partition_key: str | bytes,
        **options: Unpack[OneJobOptions],
    ) -> Enqueued[R]: ...
    @overload
    def enqueue(
        self,
        task: str | Callable[..., Any],
        payload: Payload | None = None,
        *,
        partition_key: str | bytes,
        **options: Unpack[OneJobOptions],
    ) -> Enqueued: ...

    def enqueue(
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
        """Enqueue one job; it is stored when this returns, as durably as was asked for.

            job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-7")
            job.result(timeout_s=10)                        # a str, as greet is annotated

            pool.enqueue("greet", {"name": "Ada"}, partition_key="welcome-7")

        task: a job made by `task.job(...)`, which answers with its JobHandle; or a task, by name or
        function, with its payload: the handler's keyword arguments. Where the task is registered,
        the arguments are checked against its signature. partition_key: names the task group. delay:
        a timedelta, or seconds; or delay_s: seconds; or run_at: an aware datetime. job_id: your own
        id, accepted once. durability: instead of the pool's. Raises InvalidInputError,
        QueueFullError, NotConfirmedError (stored, but not as durable), or UnavailableError when the
        server did not answer within retry_for_s: the job may be in; enqueue it again with its id,
        `error.results[0].job_id`.
        """
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
        enqueued = self._sender(durability).settle_one(chunk)
        if isinstance(task, Job):
            return self._handle(of, enqueued)
        return bound(enqueued, self._reach(of))

    @overload
    def enqueue_many(
        self,
        task: Iterable[Job[R]],
        items: None = None,
        *,
        partition_key: PartitionKey | None = None,
        **options: Unpack[ManyJobsOptions],
    ) -> EnqueueResults[Enqueued[R]]: ...
    @overload
    def enqueue_many(
        self,
        task: TaskFunction[..., ..., Any, R],
        items: Iterable[Payload | Job[R]],
        *,
        partition_key: PartitionKey | None = None,
        **options: Unpack[ManyJobsOptions],
    ) -> EnqueueResults[Enqueued[R]]: ...
    @overload
    def enqueue_many(
        self,
        task: str | Callable[..., Any],
        items: Iterable[Payload | Job],
        *,
        partition_key: PartitionKey | None = None,
        **options: Unpack[ManyJobsOptions],
    ) -> EnqueueResults[Enqueued]: ...

    def enqueue_many(
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
        """Enqueue any number of jobs, streamed; returns one result per job, in order.

            pool.enqueue_many((greet.job(name=n) for n in names), partition_key="bulk-42")
            pool.enqueue_many("greet", ({"name": n} for n in names), partition_key="bulk-42")

        task: jobs made by `task.job(...)`, of one task or of several; or a task, and the items:
        payloads, or Job objects that say more. partition_key: one for all, or a function of
        the payload. wait_when_full_s: how long to wait for room in a full partition before raising
        QueueFullError; `results` of it and of UnavailableError tells of every job that was taken.
        durability: instead of the pool's; thousands of jobs are confirmed together.
        After an error of an item, all jobs before it are in. The order of a task group is kept,
        except that a partition that is full may let a chunk in before an earlier one.
        """
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
        sender, held = self._sender(durability), dict[int, Chunk]()
        chunks = self.producer.chunks(defaults, jobs, partition_key, held)
        if sender.asked:
            results = sender.send_all(chunks, held, wait_when_full_s=wait_s)
        else:
            results = Bulk(sender, wait_s).send_all(chunks, held)
        return results.bind(Enqueued, lambda position: self._reach(of(position)))

    def _reach(self, of: Task | None) -> Callable[[Enqueued[Any]], JobHandle[Any]]:
        return self._handle_any if of is None else partial(self._handle, of)

    def _handle(self, of: Task | None, enqueued: Enqueued[Any]) -> JobHandle[Any]:
        return JobHandle(
            enqueued.job_id,
            enqueued.partition,
            self._patient,
            self._find,
            of=of,
            enqueue_status=enqueued.status,
        )

    def _sender(self, durability: Durability | str | None) -> Sender:
        return self._default if durability is None else self._new_sender(durability)

    def _new_sender(self, durability: Durability | str | None) -> Sender:
        asked = confirmation_for(self.config, durability)
        return Sender(self.config, self._port_to_write, asked)

    def _port_to_write(self, number: int) -> Port:
        if not self._route.verified:  # asked only now: what is refused before needs no server
            self._verifier.verify(Leave.RECORD)
        return self.partition(number).server

    # -- follow and cancel -------------------------------------------------------------------------

    def status(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobStatus:
        """Tell where a job is. The key says in which partition to look.

        Without it, an id that the library made says so itself; for one of your own all partitions
        are asked. Raises InvalidInputError when several have a job of that id.
        """
        return self.job(job_id, partition_key=partition_key).status()

    def _find(self, job_id: str) -> JobStatus:
        self._verifier.verify()
        topology, slot = self.config.topology, ids.hinted_slot(job_id)
        statuses = []
        if slot is not None:
            hinted = self._patient(partition_of(slot, topology.partitions)).status(job_id)
            if is_found(hinted, slot):
                return hinted
            statuses.append(hinted)
        others = set(range(topology.partitions)) - {status.partition for status in statuses}
        for name, server in self._servers.items():
            numbers = [n for n in sorted(others) if topology.server_of(n) == name]
            for some in parts(numbers, ASKED_AT_ONCE):
                asked = [(self.partition(n).key, produce.status(job_id, n)) for n in some]
                statuses += patiently(partial(_read_all, server, asked), self.config.retry_for_s)
        return the_only_one(statuses)

    def result(
        self, job_id: str, *, partition_key: str | bytes | None = None, timeout_s: float = 30.0
    ) -> Any:
        """Wait for a job to end; return its result. Raises WaitTimeoutError, or the job's error.

        The key may be left out, as for `status`.
        """
        return self.job(job_id, partition_key=partition_key).result(timeout_s=timeout_s)

    def job(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobHandle:
        """Return a handle on a job: result, status, cancel. Asks the server nothing yet.

        The key may be left out, as for `status`.
        """
        partition = None
        if partition_key is not None:
            partition = self.producer.route(partition_key).partition
        return JobHandle(known_id(job_id), partition, self._patient, self._find)

    def cancel(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobState:
        """Cancel a job; returns the state it was in. The key may be left out, as for `status`.

        READY and DELAYED: it is gone. IN_FLIGHT: its handler sees ctx.cancel_requested. DEAD,
        DONE, UNKNOWN: nothing to cancel. CANCELLED: it was cancelled already, perhaps by a first
        try of this call whose answer was lost.
        """
        return self.job(job_id, partition_key=partition_key).cancel()

    def group(self, partition_key: str | bytes) -> TaskGroup:
        """Return a handle on a task group: totals, progress, wait, cancel."""
        route = self.producer.route(partition_key)
        return TaskGroup(self._patient(route.partition), route.group, partition_key)

    # -- partitions --------------------------------------------------------------------------------

    def partition(self, number: int) -> Partition:
        """Return one partition, wherever it lives."""
        known = self._partitions.get(number)
        if known is None:
            server = self._servers[self.config.topology.server_of(number)]
            known = Partition(number, self.config.keyspace.partition(number), server)
            self._partitions[number] = known
        return known

    def partitions(self) -> list[Partition]:
        """Return all partitions."""
        return [self.partition(n) for n in range(self.config.topology.partitions)]

    @property
    def system(self) -> tuple[Port, bytes]:
        """Return the server and the base key of what the coordinators share."""
        return self._servers[self.config.topology.system], self.config.keyspace.system()

    @property
    def route(self) -> Verifier:
        """Return what tells whether the keyspace has as many partitions as the config says.

        Every call that follows a partition key asks it until the answer is known.
        """
        return self._verifier

    @property
    def servers(self) -> Mapping[str, Port]:
        """Return the servers by name."""
        return dict(self._servers)

    def _patient(self, number: int) -> Partition:
        known = self.partition(number)
        return RetryingPartition(
            number, known.key, known.server, self.config.retry_for_s, self._verifier.verify
        )

    def close(self) -> None:
        """Close all connections. Idempotent."""
        for server in self._servers.values():
            server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _read_all(port: Port, calls: Sequence[tuple[bytes, Verb[JobStatus]]]) -> list[JobStatus]:
    replies = port.run_many(calls)
    return [verb.read(reply) for (_key, verb), reply in zip(calls, replies, strict=True)]
