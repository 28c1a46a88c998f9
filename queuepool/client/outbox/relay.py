"""Moves the rows of an outbox to partitions; see queuepool.client.outbox for the invariants."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import groupby
from typing import TYPE_CHECKING

from queuepool.client.outbox.databases import Database, identity
from queuepool.client.outbox.numbers import Numbered, Numbers
from queuepool.client.outbox.rows import Row
from queuepool.client.outbox.schema import TABLE, checked
from queuepool.errors import InvalidInputError, MovedError, UnavailableError
from queuepool.models.places import partition_at
from queuepool.partitions.route import Leave
from queuepool.verbs.producer.relay import relay, relayed
from queuepool.verbs.producer.verbs import Full

if TYPE_CHECKING:
    from queuepool.client.chunks import Chunk
    from queuepool.client.pool import QueuePool

_log = logging.getLogger("queuepool.relay")
_MOST_KEPT = 20_000  # rows that wait for their partitions; beyond it, others wait as well


@dataclass(slots=True)
class Look:
    """What a look did. kept: rows that wait for their partitions; problems: why, by what.

    again: whether rows got other numbers, by which the next look may move them. closed: partitions
    and pools for which a delivery waits, so that all behind it do, also those for another server
    that the partition moves to: it takes along what it remembers of deliveries there. waiting: for
    which place rows of a pool and a slot wait.
    """

    moved: int = 0
    kept: int = 0
    again: bool = False
    problems: dict[str | bytes, str] = field(default_factory=dict)
    closed: set[tuple[int, str]] = field(default_factory=set)
    waiting: dict[tuple[str, int], int] = field(default_factory=dict)

    def keep(self, place: int, rows: list[tuple[int, Row]]) -> None:
        """Let a delivery wait, and all behind it."""
        self.kept += len(rows)
        for _, row in rows:
            self.closed.add((partition_at(place), row.pool))
            self.waiting[row.pool, row.slot] = place

    def is_closed(self, place: int, pool: str) -> bool:
        """Return whether a delivery waits for this place, or for another one of its partition."""
        return (partition_at(place), pool) in self.closed


class _Outcome(Enum):
    """What became of a delivery: it is there; it waits; it and those behind it have new numbers.

    REFUSED: its only row is never tried again.
    """

    SENT = auto()
    KEPT = auto()
    RENEWED = auto()
    REFUSED = auto()


class Relay:
    """The relay of one outbox. Used by one thread; only while it holds the lock.

    now_ms: since 1970; tells which delay of a row is left. It grows through restarts, so that
    deliveries have new numbers even if the database goes back to an earlier state. Raises
    UnavailableError if the database does not answer, ConfigurationError if the table is of an
    earlier version.
    """

    def __init__(
        self,
        pool: QueuePool,
        database: Database,
        table: str = TABLE,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._pool, self._database = pool, database
        self._numbers = Numbers(pool, database, checked(table), now_ms)
        self._numbers.check_columns()
        self._name = identity(database, table)

    def lock(self) -> bool:
        """Take the lock of this outbox; returns whether no other relay has it."""
        return self._database.lock(f"queuepool-relay-{self._name}")

    def look(self) -> Look:
        """Move the rows that are there, at most some thousands new ones.

        A partition that is full, or whose server does not answer, keeps its rows waiting, and no
        others. Raises UnavailableError if the database does not answer, ConfigurationError if the
        keyspace has another number of partitions.
        """
        self._pool.route.verify(Leave.RECORD)
        found, last = Look(), 0
        while page := self._numbers.page(after=last):
            last = self._move(page, found)
        if found.kept < _MOST_KEPT:
            self._move(self._numbers.give(found.waiting), found)
        return found

    def waiting(self) -> tuple[int, int]:
        """Return how many rows wait, and how many can never be enqueued."""
        return self._numbers.waiting()

    def _move(self, rows: Numbered, found: Look) -> int:
        """Enqueue deliveries; return the number of the last one that these rows are right about.

        Behind it, deliveries have new numbers, and are to be read again.
        """
        sent: list[int] = []
        number = 0
        try:
            for (number, place), group in groupby(rows, key=lambda row: row[:2]):
                delivery = [(row_id, row) for *_, row_id, row in group]
                outcome = self._deliver(number, place, delivery, found)
                if outcome is _Outcome.SENT:
                    sent.append(number)
                    found.moved += len(delivery)
                elif outcome is _Outcome.KEPT:
                    found.keep(place, delivery)
                elif outcome is _Outcome.RENEWED:
                    found.again = True
                    break
        finally:
            if sent:
                self._numbers.delete(sent)
        return number

    def _deliver(
        self, number: int, place: int, rows: list[tuple[int, Row]], found: Look
    ) -> _Outcome:
        """Enqueue a delivery, by its number or, if its slots have moved, by new ones.

        Not before one that waits for the same place: the partition takes a number for proof that
        it has all lower ones.
        """
        if found.is_closed(place, rows[0][1].pool):
            return _Outcome.KEPT
        try:
            made = self._numbers.deliveries(rows)
            if [one.chunk.partition for one in made] != [place]:
                return self._reroute(number, place, rows, found)
            return self._send(number, made[0].chunk, found)
        except InvalidInputError as error:
            return self._set_aside(number, place, rows, error)

    def _reroute(
        self, number: int, place: int, rows: list[tuple[int, Row]], found: Look
    ) -> _Outcome:
        """Ask the partition of a delivery whether it has it; if not, renew numbers from it on."""
        config, pool = self._pool.config, rows[0][1].pool
        if place in config.topology.view.numbers:
            server = config.topology.server_of(place)
            key = config.of(pool).keyspace.partition(place)
            verb = relayed(self._name, number)
            try:
                if server in found.problems:
                    return _Outcome.KEPT
                if verb.read(self._pool.servers[server].run(key, [verb])[0]):
                    return _Outcome.SENT
            except UnavailableError as error:
                found.problems[server] = str(error)[:300]
                return _Outcome.KEPT
        self._numbers.renew(number, place, pool)
        return _Outcome.RENEWED

    def _send(self, number: int, chunk: Chunk, found: Look) -> _Outcome:
        """Enqueue a delivery, unless it is there already. Raises InvalidInputError."""
        config = self._pool.config
        server = config.topology.server_of(chunk.partition)
        if server in found.problems:
            return _Outcome.KEPT
        verb = relay(self._name, number, chunk.verb(config))
        try:
            self._pool.add_to(chunk.partition, chunk.pool, chunk.since)
            reply = verb.read(self._pool.servers[server].run(chunk.key, [verb])[0])
        except MovedError as error:
            with suppress(UnavailableError):
                self._pool.route.follow()
            found.problems[chunk.place] = str(error)
            return _Outcome.KEPT
        except UnavailableError as error:
            found.problems[server] = str(error)[:300]
            return _Outcome.KEPT
        if isinstance(reply, Full):
            found.problems[chunk.place] = (
                f"partition {chunk.partition} is full: {reply.depth:,} jobs, "
                f"{reply.size_bytes:,} bytes"
            )
            return _Outcome.KEPT
        return _Outcome.SENT

    def _set_aside(
        self, number: int, place: int, rows: list[tuple[int, Row]], error: Exception
    ) -> _Outcome:
        """Try the rows of a delivery that was refused one by one; a single one never again."""
        if len(rows) == 1:
            self._numbers.refuse(rows[0][0], error)
            return _Outcome.REFUSED
        self._numbers.renew(number, place, rows[0][1].pool, alone=True)
        _log.warning("delivery %d is refused; its rows are tried one by one: %s", number, error)
        return _Outcome.RENEWED
