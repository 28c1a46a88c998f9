"""What the route record says, and whether it contradicts us. Pure: what to ask, what replies mean.

    unverified --the record says the same--> verified, for as long as the process lives
      |  ^  `-- the same, but a server in its `unheard` is silent --> doubtful, asked again
      |  +-- unreadable, or absent and not ours to create: asked again, after a pause
      +--the record, or data beyond our partitions, contradicts--> refused, asked again
    doubtful --that server answers--> verified or refused

An unreadable record refuses nothing: its server may be down while that of a partition is up. A
doubtful process works as a verified one does.

Before a record is made, all servers are asked for another one, and for data beyond our partitions.
One that holds nothing may be away for long, so only the system server has to answer; the record
names the others that did not (`unheard`).

Invariants
- There is one record on a system server: whoever is second reads what the first one wrote.
- Whoever reads a first version that names a server in `unheard` asks that server itself before it
  counts as verified. So neither a second record there, made by processes that place partition 0
  there, nor jobs that an older placement left there, are passed over in silence once it answers:
  all who start from then on, or are doubtful still, are refused.
- A wrong count is refused without waiting for a server that is away, if the record can be read.

The variables decide only about the first version of a record. One that was changed since is
followed, whatever they say: nobody can restart all processes at once with new ones.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
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
Asking = Generator[list[Call], Sequence[Any], "Answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an attempt found. record: None if there is none. silent: why servers did not answer."""

    record: RouteRecord | None
    silent: Mapping[str, QueuePoolError] = field(default_factory=dict)


class Leave(StrEnum):
    """What a process may do about a missing record."""

    LOOK = "look"  # nothing; refuse if partitions beyond ours are in use
    RECORD = "record"  # create it, unless partitions beyond ours are in use
    RESTORE = "restore"  # create it: this process has read it before


def asking(config: PoolConfig, leave: Leave) -> Asking:
    """Yield calls, one round trip after another, receive their replies; return the answer.

    A reply may be an error. Raises ConfigurationError if the record contradicts the config, and
    another QueuePoolError when it cannot be read, or made.
    """
    found = yield from _of_system(config, route.look(config.keyspace.system()))
    if found is not None:
        _accept(config, found)
        return Answer(found, (yield from _ask_others(config, _unheard(config, found), found)))
    silent: Mapping[str, QueuePoolError] = {}
    if leave is not Leave.RESTORE:
        silent = yield from _ask_others(config, tuple(config.topology.servers), None)
        if config.topology.system in silent:
            raise silent[config.topology.system]
    if leave is not Leave.LOOK:
        known = config.topology.view.record
        verb = _first(config, tuple(silent)) if known is None else route.restore(known)
        found = yield from _of_system(config, verb)
    if found is not None:
        _accept(config, found)
        silent = {name: silent[name] for name in _unheard(config, found) if name in silent}
    return Answer(found, silent)


def _of_system(
    config: PoolConfig, verb: Verb[RouteRecord | None]
) -> Generator[list[Call], Sequence[Any], RouteRecord | None]:
    (reply,) = yield [(config.topology.system, config.keyspace.system(), verb)]
    return verb.read(reply)


def _accept(config: PoolConfig, record: RouteRecord) -> None:
    """Route by a record from now on. Raises ConfigurationError if it contradicts the config."""
    if problem := _unflagged(config, record):
        raise SealedError(problem)
    if problem := contradiction(config, record):
        raise ConfigurationError(problem)
    config.topology.follow(record)


def _unheard(config: PoolConfig, record: RouteRecord) -> tuple[str, ...]:
    """Return the servers that did not answer when a record was made, as far as we have them."""
    if record.version > 1:  # followed, whatever else there is
        return ()
    names = record.unheard.split(",")
    return tuple(name for name in config.topology.servers if name in names)


def _ask_others(
    config: PoolConfig, names: Sequence[str], record: RouteRecord | None
) -> Generator[list[Call], Sequence[Any], Mapping[str, QueuePoolError]]:
    """Ask servers for another record, and for data beyond our partitions; return who is silent.

    record: ours, if there is one. Raises ConfigurationError for what contradicts.
    """
    silent: dict[str, QueuePoolError] = {}
    if not names:
        return silent
    calls = [call for name in names for call in _elsewhere(config, name)]
    calls += [call for name in names for call in _beyond(config, name)]
    replies = yield calls
    for (name, key, verb), reply in zip(calls, replies, strict=True):
        try:
            found = verb.read(reply)
        except ConfigurationError:
            raise
        except QueuePoolError as error:
            silent.setdefault(name, error)
            continue
        if isinstance(found, RouteRecord):
            raise ConfigurationError(_misplaced(config, name, record))
        if found is not None and any(found):
            raise ConfigurationError(_used(config, name, key, found[0], record))
    return silent


