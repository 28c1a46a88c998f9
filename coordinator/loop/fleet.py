"""All partitions at once, a few round trips per server, and no server waits for another.

A server that does not respond costs its own partitions their replies and the others nothing: each
server is asked on threads of its own, and not again there in a run after a call that failed. The
replies to one round trip are read while the server works on the next: it takes as long for many
partitions as reading them does. One that has many is asked about either half on a connection of its
own, so that it has something to do while replies are received. The first round trip, during which
there is nothing to read, is small.

A server that is slow is asked for so long in a run, and first about the others in the next one, so
that a run ends within a lead.

A route that changes is taken at the beginning of a cycle, so that a cycle is of one route.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from math import inf
from queue import SimpleQueue
from typing import Any, NamedTuple

from coordinator.loop.crew import Crew
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology
from queuepool.servers import Port, Reply
from queuepool.verbs import Verb

_MAX_SIDE_BY_SIDE = 32
_FIRST_ROUND_TRIP, _ROUND_TRIP = 16, 64  # calls; each is at most twice as large as the last
_MANY = 128  # calls to one server, beyond which it is asked about halves of them
Call = tuple[int, Verb[Any]]


class _Lane(NamedTuple):
    """Places of calls that are made one after another. half: 0 or 1, of what the server has."""

    server: str
    half: int
    places: Sequence[int]


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
        # By server and half: the first partition that it was not asked about.
        self._next: dict[tuple[str, int], int] = {}
        self._placement: tuple[str, ...] = ()
        self.follow()
        self._crew = Crew(min(2 * len(servers), _MAX_SIDE_BY_SIDE), "coordinator-fleet")

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
        lanes = self._lanes(calls)
        answers = SimpleQueue[_Answer | Future[None]]()
        is_small = len(lanes) < 2 and len(calls) <= _ROUND_TRIP
        for lane in lanes:
            ask = partial(self._ask, lane, calls, answers.put)
            asked = _done(ask) if is_small else self._begin(ask)
            asked.add_done_callback(answers.put)
        left = len(lanes)
        while left:
            answer = answers.get()
            if isinstance(answer, Future):
                answer.result()  # raises what it did
                left -= 1
            else:
                yield answer

    def _lanes(self, calls: Sequence[Call]) -> list[_Lane]:
        places, lanes = dict[str, list[int]](), list[_Lane]()
        for place, (partition, _verb) in enumerate(calls):
            places.setdefault(self._placement[partition], []).append(place)
        for server, where in places.items():
            middle = len(where) // 2 if len(where) > _MANY else len(where)
            halves = where[:middle], where[middle:]
            lanes += [_Lane(server, half, some) for half, some in enumerate(halves) if some]
        return lanes

    def _begin(self, ask: Callable[[], None]) -> Future[None]:
        try:
            return self._crew.submit(ask)
        except UnavailableError:  # no thread for it: one server after another, in this thread
            return _done(ask)

    def _ask(self, lane: _Lane, calls: Sequence[Call], answer: Callable[[_Answer], None]) -> None:
        name, half, places = lane
        server, until_s = self._servers[name], self._clock() + self._patience_s
        failure: QueuePoolError | None = None
        first = self._next.pop((name, half), 0) if len(places) > _ROUND_TRIP else 0
        places = sorted(places, key=lambda n: calls[n][0] < first) if first else places
        for some in _round_trips(places):
            replies = list[Reply]()
            batch = [(self._keys[calls[n][0]], calls[n][1]) for n in some]
            if failure is None and some[0] != places[0] and self._clock() > until_s:
                failure = UnavailableError(f"{name}: too slow to be asked about all partitions")
                self._next[name, half] = calls[some[0]][0]
            if failure is None:
                try:
                    replies = server.run_many(batch)
                except QueuePoolError as error:
                    failure = error
            answer((some, replies if failure is None else [failure] * len(some)))

    def close(self) -> None:
        """Release the helper threads. Idempotent; does not wait for a hanging server."""
        self._crew.close()


def _round_trips(places: Sequence[int]) -> Iterator[Sequence[int]]:
    begin, size = 0, _ROUND_TRIP
    if len(places) > _ROUND_TRIP:
        size = min(_FIRST_ROUND_TRIP, _ROUND_TRIP)
    while begin < len(places):
        yield places[begin : begin + size]
        begin, size = begin + size, min(2 * size, _ROUND_TRIP)


def _done(ask: Callable[[], None]) -> Future[None]:
    ask()
    done = Future[None]()
    done.set_result(None)
    return done
