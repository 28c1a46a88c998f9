"""A server for threads. See the package's docstring."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any

import redis

from queuepool.errors import ScriptError, UnavailableError
from queuepool.servers import Memory, Reply, wire
from queuepool.servers.connections import Connections, Link
from queuepool.servers.doorbell import Doorbell
from queuepool.verbs import Verb, fields

_ERRORS = (redis.RedisError, OSError)


class Server:
    """One Redis or Valkey. Connects at the first call; safe to share between threads."""

    def __init__(self, url: str, *, timeout_s: float = 5.0, max_connections: int = 64) -> None:
        self._url, _ = wire.check_url(url)
        self.name = wire.display_name(self._url)
        self._timeout_s = timeout_s
        # Only for the URL's options; its bookkeeping of connections is not safe for interrupted
        # threads (see connections).
        self._pool = wire.make_pool(redis.ConnectionPool, self._url, wire.client_options(timeout_s))
        self.connections = Connections(self._connection, max_connections)

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key in one round trip."""
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        """Run verbs on several base keys in one round trip; one reply each, in order."""
        if not calls:
            return []
        hand: list[Link] = []  # its content is dropped if this ends early
        try:
            hand.append(self.connections.borrow())
            replies = exchange(hand[0], [wire.pack(key, verb) for key, verb in calls])
            if all_granted(replies):
                self.connections.give_back(hand.pop())
                return replies
            places, loads, again = wire.repetition(calls, replies)
            if places:
                repeated = wire.repeated(loads, exchange(hand[0], loads + again))
                for i, reply in zip(places, repeated, strict=True):
                    replies[i] = reply
            if any(map(wire.is_misplaced, replies)):
                hand[0].drop()  # a demoted primary: reconnect to find the new one
            else:
                self.connections.give_back(hand.pop())
        except _ERRORS as error:
            drop_all(hand)
            raise wire.translate(self.name, error) from error
        except BaseException:
            drop_all(hand)  # replies are outstanding: never pass the link on
            raise
        return [wire.translate(self.name, r) if isinstance(r, Exception) else r for r in replies]

    def ask(self, *words: bytes | str) -> Any:
        """Return the reply to a read-only command. Raises UnavailableError or ScriptError."""
        hand: list[Link] = []
        try:
            hand.append(self.connections.borrow())
            (reply,) = exchange(hand[0], [wire.pack_words(words)])
            self.connections.give_back(hand.pop())
        except _ERRORS as error:
            drop_all(hand)
            raise wire.translate(self.name, error) from error
        except BaseException:
            drop_all(hand)
            raise
        if isinstance(reply, Exception):
            raise wire.translate(self.name, reply)
        return reply

    def borrow(self) -> Link:
        """Return a connection for one thread. Raises UnavailableError if there is none."""
        try:
            return self.connections.borrow()
        except _ERRORS as error:
            raise wire.translate(self.name, error) from error

    def stream(self, key: bytes, window: int) -> SyncStream:
        """Return a pipe that keeps up to `window` verbs in flight."""
        return SyncStream(self, key, window)

    def doorbell(self, key: bytes) -> Doorbell:
        """Return the doorbell on which an idle owner of this partition sleeps."""
        try:
            return Doorbell(self.connections, key, self._timeout_s)
        except OSError as error:  # it needs two extra descriptors
            raise wire.translate(self.name, error) from error

    def info(self) -> dict[str, Any]:
        """Return INFO, and relevant CONFIG under config_*, as far as permitted."""
        lines = (line.partition(":") for line in self.ask("INFO").decode().splitlines())
        known: dict[str, Any] = {name: value for name, colon, value in lines if colon}
        try:
            for pattern in ("maxmemory*", "appendonly", "appendfsync", "save"):
                found = fields(self.ask("CONFIG", "GET", pattern))
                known |= {f"config_{k}": v.decode() for k, v in found.items()}
        except ScriptError:
            known["config_denied"] = True
        return known

    def memory(self, key: bytes) -> Memory:  # noqa: ARG002
        """Return how full it is, whatever the key."""
        lines = self.ask("INFO", "memory").decode().splitlines()
        known = dict(line.split(":", 1) for line in lines if ":" in line)
        return Memory(int(known["used_memory"]), int(known["maxmemory"]))

    def close(self) -> None:
        """Close every connection; calls in progress fail. Idempotent."""
        self.connections.close()

    def _connection(self) -> Any:
        return self._pool.connection_class(**self._pool.connection_kwargs)


