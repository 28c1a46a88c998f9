"""The operators' API without a network: bytes of a request to the end of its call."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf.message import DecodeError

from coordinator.api.cluster_info import ClusterInfo
from coordinator.api.operators import Operators
from coordinator.api.service import StatusService
from coordinator.core.model import PartitionView, Snapshot
from coordinator.decisions.ledger import DecisionBook
from coordinator.policy import Limits
from coordinator.snapshots.store import SnapshotStore
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.testing import MemoryPool
from queuepool.verbs.leader import verbs as lead

T = TypeVar("T")
METHODS = tuple(method.name for method in api.DESCRIPTOR.services_by_name["QueuePool"].methods)
_FINE = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAVAILABLE,
}


class _Ended(grpc.aio.AbortError):
    """A call that was refused."""


class _Context:
    """What a handler sees of its call."""

    code: grpc.StatusCode | None = None
    details = ""

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        self.code, self.details = code, details
        raise _Ended

    def auth_context(self) -> dict[str, list[bytes]]:
        return {"x509_common_name": [b"fuzz\n\xff"]}

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"


class _Direct(Operators):
    """Operators without threads."""

    async def off_loop(self, work: Callable[[], T]) -> T:
        return work()


class _World:
    """A service over one partition in memory."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.store, self.pool = SnapshotStore(), MemoryPool()
        server, key = self.pool.system
        verb = lead.lead("nonce", lease_ms=10**12, address="here:1")
        self.epoch = verb.read(server.run(key, [verb])[0]).epoch
        self.pool.enqueue("work", {}, partition_key="k")
        book = DecisionBook(server, key, keep=20)
        operators = _Direct(self.pool, self.store, book, max_workers=64)
        facts = ClusterInfo(
            keyspace=self.pool.config.keyspace,
            topology=self.pool.config.topology,
            policy="pwqd",
            limits=Limits(min_workers=1, max_workers=64),
            cycle_s=1.0,
        )

        async def make() -> StatusService:
            return StatusService(facts, self.store, operators, max_stream_s=60.0)

        self.service = self.loop.run_until_complete(make())

    def keep(self, records: Sequence[bytes]) -> None:
        """Store bytes where decisions are."""
        server, key = self.pool.system
        verb = lead.record(self.epoch, [(0, text) for text in records], keep=20)
        verb.read(server.run(key, [verb])[0])


@functools.cache
def _world() -> _World:
    return _World()


def handle(number: int, view: PartitionView, records: Sequence[bytes], raw: bytes) -> None:
    """Have one call end. Raises AssertionError unless it ends as the API promises."""
    method = METHODS[number % len(METHODS)]
    try:
        request = getattr(api, f"{method}Request").FromString(raw)
    except DecodeError:
        return
    world, context = _world(), _Context()
    if records:
        world.keep(records)
    world.store.publish(
        Snapshot(cycle=world.store.snapshot.cycle + 1, at_s=0.0, partitions=(view,))
    )
    call = getattr(world.service, method)

    async def end() -> list[Any]:
        if method in ("WatchPartitions", "Record"):  # whose next message comes when it was asked to
            async with contextlib.aclosing(call(request, context)) as messages:
                return [await anext(messages)]
        return [await call(request, context)]

    try:
        for response in world.loop.run_until_complete(end()):
            type(response).FromString(response.SerializeToString())
    except _Ended:
        assert context.code in _FINE, (method, context.code, context.details)
        assert context.details.isprintable()
