"""A Redis Cluster: each partition is one hash tag, so one node has all of its keys.

    call --> map: slot of the key -> address --> the node's own Server
      ^                  | MOVED, or the node does not respond
      +---- retry by the caller <-- forget the map; the next call reads it from any node known

The map is read from one node after another: those of the last map, then that of the URL, so a node
that is down hides no other. Nothing is retried here; the caller may retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.errors.escaping import shown
from queuepool.servers import Bell, Memory, Reply, forking, wire
from queuepool.servers.aio import AsyncServer
from queuepool.servers.cluster.node_map import SlotMap, address_in, node_url, read_slots
from queuepool.servers.sync import Server, SyncStream
from queuepool.verbs import Verb


class ClusterServer:
    """A Redis Cluster, as one server. Safe to share between threads."""

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        self._url, _ = wire.check_url(url)
        self.name = f"cluster {wire.display_name(self._url)}"
        self._timeout_s = timeout_s
        # No lock: if an interrupted thread held it, it would block all others. Threads may read the
        # map at the same time, and read the same.
        self._first = address_in(self._url)
        self._nodes = {self._first: self._connect(self._first)}
        self._map: SlotMap | None = None
        self._turns = count()

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key, on the node that has it."""
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        """Run verbs on several base keys: one round trip per node.

        If all calls go to one node, its UnavailableError is raised; else it is in their places.
        """
        by_node: dict[Server, list[int]] = {}
        for i, (key, _verb) in enumerate(calls):
            by_node.setdefault(self.node(key), []).append(i)
        replies: list[Reply] = [None] * len(calls)
        for node, places in by_node.items():
            try:
                answers = node.run_many([calls[i] for i in places])
            except UnavailableError as error:
                self._forget()
                if len(by_node) == 1:
                    raise
                answers = [error] * len(places)
            for i, answer in zip(places, answers, strict=True):
                replies[i] = answer
        if any(isinstance(reply, UnavailableError) for reply in replies):
            self._forget()
        return replies

    def stream(self, key: bytes, window: int) -> SyncStream:
        """Return a pipe to the node that has the key."""
        return self.node(key).stream(key, window)

    def doorbell(self, key: bytes) -> Bell:
        """Return the doorbell of an idle owner; it follows the key to another node."""
        return ClusterBell(self, key)

    def info(self) -> dict[str, Any]:
        """Return what one node reports of itself."""
        return self.node(b"{any}").info()

    def memory(self, key: bytes) -> Memory:
        """Return how full the node that has the key is."""
        return self.node(key).memory(key)

    def close(self) -> None:
        """Close every connection."""
        self._map = None
        for node in list(self._nodes.values()):
            node.close()

    def node(self, key: bytes) -> Server:
        """Return the node that has a key. Raises UnavailableError."""
        slots = self._map
        if slots is None:
            slots = self._map = self._read_map()
        address = slots.address_of(key)
        if address is None:
            self._map = None
            raise UnavailableError(f"{self.name}: no node currently serves the slot of {key!r} now")
        known = self._nodes.get(address)
        return known or self._nodes.setdefault(address, self._connect(address))

    def _read_map(self) -> SlotMap:
        nodes = list(self._nodes.items())
        turn = next(self._turns)  # not always the same one: its map may be out of date
        failure: QueuePoolError | None = None
        for i in range(len(nodes)):
            address, node = nodes[(turn + i) % len(nodes)]
            try:
                slots = read_slots(node.ask("CLUSTER", "SLOTS"), address)
            except QueuePoolError as error:
                failure = error
                continue
            if slots.addresses:
                self._keep_nodes({*slots.addresses, self._first})
                return slots
        raise failure or UnavailableError(f"{self.name}: no node serves any slot now")

    def _keep_nodes(self, wanted: set[str]) -> None:
        for address in set(self._nodes) - wanted:
            node = self._nodes.pop(address, None)
            if node is not None:  # and no other thread was faster
                node.close()
        for address in wanted - set(self._nodes):
            self._nodes.setdefault(address, self._connect(address))

    def _connect(self, address: str) -> Server:
        with _named_by_the_cluster(self.name, address):
            return Server(node_url(self._url, address), timeout_s=self._timeout_s)

    def _forget(self) -> None:
        self._map = None


