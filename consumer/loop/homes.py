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

from consumer.core.limits.earlier import EVERY
from consumer.core.limits.home_call import HomeCall
from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.limits.verbs import ends_also

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuepool.client.pool import QueuePool
    from queuepool.servers import Reply

    Answer = Callable[[HomeCall, Reply], None]

_MOST = 10_000
_ELSEWHERE = -2  # partition: every one, about the other names of the asker


class LimitHomes:
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
        self._replies: deque[tuple[HomeCall, Reply]] = deque()
        self._lines: dict[str, _Line] = {}

    def send(self, calls: Sequence[HomeCall]) -> None:
        """Make these calls soon."""
        touched: dict[str, _Line] = {}
        for call in calls:
            for placed in self._placed(call):
                try:
                    name = self._server_of(placed)
                except ConfigurationError as error:  # there is no such partition any more
                    self._answer(placed, error)
                    continue
                line = self._lines.get(name)
                if line is None:
                    line = self._lines[name] = _Line(self._pool, self._answer, self._ring)
                if line.add(placed):
                    touched[name] = line
        for line in touched.values():
            line.go()

    def take_replies(self) -> list[tuple[HomeCall, Reply]]:
        """Return what was answered since the last call."""
        found = []
        while self._replies:
            found.append(self._replies.popleft())
        return found

    def close(self) -> None:
        """Let the threads end; what is under way is not waited for. Idempotent."""
        for line in self._lines.values():
            line.close()

    def _placed(self, call: HomeCall) -> list[HomeCall]:
        if call.name:
            home = self._pool.config.topology.view.home_of(call.name)
            return [replace(call, partition=home)]
        if call.slot is not None:
            view = self._pool.config.topology.view
            verb = flow.by_route(call.verb, view.version_for(call.slot))
            return [replace(call, partition=view.place_of_slot(call.slot), verb=verb)]
        if call.partition not in (EVERY, _ELSEWHERE):
            return [call]
        others = self._elsewhere()
        verbs = [call.verb] if call.partition == EVERY else []
        verbs += [ends_also(call.verb, asker) for asker in others or ()]
        homes = self._pool.config.topology.view.homes
        placed = [replace(call, partition=number, verb=verb) for number in homes for verb in verbs]
        return placed if others is not None else [*placed, replace(call, partition=_ELSEWHERE)]

    def _server_of(self, call: HomeCall) -> str:
        if call.partition == _ELSEWHERE:  # it has the route
            return self._pool.config.topology.system
        return self._pool.partition(call.partition).server.name

    def _answer(self, call: HomeCall, reply: Reply) -> None:
        self._replies.append((call, reply))


class _Line:
    """The calls for one server, and the thread that makes them."""

    def __init__(self, pool: QueuePool, answer: Answer, ring: Callable[[], None]) -> None:
        self._pool, self._answer, self._ring = pool, answer, ring
        self._waiting: deque[HomeCall] = deque()
        self._changed = threading.Condition()
        self._closed = False
        threading.Thread(target=self._work, name="limits", daemon=True).start()

    def add(self, call: HomeCall) -> bool:
        """Queue a call; returns False if too many wait."""
        if len(self._waiting) >= _MOST:
            self._answer(
                call, UnavailableError("too many calls are queued for this home of limits")
            )
            return False
        self._waiting.append(call)
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
        by_place: dict[tuple[int, str], list[HomeCall]] = {}
        while self._waiting:
            call = self._waiting.popleft()
            by_place.setdefault((call.partition, call.pool), []).append(call)
        for (number, pool), calls in by_place.items():
            replies: Sequence[Any]
            try:
                if number == _ELSEWHERE:
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
