"""A server for asyncio. See the package's docstring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import redis
import redis.asyncio

from queuepool.servers import Reply, wire
from queuepool.verbs import Verb

_ERRORS = (redis.RedisError, OSError)


class AsyncServer:
    """One Redis or Valkey, for the tasks of one event loop."""

    def __init__(self, url: str, *, timeout_s: float = 5.0, max_connections: int = 64) -> None:
        self._url, _ = wire.check_url(url)
        self.name = wire.display_name(self._url)
        options = wire.client_options(timeout_s)
        options["retry"] = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0)
        options |= {"max_connections": max_connections, "timeout": timeout_s}
        self._pool = wire.make_pool(redis.asyncio.BlockingConnectionPool, self._url, options)

    async def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key in one round trip; one reply each, in order."""
        if not verbs:
            return []

        async def talk(connection: Any) -> list[Any]:
            calls = [(key, verb) for verb in verbs]
            replies = await _exchange(connection, [wire.pack(*call) for call in calls])
            places, loads, again = wire.repetition(calls, replies)
            if places:
                repeated = (await _exchange(connection, loads + again))[len(loads) :]
                for i, reply in zip(places, repeated, strict=True):
                    replies[i] = reply
            return replies

        replies = await self._with_connection(talk)
        return [wire.translate(self.name, r) if isinstance(r, Exception) else r for r in replies]

    async def ask(self, *words: bytes | str) -> Any:
        """Return the reply to a command that only reads. Raises UnavailableError or ScriptError."""
        packed = wire.pack_words(words)
        (reply,) = await self._with_connection(lambda c: _exchange(c, [packed]))
        if isinstance(reply, Exception):
            raise wire.translate(self.name, reply)
        return reply

    async def _with_connection(self, talk: Callable[[Any], Awaitable[list[Any]]]) -> list[Any]:
        try:
            connection: Any = await self._pool.get_connection()
        except _ERRORS as error:
            raise wire.translate(self.name, error) from error
        try:
            replies = await talk(connection)
            if any(wire.is_misplaced(reply) for reply in replies):
                await connection.disconnect()
        except _ERRORS as error:
            await connection.disconnect()
            raise wire.translate(self.name, error) from error
        except BaseException:
            await connection.disconnect()  # cancelled: replies are on the way, never hand them on
            raise
        finally:
            await self._pool.release(connection)
        return replies

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.disconnect()


async def _exchange(connection: Any, packed: Sequence[bytes]) -> list[Any]:
    await connection.send_packed_command(b"".join(packed))
    replies = []
    for _ in packed:
        try:
            replies.append(await connection.read_response())
        except redis.ResponseError as error:
            replies.append(error)
    return replies
