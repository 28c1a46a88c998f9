"""The Queue Pool: where applications enqueue jobs and ask for them.

    pool = QueuePool("redis://localhost:6379/0", partitions=4)
    pool.enqueue("send_mail", {"to": "ada@example.org"}, partition_key="promotion-42")
    bulk = pool.enqueue_many("send_mail", rows, partition_key="promotion-42")
    pool.group("promotion-42").wait()

It hides how many partitions there are and which server holds each. `AsyncQueuePool` has the same
methods. Both use the same network-free Producer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self

from queuepool import ids
from queuepool.config import PoolConfig
from queuepool.durability import asked_for
from queuepool.errors import InvalidInputError, WaitTimeoutError
from queuepool.finding import ASKED_AT_ONCE, is_found, parts, the_only_one
from queuepool.group import TaskGroup, raise_for_state
from queuepool.models import Durability, Enqueued, Job, JobState, JobStatus, Tier
from queuepool.partition import Partition
from queuepool.patience import PatientPartition, patiently
from queuepool.producer import Chunk, PartitionKey, Producer, check_job_id
from queuepool.results import EnqueueResults
from queuepool.retrying import check_wait
from queuepool.routing import partition_of
from queuepool.sending import Bulk, Sender
from queuepool.servers import Port
from queuepool.servers.connect import connect
from queuepool.tasks import Registry, default_registry
from queuepool.timing import delay_until
from queuepool.topology import single
from queuepool.verbs import Verb, produce

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
        self._usual = self._new_sender(None)
        self._servers = (
            dict(servers)
            if servers is not None
            else {
                n: connect(u, timeout_s=config.timeout_s)
                for n, u in config.topology.servers.items()
            }
        )

    @classmethod
    def from_env(cls, *, registry: Registry = default_registry) -> Self:
        """Make a pool from QUEUEPOOL_* variables, or for the cluster of `queuepool up`."""
        from queuepool.settings import load_pool_config  # pydantic is imported only here

        return cls(config=load_pool_config(), registry=registry)

    # -- enqueue ---------------------------------------------------------------------------------

    def enqueue(
        self,
        task: str | Callable[..., Any],
        payload: Payload | None = None,
        *,
        partition_key: str | bytes,
        tier: Tier | int | str | None = None,
        delay_s: float | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
        timeout_s: float | None = None,
        job_id: str | None = None,
        durability: Durability | str | None = None,
    ) -> Enqueued:
        """Enqueue one job; it is stored when this returns, as durably as was asked for.

        payload: the handler's keyword arguments. partition_key: names the task group. run_at: an
        aware datetime, instead of delay_s. job_id: your own id, accepted once. durability: instead
        of the pool's. Raises InvalidInputError, QueueFullError, NotConfirmedError (stored, but not
        as durable), or UnavailableError when the server did not answer within retry_for_s: the job
        may be in; enqueue it again with its id, `error.results[0].job_id`.
        """
        defaults = self.producer.defaults(
            task,
            tier=tier,
            delay_s=delay_until(run_at, delay_s),
            max_attempts=max_attempts,
            timeout_s=timeout_s,
        )
        payload = {} if payload is None else payload
        chunk = self.producer.single(defaults, payload, partition_key, job_id)
        return self._sender(durability).settle_one(chunk)

    def enqueue_many(
        self,
        task: str | Callable[..., Any],
        items: Iterable[Payload | Job],
        *,
        partition_key: PartitionKey | None = None,
        tier: Tier | int | str | None = None,
        delay_s: float | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
        timeout_s: float | None = None,
        wait_when_full_s: float = 0.0,
        durability: Durability | str | None = None,
    ) -> EnqueueResults:
        """Enqueue any number of jobs, streamed; returns one result per job, in order.

        items: payloads, or Job objects that say more. partition_key: one for all, or a function of
        the payload. wait_when_full_s: how long to wait for room in a full partition before raising
        QueueFullError; `results` of it and of UnavailableError tells of every job that was taken.
        durability: instead of the pool's; thousands of jobs are confirmed together.
        After an error of an item, all jobs before it are in. The order of a task group is kept,
        except that a partition that is full may let a chunk in before an earlier one.
        """
        defaults = self.producer.defaults(
            task,
            tier=tier,
            delay_s=delay_until(run_at, delay_s),
            max_attempts=max_attempts,
            timeout_s=timeout_s,
        )
        wait_s = check_wait("wait_when_full_s", wait_when_full_s)
        sender, held = self._sender(durability), dict[int, Chunk]()
        chunks = self.producer.chunks(defaults, items, partition_key, held)
        if sender.asked:
            return sender.send_all(chunks, held, wait_when_full_s=wait_s)
        return Bulk(sender, wait_s).send_all(chunks, held)

    def _sender(self, durability: Durability | str | None) -> Sender:
        return self._usual if durability is None else self._new_sender(durability)

    def _new_sender(self, durability: Durability | str | None) -> Sender:
        asked = asked_for(self.config, durability)
        return Sender(self.config, lambda number: self.partition(number).server, asked)

    # -- follow and cancel -------------------------------------------------------------------------

    def status(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobStatus:
        """Tell where a job is. The key says in which partition to look.

        Without it, an id that the library made says so itself; for one of your own all partitions
        are asked. Raises InvalidInputError when several have a job of that id.
        """
        if partition_key is None:
            return self._find(check_job_id(job_id))
        return self._partition_of(partition_key).status(check_job_id(job_id))

    def _find(self, job_id: str) -> JobStatus:
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
                calls = [(self.partition(n).key, produce.status(job_id, n)) for n in some]
                statuses += patiently(partial(_read_all, server, calls), self.config.retry_for_s)
        return the_only_one(statuses)

    def result(
        self, job_id: str, *, partition_key: str | bytes | None = None, timeout_s: float = 30.0
    ) -> Any:
        """Wait for a job to end; return its result. Raises WaitTimeoutError, or the job's error.

        The key may be left out, as for `status`.
        """
        deadline, pause = time.monotonic() + check_wait("timeout_s", timeout_s), 0.005
        home: Partition | None = None
        while True:
            if home is None:
                status = self.status(job_id, partition_key=partition_key)
                if status.state is not JobState.UNKNOWN:
                    home = self._patient(status.partition)
            else:
                status = home.status(job_id)
            if raise_for_state(status):
                return status.result
            if time.monotonic() + pause > deadline:
                raise WaitTimeoutError(
                    f"job {job_id} is {status.state} after {timeout_s:g} s; it may still finish"
                )
            threading.Event().wait(pause)
            pause = min(0.25, pause * 1.5)

    def cancel(self, job_id: str, *, partition_key: str | bytes | None = None) -> JobState:
        """Cancel a job; returns the state it was in. The key may be left out, as for `status`.

        READY and DELAYED: it is gone. IN_FLIGHT: its handler sees ctx.cancel_requested. DEAD,
        DONE, UNKNOWN: nothing to cancel. CANCELLED: it was cancelled already, perhaps by a first
        try of this call whose answer was lost.
        """
        if partition_key is not None:
            return self._partition_of(partition_key).cancel(check_job_id(job_id))
        found = self._find(check_job_id(job_id))
        if found.state is JobState.UNKNOWN:
            return found.state
        return self._patient(found.partition).cancel(job_id)

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
    def servers(self) -> Mapping[str, Port]:
        """Return the servers by name."""
        return dict(self._servers)

    def _partition_of(self, partition_key: str | bytes) -> Partition:
        return self._patient(self.producer.route(partition_key).partition)

    def _patient(self, number: int) -> Partition:
        known = self.partition(number)
        return PatientPartition(number, known.key, known.server, self.config.retry_for_s)

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
