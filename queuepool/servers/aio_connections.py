"""The connections of one event loop's tasks to one server: each held by one task, none lost.

A task can be cancelled where it awaits, and again during cleanup. So returning and dropping a
connection await nothing, and waits are bounded here rather than by the client: up to Python 3.11
its `wait_for` loses a cancellation that coincides with the awaited result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.exceptions import MaxConnectionsError

from queuepool.servers import forking

_FAILED = (redis.RedisError, OSError)


class AsyncConnections:
    """At most `limit` connections, made on demand, without timeouts of their own."""

    def __init__(self, make: Callable[[], Any], limit: int, timeout_s: float) -> None:
        self._make, self._limit, self._timeout_s = make, limit, timeout_s
        self._room = asyncio.Semaphore(limit)
        self._free: list[Any] = []
        self._held: set[Any] = set()
        self._inherited: list[Any] = []
        forking.keep(self)

    def after_fork(self) -> None:
        """Start over in a forked child: the parent still reads from all existing connections."""
        # Kept, not closed: closing would remove them from the selector, which the parent shares.
        self._inherited += [*self._free, *self._held]
        self._free, self._held = [], set()
        self._room = asyncio.Semaphore(self._limit)

    def forget(self) -> None:
        """Close the connections of an event loop that is closed; start over in another."""
        left, self._free, self._held = [*self._free, *self._held], [], set()
        self._room = asyncio.Semaphore(self._limit)
        for connection in left:
            _shut(connection)

    async def borrow(self) -> Any:
        """Return a connection that works; waits for one at most `timeout_s`.

        Raises the client's errors, and OSError.
        """
        room = self._room  # `forget` makes another one
        if room.locked():
            try:
                async with asyncio.timeout(self._timeout_s):
                    await room.acquire()
            except TimeoutError:
                text = f"all {self._limit} connections of this process are in use"
                raise MaxConnectionsError(text) from None
        else:
            await room.acquire()  # without a wait
        connection = None
        try:
            while self._free:
                connection = self._free.pop()  # the newest first
                if await self._is_quiet(connection):
                    break
                _shut(connection)
                connection = None
            if connection is None:
                connection = self._make()
                async with asyncio.timeout(self._timeout_s):
                    await connection.connect()
        except BaseException:
            if connection is not None:
                _shut(connection)
            room.release()
            raise
        self._held.add(connection)
        return connection

    def give_back(self, connection: Any) -> None:
        """Take back an intact connection: every call on it was answered."""
        self._held.discard(connection)
        self._free.append(connection)
        self._room.release()

    def drop(self, connection: Any) -> None:
        """Close one that is not intact. What was forgotten has no slot to be freed."""
        _shut(connection)
        if connection in self._held:
            self._held.discard(connection)
            self._room.release()

    async def exchange(self, connection: Any, packed: Sequence[bytes]) -> list[Any]:
        """Send commands in one write; return one reply each, with refusals in their places.

        Raises the client's errors, and TimeoutError when `timeout_s` pass without a reply.
        """
        writer = connection._writer  # noqa: SLF001 - send_packed_command would reconnect
        if writer is None:
            raise redis.ConnectionError("the connection was closed")
        now_s = asyncio.get_running_loop().time
        writer.write(b"".join(packed))
        replies = []
        async with asyncio.timeout(self._timeout_s) as limit:
            await writer.drain()
            for _ in packed:
                limit.reschedule(now_s() + self._timeout_s)
                try:
                    replies.append(await connection.read_response())
                except redis.ResponseError as error:
                    replies.append(error)
        return replies

    async def close(self) -> None:
        """Close every connection; calls in progress fail. Idempotent."""
        while self._free:
            await self._free.pop().disconnect()
        for connection in self._held:
            _shut(connection)  # its holder frees its slot

    async def _is_quiet(self, connection: Any) -> bool:
        try:
            return not await connection.can_read()
        except _FAILED:
            return False


def _shut(connection: Any) -> None:
    """Close without waiting: unsent data is discarded."""
    writer = connection._writer  # noqa: SLF001 - disconnect is for those who can wait
    if writer is not None:
        _abort(writer.transport)
    connection._close()  # noqa: SLF001
    connection._parser.on_disconnect()  # noqa: SLF001


def _abort(transport: Any) -> None:
    """Close a transport, also of an event loop that is closed, which can call nothing any more."""
    plain = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None) or transport
    try:
        transport.abort()
    except RuntimeError:
        close_now = getattr(plain, "_call_connection_lost", None)  # what the loop would have called
        if close_now is not None:
            with suppress(RuntimeError):  # from waking a task of that loop; the socket is closed
                close_now(None)
