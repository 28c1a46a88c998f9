"""The connections of threads to one server: each held by one thread, none lost.

    free --borrow--> held by one thread --give_back, intact--> free
                          |
                          +-- drop, or no references left --> closed, its seat is empty

An exception can interrupt a thread between any two steps: Ctrl-C, the timeout of a job, a debugger.
So nothing here relies on a `finally` that runs to its end, and no lock could stay held:
- Only intact connections come back: every call on them was answered. A thread that is interrupted
  in an exchange never reaches `give_back`, which is one step of the interpreter; so no other thread
  can read an outstanding reply, and no two threads ever hold one connection.
- A seat is a weak reference: it is empty once no one holds its link, for whatever reason.
- A link never connects again: its outstanding calls are lost with it, and their replies are never
  mistaken for others.
"""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any
from weakref import ref

import redis
from redis.exceptions import MaxConnectionsError

from queuepool.servers import forking

_WARM_S = 1.0
_COLLECT_EVERY_S = 1.0


class Link:
    """One connection, for one thread at a time. Raises the client's errors, and OSError."""

    __slots__ = ("__weakref__", "_seat", "_seats", "connection", "loaded", "used_s")

    def __init__(self, connection: Any, seats: dict[int, ref[Link]]) -> None:
        self.connection, self._seats, self._seat, self.used_s = connection, seats, -1, 0.0
        self.loaded: set[str] = set()  # scripts that were sent on it: only a flush removes them

    def sit(self, limit: int) -> bool:
        """Take one of `limit` seats; returns False if all are taken."""
        for number in range(limit):
            # Called when the link ends, for whatever reason, without Python code: uninterruptible.
            mine = ref(self, partial(self._seats.pop, number))
            self._seat = number  # first: `drop` finds the seat whenever this ends
            if self._seats.setdefault(number, mine) is mine:
                return True
        return False

    def send(self, packed: bytes) -> None:
        """Send packed commands; never reconnect."""
        socket = self.connection._sock  # noqa: SLF001 - send_packed_command would reconnect
        if socket is None:
            raise redis.ConnectionError("the connection was closed")
        socket.sendall(packed)

    def read(self) -> Any:
        """Return the next reply; a refusal of the call is returned, not raised."""
        try:
            return self.connection.read_response()
        except redis.ResponseError as error:  # this call was refused; the connection is in order
            return error

    def hurry(self, timeout_s: float) -> None:
        """From now on wait at most this long for a reply."""
        socket = self.connection._sock  # noqa: SLF001 - has no public name
        if socket is not None:
            with suppress(OSError):  # a fork closed it; who reads is told
                socket.settimeout(timeout_s)

    def fileno(self) -> int:
        """Return the descriptor of the socket, to be polled."""
        socket = self.connection._sock  # noqa: SLF001 - has no public name
        if socket is None:
            raise redis.ConnectionError("the connection was closed")
        return int(socket.fileno())

    def quiet(self) -> bool:
        """Return whether it is open without unread data, as an idle connection must be."""
        if self.connection._sock is None:  # noqa: SLF001 - can_read would reconnect
            return False
        try:
            return not self.connection.can_read()
        except (redis.RedisError, OSError):
            return False

    def is_open(self) -> bool:
        """Return whether the server has not closed it. What it has sent is lost: ask this last."""
        try:
            while os.read(self.fileno(), 65_536):
                pass
        except BlockingIOError:
            return True
        except (redis.RedisError, OSError):
            return False
        return False

    def drop(self) -> None:
        """Close it and leave its seat. Idempotent."""
        self.used_s = 0.0
        mine = self._seats.get(self._seat)
        if mine is not None and mine() is self:
            self._seats.pop(self._seat, None)
        self.connection.disconnect()


class Connections:
    """At most `limit` connections, made on demand. Safe to share between threads."""

    give_back: Callable[[Link], None]

    def __init__(self, make: Callable[[], Any], limit: int) -> None:
        self._make, self._limit = make, limit
        self._collected_s = 0.0
        self._reset()
        forking.keep(self)

    def borrow(self) -> Link:
        """Return a connection that works. Raises the client's errors, and OSError."""
        link: Link | None = None
        try:
            while self._free:
                try:
                    link = self._free.pop()  # the newest first: it worked a moment ago
                except IndexError:  # another thread was faster
                    break
                if monotonic() - link.used_s < _WARM_S or link.quiet():
                    return link
                link.drop()
            link = Link(self._make(), self._seats)
            self._seat(link)
            link.connection.connect()
            return link  # within the `try`: no step lies between them
        except BaseException:
            if link is not None:
                link.drop()
            raise

    def after_fork(self) -> None:
        """Start over in a forked child: the parent still reads from all existing connections."""
        seats = list(self._seats.values())
        self._reset()
        for seat in seats:
            link = seat()
            if link is not None:
                forking.close_inherited(link.connection._sock)  # noqa: SLF001 - has no public name

    def close(self) -> None:
        """Close every connection; calls in progress fail. Idempotent."""
        self.give_back = Link.drop
        self._free.clear()
        for seat in list(self._seats.values()):
            link = seat()
            if link is not None:
                link.connection.disconnect()  # its holder frees its seat

    def _reset(self) -> None:
        self._free: deque[Link] = deque()
        self._seats: dict[int, ref[Link]] = {}
        # Takes back an intact link, which its holder no longer touches.
        self.give_back = self._free.append

    def _seat(self, link: Link) -> None:
        if link.sit(self._limit):
            return
        if monotonic() - self._collected_s > _COLLECT_EVERY_S:
            # Some may be held only by the traceback of an exception in a reference cycle.
            self._collected_s = monotonic()
            gc.collect()
            if link.sit(self._limit):
                return
        raise MaxConnectionsError(f"all {self._limit} connections of this process are in use")
