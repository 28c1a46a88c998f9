"""A primary and its replica, real servers, for tests of what survives the primary."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from queuepool.process.embedded import EmbeddedServer
from tests.waiting import wait_until

PROMPT = ("--repl-diskless-sync-delay", "0")  # of a primary: a replica is sent its copy at once


def replica_arguments(port: int) -> tuple[str, ...]:
    """Return what makes a server follow the one on a port, and be a prompt primary later."""
    return ("--replicaof", "127.0.0.1", str(port), *PROMPT)


def wait_until_replicating(primary: EmbeddedServer, key: bytes = b"replicating") -> None:
    """Return when a replica has what its primary was told just now, by a key that it may write.

    A primary counts a replica from its first word on, also while that waits for its copy. And
    looking at the link is not enough: Redis 7.0 sends nothing on it before the first ACK. Neither
    is one WAIT: while a primary has never had a replica, its offset is 0, which any replica has,
    also one that is still copying.
    """
    with redis.Redis.from_url(primary.url) as client:

        def followed() -> bool:
            client.delete(key)
            client.set(key, "1", px=10_000)
            return bool(client.execute_command("WAIT", 1, 500))

        for _ in range(2):
            wait_until(followed, 60.0, "a replica that follows its primary")
        client.delete(key)


@contextmanager
def frozen(server: EmbeddedServer) -> Iterator[None]:
    """Stop a server's process for the length of the block."""
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
