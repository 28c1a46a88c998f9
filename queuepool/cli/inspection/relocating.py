"""Whether partitions can move to another server: what is checked before anything is written.

Each partition that goes needs a place on the target: a server of our settings that answers, can run
the scripts, has room, is not where the partition is already, and has no jobs and no consumer under
the partition's keys. Keys without jobs, of an earlier move or an abort, do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import Event
from time import monotonic

from queuepool.cli.exits import CommandError, Exit
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, ScriptError
from queuepool.models.doctor import ServerFigures
from queuepool.partitions.partition import Partition
from queuepool.partitions.sameness import why_same
from queuepool.routing.progress import Facts
from queuepool.servers import Port
from queuepool.verbs.operator import checkups
from queuepool.verbs.producer import confirm, route

LEFT_S = 10.0  # for an owner to notice that its partition has moved
_LOOK_S = 0.1
_OF_A_JOB = 300  # bytes, about, that a server needs besides what counts as a job's size
_NOTHING = "nothing was done"


def check(pool: QueuePool, facts: Facts, numbers: Sequence[int], server: str) -> None:
    """Raise CommandError, or UnavailableError, unless these partitions can move to a server."""
    _check_names(pool, facts, numbers, server)
    try:
        _check_target(pool, numbers, server)
    except ConfigurationError as error:
        raise unusable(server, error) from None


def unusable(server: str, error: ConfigurationError) -> CommandError:
    """Return what is said of a server that cannot run our scripts."""
    return CommandError(f"server {server!r} cannot be used, and {_NOTHING}: {error}")


def try_out(there: Partition) -> None:
    """Let the server of a place to be take a script.

    Raises ConfigurationError if it is too old, and UnavailableError.
    """
    with suppress(ScriptError):
        there.run(confirm.load("observe"))


def _check_names(pool: QueuePool, facts: Facts, numbers: Sequence[int], server: str) -> None:
    known, placement = pool.config.topology.servers, facts.view.placement
    if server not in known:
        raise CommandError(
            f"there is no server {server!r}: QUEUEPOOL_SERVERS names {', '.join(known)}. Add it "
            f"there, for this command and for each process of the queue; {_NOTHING}",
            Exit.USAGE,
        )
    for number in numbers:
        if number >= len(placement):
            raise CommandError(
                f"there is no partition {number}: use 0 to {len(placement) - 1}; {_NOTHING}",
                Exit.USAGE,
            )
        if placement[number] == server:
            raise CommandError(f"partition {number} is on server {server!r} already; {_NOTHING}")


def _check_target(pool: QueuePool, numbers: Sequence[int], server: str) -> None:
    port, needed = pool.servers[server], 0
    for number in numbers:
        there = Partition(number, pool.partition(number).key, port)
        try_out(there)
        if same := why_same(pool, number, server):
            raise CommandError(f"{same}; {_NOTHING}")
        jobs, lease_ms = _look(there)
        if jobs or lease_ms > 0:
            what = f"{jobs:,} jobs" if jobs else "a live consumer"
            raise CommandError(
                f"server {server!r} has {what} under the keys of partition {number} already: "
                "is it another queue's server? Use another one, or another QUEUEPOOL_STAGE there; "
                + _NOTHING
            )
        states = [place.observe() for place in pool.places(number)]
        needed += sum(state.bytes + _OF_A_JOB * state.jobs for state in states)
    told = _figures(port, pool.partition(numbers[0]).key, server)
    if told is not None and 0 < told.limit < told.used + needed:
        raise CommandError(
            f"server {server!r} has no room: it uses {told.used / 1e6:,.0f} MB of "
            f"{told.limit / 1e6:,.0f} MB (maxmemory), and about {needed / 1e6:,.0f} MB would be "
            f"added: raise its maxmemory, or let jobs end first; {_NOTHING}"
        )


def _look(there: Partition) -> tuple[int, int]:
    """Return the jobs of a place, and ms of its owner's lease.

    The owner that the partition had there before it moved away needs a moment to leave.
    """
    until, pause = monotonic() + LEFT_S, Event()
    while True:
        jobs, lease_ms = there.run(route.peek())
        if jobs or lease_ms <= 0 or monotonic() >= until:
            return jobs, lease_ms
        pause.wait(_LOOK_S)


def _figures(port: Port, key: bytes, name: str) -> ServerFigures | None:
    """Return what a server tells of itself; None: it does not allow that."""
    verb = checkups.figures(name)
    with suppress(ScriptError):
        return verb.read(port.run(key, [verb])[0])
    return None