def _first(config: PoolConfig, silent: Sequence[str]) -> Verb[RouteRecord | None]:
    count, unheard = config.topology.partitions, ",".join(silent)
    if config.topology.partitioned:
        return route.record(count, MOD, unheard=unheard)
    return route.record(count, MOD, OPEN, f"0-{SLOTS - 1}", unheard=unheard)


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


def _used(
    config: PoolConfig, server: str, key: bytes, jobs: int, record: RouteRecord | None
) -> str:
    numbers = _numbers_beyond(config)
    number = next(n for n in numbers if config.keyspace.partition(n) == key)
    holds = f"holds {jobs:,} jobs" if jobs else "has a live consumer"
    if record is not None:
        return (
            f"partition {number} on server {server!r} {holds}, but {_named(config)} has "
            f"{record.partitions} partitions according to its route record, which was made while "
            f"{server!r} did not respond: nobody runs those jobs. Stop all processes of the queue; "
            "then delete the record, if it is wrong, and set the right QUEUEPOOL_PARTITIONS "
            "everywhere, or else delete that partition's keys"
        )
    return (
        f"{config.topology.partitions} partitions are configured here (QUEUEPOOL_PARTITIONS), "
        f"but partition {number} of {_named(config)} {holds}, so it has {number + 1} or more. "
        "Nothing was done. Set QUEUEPOOL_PARTITIONS to the count used by the others, or stop "
        "those consumers and drain that partition first"
    )


def _misplaced(config: PoolConfig, server: str, record: RouteRecord | None) -> str:
    system = config.topology.system
    if record is not None:
        return (
            f"{_named(config)} has two route records: one on server {system!r}, where partition 0 "
            f"is placed here (QUEUEPOOL_PLACEMENT), made while {server!r} did not respond, and one "
            f"on {server!r}: some processes store jobs where the others do not look. Decide on "
            "one, stop the processes that use the other one, let its jobs end, and delete it"
        )
    return (
        f"partition 0 is placed on server {system!r} here (QUEUEPOOL_PLACEMENT), "
        f"but the route record of {_named(config)} is on {server!r}, where partition 0 was at "
        f"first: jobs would be stored where nobody looks. Nothing was done. Set 0={server} in "
        "QUEUEPOOL_PLACEMENT; wherever the partition went since, the record says so"
    )


def _named(config: PoolConfig) -> str:
    space = config.keyspace
    return f"the keyspace of stage {space.stage}, queue {space.queue}"


def _elsewhere(config: PoolConfig, name: str) -> list[Call]:
    # Partition 0 may have moved to where it is placed here; the record stayed behind.
    key = config.keyspace.system()
    return [(name, key, route.look(key))] if name != config.topology.system else []


def _beyond(config: PoolConfig, name: str) -> list[Call]:
    # A partition that is not placed may be on any of the servers.
    place = config.keyspace.partition
    return [(name, place(number), route.peek()) for number in _numbers_beyond(config)]


def _numbers_beyond(config: PoolConfig) -> range:
    count = config.topology.partitions
    return range(count, min(count + _BEYOND, MAX_PARTITIONS))


@dataclass(slots=True)
class Verification:
    """What one process knows about the record. Not locked: at worst it asks once too often.

    doubtful: a record was read, but a server that its maker did not hear was silent again. read_s:
    when the latest reading began that was answered.
    """

    verified: bool = False
    doubtful: bool = False
    refusal: ConfigurationError | None = None
    again_s: float = 0.0
    answered: bool = True  # by all servers in the last attempt, or before the first
    read_s: float = -inf

    def due(self, now_s: float) -> bool:
        """Return whether to ask for the record now."""
        return not self.verified and now_s >= self.again_s

    def conclude(self, outcome: Answer | QueuePoolError, now_s: float) -> None:
        """Apply the outcome of an attempt."""
        self.again_s = now_s + _PAUSE_S
        if isinstance(outcome, Answer):
            self.answered, self.refusal = not outcome.silent, None
            self.verified = outcome.record is not None and self.answered
            self.doubtful = outcome.record is not None and not self.answered
            self.again_s = now_s + (_LONG_PAUSE_S if self.doubtful else _ABSENT_PAUSE_S)
            return
        self.answered = not isinstance(outcome, UnavailableError)
        if isinstance(outcome, ConfigurationError):
            self.refusal = outcome
        elif self.answered:
            self.again_s = now_s + _LONG_PAUSE_S
