"""Asks and tells other partitions beside the turns: homes of limits and batches, and looks.

They may be on other servers, slow, or down. The owner's loop sends calls and takes replies; it
never waits. Each server has a thread, started with the first call for it, so a server that does not
answer delays no other one. Calls for one home keep their order; those that wait for a server go in
one round trip. At most _MOST calls wait for a server: further ones fail at once, to be asked again.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from consumer.core.remote_call import RemoteCall, ToAll, ToLimit, ToPartition, ToSlot
from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.limits.verbs import ends_also

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuepool.client.pool import QueuePool
    from queuepool.servers import Reply

    Answer = Callable[[RemoteCall, Reply], None]
    Placed = tuple[int | None, RemoteCall]  # the partition; None: the route is to be read for it

_MOST = 10_000


class RemoteCalls:
    """Makes calls to partitions of a pool. ring: wakes the owner's loop when replies are there.

    elsewhere: other names of askers, whose permits end too when those of the partition do; None:
    not known before the route is read once more. Their calls then fail, to be made again.
    """

    def __init__(
        self,
        pool: QueuePool,
        ring: Callable[[], None],
        elsewhere: Callable[[], Sequence[int | str] | None] = lambda: (),
    ) -> None:
        self._pool, self._ring, self._elsewhere = pool, ring, elsewhere
        self._replies: deque[tuple[RemoteCall, Reply]] = deque()
        self._lines: dict[str, _Line] = {}

    def send(self, calls: Sequence[RemoteCall]) -> None:
        """Make these calls soon."""
        touched: dict[str, _Line] = {}
        for call in calls:
            for placed in self._placed(call):
                try:
                    name = self._server_of(placed[0])
                except ConfigurationError as error:  # there is no such partition any more
                    self._answer(placed[1], error)
                    continue
                line = self._lines.get(name)
                if line is None:
                    line = self._lines[name] = _Line(self._pool, self._answer, self._ring)
                if line.add(placed):
                    touched[name] = line
        for line in touched.values():
            line.go()

    def take_replies(self) -> list[tuple[RemoteCall, Reply]]:
        """Return what was answered since the last call."""
        found = []
        while self._replies:
            found.append(self._replies.popleft())
        return found

    def close(self) -> None:
        """Let the threads end; what is under way is not waited for. Idempotent."""
        for line in self._lines.values():
            line.close()

    def _placed(self, call: RemoteCall) -> list[Placed]:
        view, to = self._pool.config.topology.view, call.to
        if isinstance(to, ToLimit):
            return [(view.home_of(to.name), call)]
        if isinstance(to, ToSlot):
            verb = flow.by_route(call.verb, view.version_for(to.slot))
            return [(view.place_of_slot(to.slot), replace(call, verb=verb))]
        if isinstance(to, ToPartition):
            return [(to.number, call)]
        others = self._elsewhere()
        verbs = [] if to.elsewhere else [call.verb]
        verbs += [ends_also(call.verb, asker) for asker in others or ()]
        placed: list[Placed] = [
            (number, replace(call, to=ToPartition(number), verb=verb))
            for number in view.homes
            for verb in verbs
        ]
        if others is None:
            placed.append((None, replace(call, to=ToAll(elsewhere=True))))
        return placed

    def _server_of(self, partition: int | None) -> str:
        if partition is None:
            return self._pool.config.topology.system
        return self._pool.partition(partition).server.name

    def _answer(self, call: RemoteCall, reply: Reply) -> None:
        self._replies.append((call, reply))


class _Line:
    """The calls for one server, and the thread that makes them."""

    def __init__(self, pool: QueuePool, answer: Answer, ring: Callable[[], None]) -> None:
        self._pool, self._answer, self._ring = pool, answer, ring
        self._waiting: deque[Placed] = deque()
        self._changed = threading.Condition()
        self._closed = False
        threading.Thread(target=self._work, name="remote-calls", daemon=True).start()

    def add(self, placed: Placed) -> bool:
        """Queue a call; returns False if too many wait."""
        if len(self._waiting) >= _MOST:
            self._answer(placed[1], UnavailableError("too many calls are queued for this server"))
            return False
        self._waiting.append(placed)
        return True

    def go(self) -> None:
        """Wake the thread."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Let the thread end."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
            self._make_calls()

    def _make_calls(self) -> None:
        by_place: dict[tuple[int | None, str], list[RemoteCall]] = {}
        while self._waiting:
            number, call = self._waiting.popleft()
            by_place.setdefault((number, call.pool), []).append(call)
        for (number, pool), calls in by_place.items():
            replies: Sequence[Any]
            try:
                if number is None:
                    self._pool.route.follow()
                    raise UnavailableError("the route was older than this owner until now")
                partition = self._pool.partition(number, pool)
                replies = partition.server.run(partition.key, [call.verb for call in calls])
            except QueuePoolError as error:
                replies = [error] * len(calls)
            for call, reply in zip(calls, replies, strict=True):
                self._answer(call, reply)
            if any(type(reply) is list and reply[:1] == [b"MOVED"] for reply in replies):
                self._follow()
            self._ring()

    def _follow(self) -> None:
        """Read the route before the calls that were turned away are repeated."""
        with suppress(QueuePoolError):
            self._pool.route.follow()
