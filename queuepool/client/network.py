"""Executes a pool's steps on its servers: for threads, and for the tasks of an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar

from queuepool.client.effects import (
    Call,
    CallEach,
    CallSystem,
    Effect,
    Follow,
    Pause,
    Steps,
    Verify,
    struck,
)
from queuepool.client.one_loop import OneLoop
from queuepool.errors import MovedError, UnavailableError
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.partitions.route import Leave
from queuepool.partitions.verifying import AsyncVerifier, Verifier, run_each
from queuepool.routing.views import View
from queuepool.servers import AsyncPort, Port, Stream
from queuepool.servers.connect import connect, connect_async
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import pools

T = TypeVar("T")
P = TypeVar("P")
_AWAITED_AT_ONCE = 32  # partitions, each by a call of its own
_NOTED_S = 60.0  # after which a partition is told again which pools it has


class _Servers(Generic[P]):
    """The servers of a pool by name: ready-made, or opened here without connecting yet."""

    def __init__(
        self, config: PoolConfig, given: Mapping[str, P] | None, connect: Callable[..., P]
    ) -> None:
        self.config = config
        if given is None:
            urls = config.topology.servers.items()
            given = {name: connect(url, timeout_s=config.timeout_s) for name, url in urls}
        self.servers = dict(given)
        self._noted: dict[tuple[int, str], float] = {}

    def noted(self, partition: int, pool: str) -> bool:
        """Return whether the partition surely knows of a pool; if not, it is about to hear of it.

        It is told again now and then, as a failover may lose what it knew.
        """
        if pool == DEFAULT_POOL:
            return True
        return monotonic() - self._noted.get((partition, pool), -_NOTED_S) < _NOTED_S

    def outdated(self, since: int) -> MovedError | None:
        """Return the error of a call that was laid out by an older route than is known."""
        newest = self.config.topology.view.version
        return MovedError(newest) if since < newest else None

    def note(self, partition: int, pool: str) -> None:
        """Remember that the partition knows of a pool."""
        self._noted[partition, pool] = monotonic()

    @property
    def system_server(self) -> P:
        """Return the server that holds what coordinators share."""
        return self.servers[self.config.topology.system]

    def server_of(self, partition: int) -> P:
        """Return the server that holds a partition."""
        return self.servers[self.config.topology.server_of(partition)]


class Network(_Servers[Port]):
    """Blocking servers. Safe to share between threads."""

    def __init__(self, config: PoolConfig, given: Mapping[str, Port] | None) -> None:
        super().__init__(config, given, connect)
        self.verifier = Verifier(config, self.servers)
        self._route = self.verifier.state
        self._known: tuple[View, dict[tuple[int, str], Partition]] = config.topology.view, {}

    def partition(self, number: int, pool: str = DEFAULT_POOL) -> Partition:
        """Return one partition, or another pool of it, wherever it lives."""
        view, places = self._known
        if view is not self.config.topology.view:
            view, places = self._known = self.config.topology.view, {}
        known = places.get((number, pool))
        if known is None:
            key = self.config.keyspace.of(pool).partition(number)
            at = self.config.topology.server_of(number)
            known = places[number, pool] = Partition(number, key, self.servers[at], pool, at)
        return known

    def may_send(self, since: int) -> bool:
        """Return whether what was laid out by this version of the route may be sent as it is."""
        if not self._route.verified:
            self.verifier.verify(Leave.RECORD)
        return self.outdated(since) is None

    def stream(
        self, partition: int, window: int, pool: str = DEFAULT_POOL, since: int = 0
    ) -> Stream:
        """Return a pipe for enqueues to a partition, with at most this many in flight.

        since: the version of the route by which it was chosen; 0: whichever. Raises MovedError.
        """
        self.add_pool(partition, pool, since)
        place = self.partition(partition, pool)
        return place.server.stream(place.key, window)

    def add_pool(self, partition: int, pool: str, since: int = 0) -> None:
        """Tell a partition that it has this pool, unless it was told lately.

        since: the version of the route by which it was chosen; 0: whichever. Raises MovedError.
        """
        if not self.noted(partition, pool):
            self.partition(partition).run(pools.add(pool, since))
            self.note(partition, pool)

    def do(self, steps: Steps[T]) -> T:
        """Carry steps out; return what they return."""
        try:
            effect = next(steps)
            while True:
                effect = steps.send(self._answer(effect))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except BaseException as error:
            struck(steps, error)
            raise

    def _answer(self, effect: Effect) -> Any:
        try:
            if isinstance(effect, Call):  # first: it is nearly always one
                if not self._route.verified:  # looked up only now: a rejected call needs no server
                    self.verifier.verify(effect.leave)
                if effect.since and (outdated := self.outdated(effect.since)):
                    return outdated
                if effect.adds:
                    self.add_pool(effect.partition, effect.pool, effect.since)
                place = self.partition(effect.partition, effect.pool)
                return place.server.run(place.key, effect.verbs)
            if isinstance(effect, Verify):
                return self.verifier.verify(Leave.LOOK)
            if isinstance(effect, Follow):
                return self.verifier.follow()
            if isinstance(effect, CallSystem):
                self.verifier.verify(Leave.LOOK)
                return self.system_server.run(self.config.keyspace.system(), effect.verbs)
            if isinstance(effect, CallEach):
                self.verifier.verify(Leave.LOOK)
                server_of = self.config.topology.server_of
                key_of = self.config.keyspace.of(effect.pool).partition
                return run_each(
                    self.servers, [(server_of(n), key_of(n), v) for n, v in effect.calls]
                )
        except UnavailableError as error:
            return error
        threading.Event().wait(effect.seconds)
        return None

    def close(self) -> None:
        """Close all connections. Idempotent."""
        for server in self.servers.values():
            server.close()


class AsyncNetwork(_Servers[AsyncPort]):
    """Async servers, for the tasks of one event loop unless they are ready-made."""

    def __init__(self, config: PoolConfig, given: Mapping[str, AsyncPort] | None) -> None:
        super().__init__(config, given, connect_async)
        self.verifier = AsyncVerifier(config, self.servers)
        self._route = self.verifier.state
        self._one_loop = OneLoop(self._forget) if given is None else None

    async def do(self, steps: Steps[T]) -> T:
        """Carry steps out; return what they return."""
        if self._one_loop is not None:
            self._one_loop.stay()
        try:
            effect = next(steps)
            while True:
                effect = steps.send(await self._answer(effect))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except BaseException as error:
            struck(steps, error)
            raise

    async def _answer(self, effect: Effect) -> Any:
        if isinstance(effect, Pause):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Follow):
            return await self._follow()
        if not self._route.verified:
            await self.verifier.verify(effect.leave if isinstance(effect, Call) else Leave.LOOK)
        if isinstance(effect, Verify):
            return None
        try:
            if isinstance(effect, CallSystem):
                return await self.system_server.run(self.config.keyspace.system(), effect.verbs)
            if isinstance(effect, Call):
                if effect.since and (outdated := self.outdated(effect.since)):
                    return outdated
                if effect.adds and not self.noted(effect.partition, effect.pool):
                    verb = pools.add(effect.pool, effect.since)
                    verb.read((await self._run(effect.partition, [verb]))[0])
                    self.note(effect.partition, effect.pool)
                return await self._run(effect.partition, effect.verbs, effect.pool)
            replies: list[Any] = []
            for i in range(0, len(effect.calls), _AWAITED_AT_ONCE):
                replies += await self._run_each(effect.calls[i : i + _AWAITED_AT_ONCE], effect.pool)
        except UnavailableError as error:
            return error
        return replies

    async def _follow(self) -> UnavailableError | None:
        try:
            await self.verifier.follow()
        except UnavailableError as error:
            return error
        return None

    async def _run(
        self, partition: int, verbs: Sequence[Any], pool: str = DEFAULT_POOL
    ) -> list[Any]:
        key = self.config.keyspace.of(pool).partition(partition)
        return await self.server_of(partition).run(key, verbs)

    async def _run_each(self, calls: Sequence[tuple[int, Any]], pool: str) -> list[Any]:
        running = [self._run(number, [verb], pool) for number, verb in calls]
        replies = await asyncio.gather(*running, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return [reply[0] for reply in replies]  # type: ignore[index]  # the others are raised

    def _forget(self) -> None:
        for server in self.servers.values():
            server.forget()

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        if self._one_loop is not None:
            self._one_loop.stay()
        await self.verifier.close()
        for server in self.servers.values():
            await server.close()
        if self._one_loop is not None:
            self._one_loop.leave()