class ClusterBell:
    """The doorbell of a partition at the node that has it. Created and waited on by one thread."""

    def __init__(self, cluster: ClusterServer, key: bytes) -> None:
        self._cluster, self._key = cluster, key
        self._node = cluster.node(key)
        self._bell: Bell = self._node.doorbell(key)
        self._left: Reply = None  # the answer from a bell on a previous node

    @property
    def lifeline(self) -> str:
        """Return that of the connection to the node."""
        return self._bell.lifeline

    def settle(self) -> None:
        """Close connections that were given up earlier: standbys know the lifeline."""
        self._bell.settle()

    def ring(self) -> None:
        """Make the current or the next wait return."""
        bell = self._bell
        bell.ring()
        if bell is not self._bell:  # it was replaced in the meantime
            self._bell.ring()

    def wait(self, timeout_s: float) -> bytes | None:
        """Sleep until a wake token, a ring, or the timeout; return the token if there is one."""
        try:
            node = self._cluster.node(self._key)
        except QueuePoolError:
            node = self._node
        if node is not self._node:
            old, self._node = self._bell, node
            old.disarm()
            self._left = old.answer()
            self._bell = node.doorbell(self._key)
            old.close()
            return None  # a ring of the old one is noticed by checking
        return self._bell.wait(timeout_s)

    def arm(self, verb: Verb[Any]) -> bool:
        """Have the node run a verb right behind the next token, or within a second without one."""
        return self._left is None and self._bell.arm(verb)

    def answer(self) -> Reply:
        """Return the armed verb's reply, once; None while it is under way."""
        left, self._left = self._left, None
        return self._bell.answer() if left is None else left

    def disarm(self) -> None:
        """Do not wait for the armed verb any more."""
        self._bell.disarm()

    def close(self) -> None:
        """Give everything back. Idempotent; ring stays legal."""
        self._bell.close()


class AsyncClusterServer:
    """A Redis Cluster for the tasks of one event loop."""

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        self._url, _ = wire.check_url(url)
        self.name = f"cluster {wire.display_name(self._url)}"
        self._timeout_s = timeout_s
        self._lock = asyncio.Lock()
        self._first = address_in(self._url)
        self._nodes = {self._first: self._connect(self._first)}
        self._map: SlotMap | None = None
        self._turns = count()
        forking.keep(self)

    def after_fork(self) -> None:
        """Recreate the lock in a forked child; the nodes take care of their connections."""
        self._lock = asyncio.Lock()

    async def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key, on the node that has it."""
        node = await self._node(key)
        try:
            replies = await node.run(key, verbs)
        except UnavailableError:
            self._map = None
            raise
        if any(isinstance(reply, UnavailableError) for reply in replies):
            self._map = None
        return replies

    def forget(self) -> None:
        """Give up the connections of an event loop that is closed, and its lock."""
        self._lock = asyncio.Lock()
        for node in self._nodes.values():
            node.forget()

    async def close(self) -> None:
        """Close every connection."""
        self._map = None
        for node in self._nodes.values():
            await node.close()

    async def _node(self, key: bytes) -> AsyncServer:
        async with self._lock:
            slots = self._map = self._map or await self._read_map()
            address = slots.address_of(key)
            if address is None:
                self._map = None
                raise UnavailableError(
                    f"{self.name}: no node currently serves the slot of {key!r} now"
                )
            return self._nodes[address]

    async def _read_map(self) -> SlotMap:
        nodes = list(self._nodes.items())
        turn = next(self._turns)
        failure: QueuePoolError | None = None
        for i in range(len(nodes)):
            address, node = nodes[(turn + i) % len(nodes)]
            try:
                slots = read_slots(await node.ask("CLUSTER", "SLOTS"), address)
            except QueuePoolError as error:
                failure = error
                continue
            if slots.addresses:
                await self._keep_nodes({*slots.addresses, self._first})
                return slots
        raise failure or UnavailableError(f"{self.name}: no node serves any slot now")

    async def _keep_nodes(self, wanted: set[str]) -> None:
        for address in self._nodes.keys() - wanted:
            await self._nodes.pop(address).close()
        for address in wanted - self._nodes.keys():
            self._nodes[address] = self._connect(address)

    def _connect(self, address: str) -> AsyncServer:
        with _named_by_the_cluster(self.name, address):
            return AsyncServer(node_url(self._url, address), timeout_s=self._timeout_s)


@contextmanager
def _named_by_the_cluster(name: str, address: str) -> Iterator[None]:
    """Return the error for an invalid address: the settings are right, and it may be temporary."""
    try:
        yield
    except ConfigurationError as error:
        raise UnavailableError(
            f"{name} redirects to an unreachable node, {shown(address)}; nothing was written"
        ) from error