def drop_all(hand: list[Link]) -> None:
    """Close connections that are in use."""
    for link in hand:
        link.drop()


def all_granted(replies: Sequence[Any]) -> bool:
    """Return whether the server refused none of these calls.

    A function of its own: Python 3.14 has steps in `any(... for ...)` that no `try` covers.
    """
    return not any(isinstance(reply, Exception) for reply in replies)


def exchange(link: Link, packed: Sequence[bytes]) -> list[Any]:
    """Send commands in one write; return one reply each, with refusals in their places."""
    link.send(b"".join(packed))
    replies = [link.read() for _ in packed]
    link.used_s = monotonic()
    return replies


class SyncStream:
    """Verbs sent ahead of their replies, on one borrowed connection. For one thread.

    Each step takes the connection out and puts it back when complete: after an interruption it is
    gone, and nothing more is read from it or sent on it.
    """

    def __init__(self, server: Server, key: bytes, window: int) -> None:
        self._server, self._key = server, key
        self._pending: deque[tuple[Verb[Any], bool]] = deque(maxlen=window)  # (verb, loads it)
        self._answers: deque[Any] = deque(maxlen=window)  # of the oldest pending ones
        self._misplaced = self._hurried = False
        self._link: Link | None = server.borrow()

    def push(self, verb: Verb[Any]) -> None:
        """Send a verb without waiting for its reply. Raises UnavailableError; then it is closed."""
        packed = wire.pack(self._key, verb)
        link = self._take()
        # The first one of a connection loads the script: otherwise verbs sent after it overtake it
        # if another connection loads the script between the two.
        loads = verb.script != "" and verb.script not in link.loaded
        try:
            if loads:
                link.loaded.add(verb.script)
                packed = wire.pack_load(verb) + packed
            link.send(packed)
            self._pending.append((verb, loads))
        except BaseException as error:
            self._drop(link, error)
            raise
        self._link = link

    def pull(self) -> Reply:
        """Return the reply of the oldest verb. Raises UnavailableError; then it is closed.

        If the server lost the script, that verb and those after it are sent again, in order.
        """
        link = self._take()
        try:
            if not self._answers:
                self._answers.append(self._next(link))
                if wire.is_unknown_script(self._answers[0]):
                    self._load_and_repeat(link)
            self._pending.popleft()
            reply = self._answers.popleft()
            link.used_s = monotonic()
        except BaseException as error:
            self._drop(link, error)
            raise
        self._link = link
        if isinstance(reply, Exception):
            self._misplaced = self._misplaced or wire.is_misplaced(reply)
            return wire.translate(self._server.name, reply)
        return reply

    def hurry(self, timeout_s: float) -> None:
        """From now on wait at most this long for a reply; the connection is not reused."""
        self._hurried = True
        if self._link is not None:
            self._link.hurry(timeout_s)

    def close(self) -> None:
        """Return the connection, or drop it if replies are outstanding. Idempotent."""
        link, self._link = self._link, None
        if link is None:
            return
        if len(self._pending) > len(self._answers) or self._misplaced or self._hurried:
            link.drop()
        else:
            self._server.connections.give_back(link)

    def _drop(self, link: Any, error: BaseException) -> None:
        link.drop()
        if isinstance(error, _ERRORS):
            raise wire.translate(self._server.name, error) from error

    def _take(self) -> Link:
        link, self._link = self._link, None
        if link is None:
            raise UnavailableError(
                f"{self._server.name}: the connection was closed while calls were in progress; "
                "they may or may not have been executed"
            )
        return link

    def _next(self, link: Link, place: int = 0) -> Any:
        if self._pending[place][1]:
            link.read()  # the reply to loading the script
        return link.read()

    def _load_and_repeat(self, link: Link) -> None:
        # First read everything in flight, so that what is sent now does not overtake it.
        calls = [(self._key, verb) for verb, _loads in self._pending]
        self._answers.extend(self._next(link, place) for place in range(1, len(calls)))
        places, loads, again = wire.repetition(calls, self._answers)
        replies = wire.repeated(loads, exchange(link, loads + again))
        for i, reply in zip(places, replies, strict=True):
            self._answers[i] = reply
