"""A server for asyncio. See the package's docstring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
import redis.asyncio

from queuepool.servers import Reply, wire
from queuepool.servers.aio_connections import AsyncConnections
from queuepool.verbs import Verb

_ERRORS = (redis.RedisError, OSError)


class AsyncServer:
    """One Redis or Valkey, for the tasks of one event loop."""

    def __init__(self, url: str, *, timeout_s: float = 5.0, max_connections: int = 64) -> None:
        self._url, _ = wire.check_url(url)
        self.name = wire.display_name(self._url)
        options = wire.client_options(timeout_s)
        del options["parser_class"]
        options["retry"] = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0)
        options["socket_timeout"] = None  # the waits are bounded by AsyncConnections
        pool = wire.make_pool(redis.asyncio.ConnectionPool, self._url, options)
        self._connections = AsyncConnections(pool.make_connection, max_connections, timeout_s)

    async def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key in one round trip; one reply each, in order."""
        if not verbs:
            return []
        calls = [(key, verb) for verb in verbs]
        replies = await self._ask(calls, [wire.pack(*call) for call in calls])
        return [wire.translate(self.name, r) if isinstance(r, Exception) else r for r in replies]

    async def ask(self, *words: bytes | str) -> Any:
        """Return the reply to a read-only command. Raises UnavailableError or ScriptError."""
        (reply,) = await self._ask((), [wire.pack_words(words)])
        if isinstance(reply, Exception):
            raise wire.translate(self.name, reply)
        return reply

    async def _ask(
        self, calls: Sequence[tuple[bytes, Verb[Any]]], packed: Sequence[bytes]
    ) -> list[Any]:
        connections = self._connections
        try:
            connection = await connections.borrow()
            try:
                replies = await connections.exchange(connection, packed)
                places, loads, again = wire.repetition(calls, replies)
                if places:
                    sent_again = await connections.exchange(connection, loads + again)
                    repeated = wire.repeated(loads, sent_again)
                    for i, reply in zip(places, repeated, strict=True):
                        replies[i] = reply
            except BaseException:  # cancelled: replies are outstanding, never pass them on
                connections.drop(connection)
                raise
        except _ERRORS as error:
            raise wire.translate(self.name, error) from error
        if any(wire.is_misplaced(reply) for reply in replies):
            connections.drop(connection)
        else:
            connections.give_back(connection)
        return replies

    def forget(self) -> None:
        """Give up the connections of an event loop that is closed."""
        self._connections.forget()

    async def close(self) -> None:
        """Close every connection."""
        await self._connections.close()
