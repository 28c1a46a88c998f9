"""All partitions at once: one round trip per server, and no server waits for another.

A server that does not respond costs its own partitions their replies and the others nothing:
the round trips run concurrently, each limited by the request timeout.

A route that changes is taken at the beginning of a cycle, so that a cycle is of one route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from coordinator.loop.crew import Crew
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology
from queuepool.servers import Port, Reply
from queuepool.verbs import Verb

_MAX_SIDE_BY_SIDE = 16
Call = tuple[int, Verb[Any]]


class Fleet:
    """Runs verbs on many partitions. Used by one thread; close it at the end."""

    def __init__(self, topology: Topology, keyspace: Keyspace, servers: Mapping[str, Port]) -> None:
        self._topology, self._keyspace, self._servers = topology, keyspace, servers
        self._placement: tuple[str, ...] = ()
        self.follow()
        self._crew = Crew(min(len(servers), _MAX_SIDE_BY_SIDE), "coordinator-fleet")

    def follow(self) -> None:
        """Take the newest route that is known."""
        placement = self._topology.view.placement
        if placement is not self._placement:
            self._placement = placement
            self._keys = [self._keyspace.partition(n) for n in range(len(placement))]

    @property
    def partitions(self) -> range:
        """Return the numbers of all partitions."""
        return range(len(self._placement))

    @property
    def servers(self) -> tuple[str, ...]:
        """Return the names of the servers that hold any partition."""
        return tuple(dict.fromkeys(self._placement))

    def server_of(self, partition: int) -> str:
        """Return the name of the server that holds a partition."""
        return self._placement[partition]

    def run(self, calls: Sequence[Call]) -> list[Reply]:
        """Run (partition, verb) calls; one reply each, in order, errors in their places."""
        places: dict[str, list[int]] = {}
        for place, (partition, _verb) in enumerate(calls):
            places.setdefault(self._placement[partition], []).append(place)
        batches = [(name, [calls[i] for i in where]) for name, where in places.items()]
        if len(batches) < 2:
            answers = [self._ask(*batch) for batch in batches]
        else:
            futures = [self._begin(*batch) for batch in batches]
            answers = [future.result() for future in futures]
        replies: list[Reply] = [None] * len(calls)
        for where, answer in zip(places.values(), answers, strict=True):
            for place, reply in zip(where, answer, strict=True):
                replies[place] = reply
        return replies

    def _begin(self, name: str, calls: Sequence[Call]) -> Future[list[Reply]]:
        try:
            return self._crew.submit(lambda: self._ask(name, calls))
        except UnavailableError:  # no thread for it: one server after another, in this thread
            done: Future[list[Reply]] = Future()
            done.set_result(self._ask(name, calls))
            return done

    def _ask(self, name: str, calls: Sequence[Call]) -> list[Reply]:
        try:
            return self._servers[name].run_many([(self._keys[n], verb) for n, verb in calls])
        except QueuePoolError as error:
            return [error] * len(calls)

    def close(self) -> None:
        """Release the helper threads. Idempotent; does not wait for a hanging server."""
        self._crew.close()
