"""Asks the homes of limits, in a thread of its own: they may be on other servers, slow, or down.

The owner's loop sends calls and takes replies; it never waits. The thread starts with the first
call, so a consumer without limits has none. Calls for one home keep their order: one thread makes
all calls, those for one server in one round trip. At most _MOST calls wait: further ones fail at
once, and are asked again later.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from consumer.core.limits.gatekeeper import HomeCall
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.routing.slots import home_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuepool.client.pool import QueuePool
    from queuepool.servers import Reply

_MOST = 10_000


class LimitHomes:
    """Makes calls to partitions of a pool. ring: wakes the owner's loop when replies are there."""

    def __init__(self, pool: QueuePool, ring: Callable[[], None]) -> None:
        self._pool, self._ring = pool, ring
        self._partitions = len(pool.partitions())
        self._waiting: deque[HomeCall] = deque()
        self._replies: deque[tuple[HomeCall, Reply]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def send(self, calls: Sequence[HomeCall]) -> None:
        """Make these calls soon."""
        for call in calls:
            if len(self._waiting) >= _MOST:
                self._replies.append((call, UnavailableError("too many calls wait for homes")))
                continue
            self._waiting.extend(self._placed(call))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="limits", daemon=True)
            self._thread.start()
        with self._changed:
            self._changed.notify()

    def take_replies(self) -> list[tuple[HomeCall, Reply]]:
        """Return what was answered since the last call."""
        found = []
        while self._replies:
            found.append(self._replies.popleft())
        return found

    def close(self) -> None:
        """Let the thread end; what is under way is not waited for. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _placed(self, call: HomeCall) -> list[HomeCall]:
        if call.name:
            return [replace(call, partition=home_of(call.name, self._partitions))]
        return [replace(call, partition=number) for number in range(self._partitions)]

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
            self._make_calls()

    def _make_calls(self) -> None:
        by_partition: dict[int, list[HomeCall]] = {}
        while self._waiting:
            call = self._waiting.popleft()
            by_partition.setdefault(call.partition or 0, []).append(call)
        for number, calls in by_partition.items():
            replies: Sequence[Any]
            try:
                partition = self._pool.partition(number)
                replies = partition.server.run(partition.key, [call.verb for call in calls])
            except QueuePoolError as error:
                replies = [error] * len(calls)
            self._replies.extend(zip(calls, replies, strict=True))
            self._ring()
