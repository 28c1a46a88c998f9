"""A server for threads. See the package's docstring."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any

import redis

from queuepool.servers import Reply, wire
from queuepool.servers.doorbell import Doorbell
from queuepool.verbs import Verb

_ERRORS = (redis.RedisError, OSError)
_WARM_S = 1.0


class Server:
    """One Redis or Valkey. Connects at the first call; safe to share between threads."""

    def __init__(self, url: str, *, timeout_s: float = 5.0, max_connections: int = 64) -> None:
        self._url, _ = wire.check_url(url)
        self.name = wire.display_name(self._url)
        self._timeout_s = timeout_s
        options = wire.client_options(timeout_s) | {"max_connections": max_connections}
        self._pool = wire.make_pool(redis.ConnectionPool, self._url, options)
        self._warm: deque[tuple[Any, float]] = deque()
        self.loaded: set[str] = set()  # scripts that a stream has sent; a hint, no more
        self._pid, self._closed = os.getpid(), False

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key in one round trip."""
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        """Run verbs on several base keys in one round trip; one reply each, in order."""
        if not calls:
            return []
        connection = self.borrow()
        try:
            replies = _exchange(connection, [wire.pack(key, verb) for key, verb in calls])
            if not any(isinstance(reply, Exception) for reply in replies):
                return replies
            places, loads, again = wire.repetition(calls, replies)
            if places:
                repeated = _exchange(connection, loads + again)[len(loads) :]
                for i, reply in zip(places, repeated, strict=True):
                    replies[i] = reply
            if any(wire.is_misplaced(reply) for reply in replies):
                connection.disconnect()  # a demoted primary: find the new one by connecting anew
        except _ERRORS as error:
            connection.disconnect()
            raise wire.translate(self.name, error) from error
        except BaseException:
            connection.disconnect()  # replies are still on the way: never hand them to another
            raise
        finally:
            self.give_back(connection)
        return [wire.translate(self.name, r) if isinstance(r, Exception) else r for r in replies]

    def ask(self, *words: bytes | str) -> Any:
        """Return the reply to a command that only reads. Raises UnavailableError or ScriptError."""
        connection = self.borrow()
        try:
            (reply,) = _exchange(connection, [wire.pack_words(words)])
        except BaseException as error:
            connection.disconnect()
            if isinstance(error, _ERRORS):
                raise wire.translate(self.name, error) from error
            raise
        finally:
            self.give_back(connection)
        if isinstance(reply, Exception):
            raise wire.translate(self.name, reply)
        return reply

    def borrow(self) -> Any:
        """Return a connection for one thread. Raises UnavailableError when none can be made."""
        # The newest connection first, without the pool's own checks: used a moment ago, it works.
        if self._pid != os.getpid():  # forked: the parent reads from the warm ones
            self._warm, self._pid = deque(), os.getpid()
        try:
            connection, used_s = self._warm.pop()
            if monotonic() - used_s < _WARM_S:
                return connection
            self._pool.release(connection)
        except IndexError:
            pass
        try:
            return self._pool.get_connection()  # this one is tested before it is handed out
        except _ERRORS as error:
            raise wire.translate(self.name, error) from error

    def give_back(self, connection: Any) -> None:
        """Take back a borrowed connection, in order or disconnected."""
        if self._closed:
            connection.disconnect()
            self._pool.release(connection)
        else:
            self._warm.append((connection, monotonic()))

    def stream(self, key: bytes, window: int) -> SyncStream:
        """Return a pipe that keeps up to `window` verbs on the way."""
        return SyncStream(self, key, window)

    def doorbell(self, key: bytes) -> Doorbell:
        """Return what an idle owner of this partition sleeps on."""
        return Doorbell(self._pool, key, self._timeout_s)

    def info(self) -> dict[str, Any]:
        """Return INFO, and the CONFIG that matters under config_*, as far as it may be read."""
        with redis.Redis(connection_pool=self._pool) as client:
            try:
                known: dict[str, Any] = dict(client.info())
                try:
                    for pattern in ("maxmemory*", "appendonly", "appendfsync", "save"):
                        found = client.config_get(pattern)
                        known.update({f"config_{k}": v for k, v in _text(found).items()})
                except redis.ResponseError:
                    known["config_denied"] = True
            except _ERRORS as error:
                raise wire.translate(self.name, error) from error
        return known

    def close(self) -> None:
        """Close every connection; what is under way fails. Idempotent."""
        self._closed = True
        self._warm.clear()
        self._pool.disconnect()


