"""One Redis or Valkey as the rest of the library sees it: something that runs verbs.

    Server        sync, safe to share between threads: a round trip borrows one connection
    AsyncServer   the same for asyncio
    ClusterServer, AsyncClusterServer    a Redis Cluster; finds the node of each partition
    queuepool.testing.MemoryServer       no server at all, for tests of users' handlers

`run` sends all verbs in one write and returns one reply each, in order. If the server lacks a
script (still, or after a restart), its verbs are sent again with the script, and run after the
others of the call: no verb may rely on an earlier one of the call, except a confirmation
(queuepool.verbs.producer.confirm), which is sent again after them on the same connection. Verbs of
one call on one base key share a connection. A reply is a value or a QueuePoolError; `Verb.read`
turns it into a typed value or raises. Nothing here repeats a write: a call that failed half-way may
have happened, and only its caller knows whether to send it again. (redis-py's default retry runs a
write twice when a server stalls; it is off.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from queuepool.verbs import Verb

Reply = Any

__all__ = ["AsyncPort", "Bell", "Memory", "Port", "Reply"]


class Memory(NamedTuple):
    """How full a server is. limit_bytes: its maxmemory; 0: none."""

    used_bytes: int
    limit_bytes: int


class Port(Protocol):
    """Runs verbs, one round trip per call. Implementations are safe to share between threads."""

    @property
    def name(self) -> str:
        """Return a name for people, without secrets."""

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key. Raises UnavailableError when the server did not answer."""

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        """Run verbs on several base keys in one round trip."""

    def stream(self, key: bytes, window: int) -> Stream:
        """Return a pipe that keeps up to `window` verbs in flight."""

    def doorbell(self, key: bytes) -> Bell:
        """Return the doorbell on which an idle owner of the partition sleeps."""

    def info(self) -> dict[str, Any]:
        """Return the server's INFO and relevant CONFIG, as far as permitted."""

    def memory(self, key: bytes) -> Memory:
        """Return how full the server that has a key is. Raises UnavailableError or ScriptError."""

    def close(self) -> None:
        """Close every connection; the port cannot be used afterwards."""


class Bell(Protocol):
    """Where the owner of a partition sleeps; `ring` is for any thread, the rest for one."""

    @property
    def lifeline(self) -> str:
        """Return which connection it has, "" for none, or if the server does not tell.

        One that was given up, and is still open, counts until there is another.
        """

    def settle(self) -> None:
        """Report that standbys know the lifeline: connections given up earlier are closed."""

    def ring(self) -> None:
        """Make the current or the next wait return."""

    def wait(self, timeout_s: float) -> bytes | None:
        """Sleep until a wake token, a ring, or the timeout; return the token if there is one."""

    def arm(self, verb: Verb[Any]) -> bool:
        """Make the server run a verb right after the next token, or within a second without one.

        At most one at a time. Returns False, without sending the verb, if that is impossible now.
        """

    def answer(self) -> Reply:
        """Return the armed verb's reply, once; None while it is pending.

        An UnavailableError: it may or may not have happened.
        """

    def disarm(self) -> None:
        """Stop waiting for the armed verb: its answer becomes an UnavailableError."""

    def close(self) -> None:
        """Release everything. Idempotent; ring stays legal."""


class Stream(Protocol):
    """Verbs sent ahead of their replies. Used by one thread; a failure closes it.

    So does an interruption during push or pull, so that no reply is mistaken for another's.
    """

    def push(self, verb: Verb[Any]) -> None:
        """Send a verb without waiting for its reply."""

    def pull(self) -> Reply:
        """Return the reply of the oldest verb in flight."""

    def hurry(self, timeout_s: float) -> None:
        """From now on wait at most this long for a reply; closing drops the connection."""

    def close(self) -> None:
        """Return the connection, or drop it if replies are outstanding."""


class AsyncPort(Protocol):
    """The asyncio twin of Port, with what applications need."""

    @property
    def name(self) -> str:
        """Return a name for people, without secrets."""

    async def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key. Raises UnavailableError when the server did not answer."""

    def forget(self) -> None:
        """Give up what belongs to an event loop that is closed; the next call is in another."""

    async def close(self) -> None:
        """Close every connection."""
