"""The pool of a command, with its partition count checked against the keyspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queuepool.cli.display.output import clean
from queuepool.cli.exits import CommandError, Exit
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError
from queuepool.errors.escaping import shown
from queuepool.models import Leader
from queuepool.models.places import DEFAULT_POOL
from queuepool.verbs.leader import verbs as lead


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


def has_leader(queue: QueuePool) -> bool:
    """Return whether a coordinator leads."""
    return leader_of(queue).lease_ms > 0


def leader_of(queue: QueuePool, pool: str = DEFAULT_POOL) -> Leader:
    """Return who leads the scaling of a pool of workers, as its server says."""
    server, key = queue.system_of(pool)
    verb = lead.who_leads()
    return verb.read(server.run(key, [verb])[0])


def none_reached(what: str, pool: str = DEFAULT_POOL) -> CommandError:
    """Return the error of a command that only a coordinator answers: where the leader is.

    what: what needs one, and why. Raises UnavailableError if the server does not answer either.
    """
    with open_pool() as queue:
        leader = leader_of(queue, pool)
    hint = "one with --grpc HOST:PORT or QUEUEPOOL_GRPC, or start one (`queuepool coordinator`)"
    if leader.lease_ms > 0 and leader.address:
        hint = f"the leader with --grpc {clean(leader.address)}"
    return CommandError(f"{what}, and none was reached: name {hint}", Exit.UNAVAILABLE)


def check_known(queue: QueuePool, pool: str) -> None:
    """Raise CommandError if there is no such pool of workers."""
    if pool not in {place.pool for place in queue.places()}:
        raise CommandError(
            f"pool {shown(pool)} is unknown: no consumer runs it, and no job was enqueued for it",
            Exit.USAGE,
        )
