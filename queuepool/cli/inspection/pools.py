"""The pool of a command: one whose partition count is that of the keyspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError


@contextmanager
def open_pool() -> Iterator[QueuePool]:
    """Yield a pool from the environment. Raises ConfigurationError when its count is refused."""
    with QueuePool.from_env() as pool:
        verify(pool)
        yield pool


def verify(pool: QueuePool) -> None:
    """Raise ConfigurationError when the keyspace has another number of partitions.

    A server that is down says so itself to what the command does next.
    """
    try:
        pool.route.read()
    except ConfigurationError:
        raise
    except QueuePoolError:
        pass
