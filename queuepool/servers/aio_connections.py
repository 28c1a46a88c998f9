"""The connections of one event loop's tasks to one server: each in one task's hands, none lost.

A task is cancelled where it awaits, and again while it tidies up. So giving back and dropping await
nothing, and the waits are bounded here and not by the client: up to Python 3.11 its `wait_for`
loses a cancellation that comes together with what it waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import redis
from redis.exceptions import MaxConnectionsError

from queuepool.servers import forking

_FAILED = (redis.RedisError, OSError)


class AsyncConnections:
    """At most `limit` connections, made without timeouts of their own, when they are needed."""

    def __init__(self, make: Callable[[], Any], limit: int, timeout_s: float) -> None:
        self._make, self._limit, self._timeout_s = make, limit, timeout_s
        self._room = asyncio.Semaphore(limit)
        self._free: list[Any] = []
        self._held: set[Any] = set()
        self._inherited: list[Any] = []
        forking.keep(self)

    def after_fork(self) -> None:
        """Begin again in a forked child: the parent reads from all connections there are."""
        # Kept, not closed: closing would take them out of the selector, which the parent shares.
        self._inherited += [*self._free, *self._held]
        self._free, self._held = [], set()
        self._room = asyncio.Semaphore(self._limit)

    async def borrow(self) -> Any:
        """Return a connection that works; waits for one at most `timeout_s`.

        Raises the client's errors, and OSError.
        """
        if self._room.locked():
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._room.acquire()
            except TimeoutError:
                text = f"all {self._limit} connections of this process are in use"
                raise MaxConnectionsError(text) from None
        else:
            await self._room.acquire()  # without a wait
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
            self._room.release()
            raise
        self._held.add(connection)
        return connection

    def give_back(self, connection: Any) -> None:
        """Take back a connection that is in order: all that was asked on it is answered."""
        self._held.discard(connection)
        self._free.append(connection)
        self._room.release()

    def drop(self, connection: Any) -> None:
        """Close one that is not in order."""
        self._held.discard(connection)
        _shut(connection)
        self._room.release()

    async def exchange(self, connection: Any, packed: Sequence[bytes]) -> list[Any]:
        """Send commands in one write; return one reply each, refusals in their places.

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
        """Close every connection; what is under way fails. Idempotent."""
        while self._free:
            await self._free.pop().disconnect()
        for connection in self._held:
            _shut(connection)  # its room is given back by whoever holds it

    async def _is_quiet(self, connection: Any) -> bool:
        try:
            return not await connection.can_read()
        except _FAILED:
            return False


def _shut(connection: Any) -> None:
    """Close without a wait: what was not sent yet is thrown away."""
    writer = connection._writer  # noqa: SLF001 - disconnect is for those who can wait
    if writer is not None:
        writer.transport.abort()
    connection._close()  # noqa: SLF001
    connection._parser.on_disconnect()  # noqa: SLF001
