"""What the route record says, and whether it contradicts us. Pure: what to ask, what replies mean.

    unverified --the record says the same--> verified, for as long as the process lives
        |  ^
        |  +-- unreadable, or absent and not ours to create: asked again, after a pause
        +--the record, or data beyond our partitions, contradicts--> refused, asked again

An unreadable record refuses nothing: its server may be down while that of a partition is up.

The variables decide only about the first version of a record. One that was changed since is
followed, whatever they say: nobody can restart all processes at once with new ones.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from queuepool.errors import (
    ConfigurationError,
    QueuePoolError,
    SealedError,
    UnavailableError,
)
from queuepool.models import RouteRecord
from queuepool.routing.slots import SLOTS
from queuepool.routing.topology import MAX_PARTITIONS
from queuepool.routing.views import MOD, OPEN, SEALED, TABLE
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.producer import route

_BEYOND = 32  # partitions beyond ours that are checked when a keyspace has no record
_PAUSE_S, _ABSENT_PAUSE_S, _LONG_PAUSE_S = 1.0, 5.0, 30.0

Call = tuple[str, bytes, Verb[Any]]  # server, base key, verb
Asking = Generator[list[Call], Sequence[Any], RouteRecord | None]


class Leave(StrEnum):
    """What a process may do about a missing record."""

    LOOK = "look"  # nothing; refuse if partitions beyond ours are in use
    RECORD = "record"  # create it, unless partitions beyond ours are in use
    RESTORE = "restore"  # create it: this process has read it before


def asking(config: PoolConfig, leave: Leave) -> Asking:
    """Yield calls, one round trip after another, receive their replies; return the record.

    None: there is none. Raises ConfigurationError if it contradicts the config, and another
    QueuePoolError when it cannot be read.
    """
    count, key = config.topology.partitions, config.keyspace.system()
    verb = route.look()
    (reply,) = yield [(config.topology.system, key, verb)]
    found = verb.read(reply)
    if found is None and leave is not Leave.RESTORE:
        beyond, elsewhere = _beyond(config), _elsewhere(config)
        replies = yield [*(call for _, call in beyond), *elsewhere]
        for (name, _, look), reply in zip(elsewhere, replies[len(beyond) :], strict=True):
            if look.read(reply) is not None:
                raise ConfigurationError(_misplaced(config, name))
        for (number, call), reply in zip(beyond, replies[: len(beyond)], strict=True):
            jobs, lease_ms = call[2].read(reply)
            if jobs or lease_ms:
                raise ConfigurationError(_used(config, number, jobs))
    if found is None and leave is not Leave.LOOK:
        known = config.topology.view.record
        verb = _first(config, count) if known is None else route.restore(known)
        (reply,) = yield [(config.topology.system, key, verb)]
        found = verb.read(reply)
    if found is not None and (problem := _unflagged(config, found)):
        raise SealedError(problem)
    if found is not None and (problem := contradiction(config, found)):
        raise ConfigurationError(problem)
    if found is not None:
        config.topology.follow(found)
    return found


def _first(config: PoolConfig, count: int) -> Verb[RouteRecord | None]:
    if config.topology.partitioned:
        return route.record(count, MOD)
    return route.record(count, MOD, OPEN, f"0-{SLOTS - 1}")


def _unflagged(config: PoolConfig, record: RouteRecord) -> str:
    """Return why a process without partitions may not go on; empty if it may."""
    if config.topology.partitioned or record.migration == OPEN:
        return ""
    remedy = (
        "Nothing was done. Set QUEUEPOOL_PARTITIONED=true here, or remove it, and start this "
        "process again"
    )
    if record.migration == SEALED:
        return (
            f"{_named(config)} was moved to partitions, and its legacy place is sealed; this "
            f"process has QUEUEPOOL_PARTITIONED=false. {remedy}"
        )
    return (
        f"{_named(config)} has partitions; QUEUEPOOL_PARTITIONED=false would store jobs where no "
        f"consumer reads. {remedy}, or use another QUEUEPOOL_STAGE or QUEUEPOOL_QUEUE"
    )


def contradiction(config: PoolConfig, record: RouteRecord) -> str:
    """Return how a record and a config disagree, with the remedy; empty if they agree."""
    count = config.topology.partitions
    if record.layout not in (MOD, TABLE):
        return (
            f"{_named(config)} maps keys to partitions by {record.layout!r}, but this version "
            f"of queuepool supports only {MOD!r} and {TABLE!r}. Nothing was done: upgrade "
            "queuepool here"
        )
    if record.version > 1 or record.partitions == count:
        return ""
    return (
        f"{count} partitions are configured here (QUEUEPOOL_PARTITIONS), but {_named(config)} "
        f"has {record.partitions}: jobs would be stored in, and read from, the wrong ones. "
        f"Nothing was done. Set QUEUEPOOL_PARTITIONS={record.partitions}, or use another "
        "QUEUEPOOL_STAGE or QUEUEPOOL_QUEUE"
    )


def _used(config: PoolConfig, number: int, jobs: int) -> str:
    holds = f"holds {jobs:,} jobs" if jobs else "has a live consumer"
    return (
        f"{config.topology.partitions} partitions are configured here (QUEUEPOOL_PARTITIONS), "
        f"but partition {number} of {_named(config)} {holds}, so it has {number + 1} or more. "
        "Nothing was done. Set QUEUEPOOL_PARTITIONS to the count used by the others, or stop "
        "those consumers and drain that partition first"
    )


def _misplaced(config: PoolConfig, server: str) -> str:
    return (
        f"partition 0 is placed on server {config.topology.system!r} here (QUEUEPOOL_PLACEMENT), "
        f"but the route record of {_named(config)} is on {server!r}, where partition 0 was at "
        f"first: jobs would be stored where nobody looks. Nothing was done. Set 0={server} in "
        "QUEUEPOOL_PLACEMENT; wherever the partition went since, the record says so"
    )


def _named(config: PoolConfig) -> str:
    space = config.keyspace
    return f"the keyspace of stage {space.stage}, queue {space.queue}"


def _elsewhere(config: PoolConfig) -> list[Call]:
    # Partition 0 may have moved to where it is placed here; the record stayed behind.
    system, key = config.topology.system, config.keyspace.system()
    return [(name, key, route.look()) for name in config.topology.servers if name != system]


def _beyond(config: PoolConfig) -> list[tuple[int, Call]]:
    # A partition that is not placed may be on any of the servers.
    count = config.topology.partitions
    numbers = range(count, min(count + _BEYOND, MAX_PARTITIONS))
    return [
        (number, (name, config.keyspace.partition(number), route.peek()))
        for number in numbers
        for name in config.topology.servers
    ]


@dataclass(slots=True)
class Verification:
    """What one process knows about the record. Not locked: at worst it asks once too often."""

    verified: bool = False
    refusal: ConfigurationError | None = None
    again_s: float = 0.0
    answered: bool = True  # by the last attempt, or before the first

    def due(self, now_s: float) -> bool:
        """Return whether to ask for the record now."""
        return not self.verified and now_s >= self.again_s

    def conclude(self, outcome: RouteRecord | QueuePoolError | None, now_s: float) -> None:
        """Apply the outcome of an attempt."""
        self.answered = not isinstance(outcome, UnavailableError)
        self.again_s = now_s + _PAUSE_S
        if isinstance(outcome, RouteRecord):
            self.verified, self.refusal = True, None
        elif isinstance(outcome, ConfigurationError):
            self.refusal = outcome
        elif isinstance(outcome, QueuePoolError) and self.answered:
            self.again_s = now_s + _LONG_PAUSE_S
        elif outcome is None:
            self.again_s, self.refusal = now_s + _ABSENT_PAUSE_S, None
