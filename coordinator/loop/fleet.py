"""All partitions at once, a few round trips per server, and no server waits for another.

A server that does not respond costs its own partitions their replies and the others nothing: each
server is asked on a thread of its own, and not again in a run after a call that failed. The replies
to one round trip are read while the server works on the next: it takes as long for many partitions
as reading them does. One that is slow is asked for so long in a run, and first about the others in
the next one, so that a run ends within a lead.

A route that changes is taken at the beginning of a cycle, so that a cycle is of one route.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from math import inf
from queue import SimpleQueue
from typing import Any

from coordinator.loop.crew import Crew
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology
from queuepool.servers import Port, Reply
from queuepool.verbs import Verb

_MAX_SIDE_BY_SIDE = 16
_ROUND_TRIP = 125  # calls
Call = tuple[int, Verb[Any]]
_Answer = tuple[Sequence[int], Sequence[Reply]]  # places of calls, and what was replied to them


class Fleet:
    """Runs verbs on many partitions. Used by one thread; close it at the end.

    patience_s: how long a server is asked in a run, beyond the round trip that is under way then.
    """

    def __init__(
        self,
        topology: Topology,
        keyspace: Keyspace,
        servers: Mapping[str, Port],
        *,
        patience_s: float = inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topology, self._keyspace, self._servers = topology, keyspace, servers
        self._patience_s, self._clock = patience_s, clock
        self._next: dict[str, int] = {}  # by server: the first partition it was not asked about
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
        replies: list[Reply] = [None] * len(calls)
        for places, some in self.stream(calls):
            for place, reply in zip(places, some, strict=True):
                replies[place] = reply
        return replies

    def stream(self, calls: Sequence[Call]) -> Iterator[_Answer]:
        """Run (partition, verb) calls; yield replies as they come, and their places in `calls`."""
        places: dict[str, list[int]] = {}
        for place, (partition, _verb) in enumerate(calls):
            places.setdefault(self._placement[partition], []).append(place)
        answers = SimpleQueue[_Answer | Future[None]]()
        is_small = len(places) < 2 and len(calls) <= _ROUND_TRIP
        for name, where in places.items():
            ask = partial(self._ask, name, where, calls, answers.put)
            asked = _done(ask) if is_small else self._begin(ask)
            asked.add_done_callback(answers.put)
        left = len(places)
        while left:
            answer = answers.get()
            if isinstance(answer, Future):
                answer.result()  # raises what it did
                left -= 1
            else:
                yield answer

    def _begin(self, ask: Callable[[], None]) -> Future[None]:
        try:
            return self._crew.submit(ask)
        except UnavailableError:  # no thread for it: one server after another, in this thread
            return _done(ask)

    def _ask(
        self,
        name: str,
        places: Sequence[int],
        calls: Sequence[Call],
        answer: Callable[[_Answer], None],
    ) -> None:
        server, until_s = self._servers[name], self._clock() + self._patience_s
        failure: QueuePoolError | None = None
        first = self._next.pop(name, 0) if len(places) > _ROUND_TRIP else 0
        places = sorted(places, key=lambda n: calls[n][0] < first) if first else places
        for i in range(0, len(places), _ROUND_TRIP):
            some, replies = places[i : i + _ROUND_TRIP], list[Reply]()
            batch = [(self._keys[calls[n][0]], calls[n][1]) for n in some]
            if failure is None and i and self._clock() > until_s:
                failure = UnavailableError(f"{name}: too slow to be asked about all partitions")
                self._next[name] = calls[some[0]][0]
            if failure is None:
                try:
                    replies = server.run_many(batch)
                except QueuePoolError as error:
                    failure = error
            answer((some, replies if failure is None else [failure] * len(some)))

    def close(self) -> None:
        """Release the helper threads. Idempotent; does not wait for a hanging server."""
        self._crew.close()


def _done(ask: Callable[[], None]) -> Future[None]:
    ask()
    done = Future[None]()
    done.set_result(None)
    return done