def _text(found: dict[Any, Any]) -> dict[str, str]:
    def plain(x: Any) -> str:
        return x.decode() if isinstance(x, bytes) else str(x)

    return {plain(k): plain(v) for k, v in found.items()}


def _exchange(connection: Any, packed: Sequence[bytes]) -> list[Any]:
    connection.send_packed_command([b"".join(packed)])
    replies = []
    for _ in packed:
        try:
            replies.append(connection.read_response())
        except redis.ResponseError as error:  # this call was refused; the connection is in order
            replies.append(error)
    return replies


class SyncStream:
    """Verbs sent ahead of their replies, on one borrowed connection. For one thread."""

    def __init__(self, server: Server, key: bytes, window: int) -> None:
        self._server, self._key = server, key
        self._pending: deque[tuple[Verb[Any], bool]] = deque(maxlen=window)  # (verb, loads it)
        self._answers: deque[Any] = deque(maxlen=window)  # of the oldest pending ones
        self._misplaced = False
        self._connection: Any = server.borrow()

    def push(self, verb: Verb[Any]) -> None:
        """Send a verb without waiting for its reply. Raises UnavailableError; then it is closed."""
        packed = wire.pack(self._key, verb)
        # The first one loads the script: a verb that the server does not know would be overtaken
        # by those behind it, once somebody else has loaded the script.
        loads = verb.script != "" and verb.script not in self._server.loaded
        if loads:
            self._server.loaded.add(verb.script)
            packed = wire.pack_load(verb) + packed
        try:
            self._connection.send_packed_command([packed])
        except _ERRORS as error:
            self._drop()
            raise wire.translate(self._server.name, error) from error
        self._pending.append((verb, loads))

    def pull(self) -> Reply:
        """Return the reply of the oldest verb. Raises UnavailableError; then it is closed.

        When the server forgot the script, that verb and those behind it are sent again, in order.
        """
        try:
            if not self._answers:
                self._answers.append(self._next())
                if wire.is_unknown_script(self._answers[0]):
                    self._load_and_repeat()
        except _ERRORS as error:
            self._drop()
            raise wire.translate(self._server.name, error) from error
        self._pending.popleft()
        reply = self._answers.popleft()
        if isinstance(reply, Exception):
            self._misplaced = self._misplaced or wire.is_misplaced(reply)
            return wire.translate(self._server.name, reply)
        return reply

    def _next(self, place: int = 0) -> Any:
        if self._pending[place][1]:
            self._read()  # of the script's own loading
        return self._read()

    def _load_and_repeat(self) -> None:
        # Read everything on the way first: what would be sent now must not overtake it.
        calls = [(self._key, verb) for verb, _loads in self._pending]
        self._answers.extend(self._next(place) for place in range(1, len(calls)))
        places, loads, again = wire.repetition(calls, self._answers)
        replies = _exchange(self._connection, loads + again)[len(loads) :]
        for i, reply in zip(places, replies, strict=True):
            self._answers[i] = reply

    def close(self) -> None:
        """Give the connection back; drop it when replies are outstanding. Idempotent."""
        if len(self._pending) > len(self._answers) or self._misplaced:
            self._drop()
        elif self._connection is not None:
            self._server.give_back(self._connection)
            self._connection = None

    def _read(self) -> Any:
        try:
            return self._connection.read_response()
        except redis.ResponseError as error:  # this call was refused; the connection is in order
            return error

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()
            self._server.give_back(connection)
