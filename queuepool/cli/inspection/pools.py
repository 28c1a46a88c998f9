"""The pool of a command, with its partition count checked against the keyspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError


@contextmanager
def open_pool() -> Iterator[QueuePool]:
    """Yield a pool from the environment. Raises ConfigurationError if its count is wrong."""
    with QueuePool.from_env() as pool:
        verify(pool)
        yield pool


def verify(pool: QueuePool) -> None:
    """Raise ConfigurationError if the keyspace has a different number of partitions.

    If a server is down, the command's next call reports it.
    """
    try:
        pool.route.read()
    except ConfigurationError:
        raise
    except QueuePoolError:
        pass
