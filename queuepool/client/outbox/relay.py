"""Moves the rows of an outbox to partitions; see queuepool.client.outbox for the invariants."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import groupby
from typing import TYPE_CHECKING

from queuepool.client.outbox.databases import Cursor, Database, identity
from queuepool.client.outbox.rows import Delivery, Row, decode, deliveries
from queuepool.client.outbox.schema import TABLE, checked
from queuepool.errors import (
    ConfigurationError,
    InvalidInputError,
    MovedError,
    UnavailableError,
)
from queuepool.partitions.route import Leave
from queuepool.verbs.producer.relay import relay, relayed
from queuepool.verbs.producer.verbs import Full

if TYPE_CHECKING:
    from queuepool.client.chunks import Chunk
    from queuepool.client.pool import QueuePool

_log = logging.getLogger("queuepool.relay")
_ROWS = 2_000  # of a look
_MOST_KEPT = 20_000  # rows that wait for their partitions; beyond it, others wait as well
_REFUSED = -1  # the delivery of a row that can never be enqueued


@dataclass(slots=True)
class Look:
    """What a look did. kept: rows that wait for their partitions; problems: why, by what.

    rerouted: whether the route has changed since rows got their numbers. again: whether rows got
    others, by which the next look moves them.
    """

    moved: int = 0
    kept: int = 0
    rerouted: bool = False
    again: bool = False
    problems: dict[str | bytes, str] = field(default_factory=dict)


class _Outcome(Enum):
    """What became of a delivery: it is there; it waits; its rows have new numbers."""

    SENT = auto()
    KEPT = auto()
    RENUMBERED = auto()


Numbered = list[tuple[int, int, int, Row]]  # delivery, its partition, id, row


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
        self._pool, self._database, self._table = pool, database, checked(table)
        self._now_ms = now_ms
        self._check_columns()
        self._name = identity(database, table)

    def _check_columns(self) -> None:
        try:
            with self._database.transaction() as execute:
                execute(f"SELECT place FROM {self._table} LIMIT 0", ())  # noqa: S608
        except UnavailableError as error:
            if "column" not in str(error):
                raise
            raise ConfigurationError(
                f"the table {self._table} is of an earlier version: stop all relays once no row "
                f"has a delivery above 0, and run ALTER TABLE {self._table} "
                "ADD COLUMN place integer"
            ) from error

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
        while page := self._numbered(after=last):
            last = page[-1][0]
            self._move(page, found)
        # After a change of the route, those that wait first get their new numbers: by the next look
        if found.kept < _MOST_KEPT and not found.rerouted:
            self._move(self._number(), found)
        return found

    def _move(self, rows: Numbered, found: Look) -> None:
        sent: list[int] = []
        try:
            for (number, place), group in groupby(rows, key=lambda row: row[:2]):
                delivery = [(row_id, row) for *_, row_id, row in group]
                try:
                    outcome = self._deliver(number, place, delivery, found)
                except InvalidInputError as error:
                    self._set_aside(number, delivery, error)
                    found.again |= len(delivery) > 1
                    continue
                if outcome is _Outcome.SENT:
                    sent.append(number)
                    found.moved += len(delivery)
                elif outcome is _Outcome.KEPT:
                    found.kept += len(delivery)
                else:
                    found.again = True
        finally:
            if sent:
                self._delete(sent)

    def waiting(self) -> tuple[int, int]:
        """Return how many rows wait, and how many can never be enqueued."""
        with self._database.transaction() as execute:
            [(waiting,)] = execute(
                f"SELECT count(*) FROM {self._table} "  # noqa: S608 - the name is checked
                "WHERE delivery IS NULL OR delivery > 0",
                (),
            )
            [(refused,)] = execute(
                f"SELECT count(*) FROM {self._table} WHERE delivery < 0",  # noqa: S608
                (),
            )
        return waiting, refused

    def _numbered(self, after: int) -> Numbered:
        """Return rows that have a number: another relay, or an earlier look, may have sent them."""
        with self._database.transaction() as execute:
            rows = execute(
                f"SELECT delivery, place, id, job FROM {self._table} "  # noqa: S608 - it is checked
                f"WHERE delivery > {int(after)} ORDER BY delivery, id LIMIT {_ROWS}",
                (),
            )
            if len(rows) == _ROWS:  # the last delivery may go on
                rows = [row for row in rows if row[0] != rows[-1][0]]
            readable = self._readable(execute, (row[2:] for row in rows))
        return [(n, at, i, readable[i]) for n, at, i, _ in rows if i in readable]

    def _number(self) -> Numbered:
        """Give the first rows their numbers, before anything is sent."""
        with self._database.transaction() as execute:
            rows = execute(
                f"SELECT id, job FROM {self._table} WHERE delivery IS NULL "  # noqa: S608
                f"ORDER BY id LIMIT {_ROWS}",
                (),
            )
            readable = self._readable(execute, rows)
            if not readable:
                return []
            found = self._deliveries(list(readable.items()))
            return self._assign(execute, found, readable)

    def _deliveries(self, rows: list[tuple[int, Row]]) -> list[Delivery]:
        return deliveries(rows, self._pool.config, self._now_ms())

    def _readable(self, execute: Cursor, rows: Iterable[tuple[int, object]]) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for row_id, job in rows:
            try:
                found[row_id] = decode(job)
            except InvalidInputError as error:
                self._refuse(execute, row_id, error)
        return found

    def _assign(self, execute: Cursor, found: Iterable[Delivery], rows: dict[int, Row]) -> Numbered:
        lock = "" if self._database.dialect == "sqlite" else " FOR UPDATE"
        [(last,)] = execute(f"SELECT last_delivery FROM {self._table}_state{lock}", ())  # noqa: S608
        numbered: Numbered = []
        for one in found:
            last = max(last + 1, self._now_ms())
            place = one.chunk.partition
            numbered += [(last, place, row_id, rows[row_id]) for row_id in one.ids]
            marks = ", ".join([self._database.mark] * len(one.ids))
            execute(
                f"UPDATE {self._table} SET delivery = {int(last)}, place = {int(place)} "  # noqa: S608
                f"WHERE id IN ({marks})",
                one.ids,
            )
        execute(f"UPDATE {self._table}_state SET last_delivery = {int(last)}", ())  # noqa: S608
        return numbered

    def _deliver(
        self, number: int, place: int, rows: list[tuple[int, Row]], found: Look
    ) -> _Outcome:
        """Enqueue a delivery, by its number or, if its slots have moved, by new ones.

        Raises InvalidInputError.
        """
        made = self._deliveries(rows)
        if any(one.chunk.partition != place for one in made):
            return self._reroute(number, place, rows, found)
        (one,) = made
        return _Outcome.SENT if self._send(number, one.chunk, found) else _Outcome.KEPT

    def _reroute(
        self, number: int, place: int, rows: list[tuple[int, Row]], found: Look
    ) -> _Outcome:
        """Ask the partition of a delivery whether it has it; if not, give its rows new numbers."""
        config = self._pool.config
        if place in config.topology.view.numbers:
            server = config.topology.server_of(place)
            key = config.of(rows[0][1].pool).keyspace.partition(place)
            verb = relayed(self._name, number)
            try:
                if server in found.problems:
                    return _Outcome.KEPT
                if verb.read(self._pool.servers[server].run(key, [verb])[0]):
                    return _Outcome.SENT
            except UnavailableError as error:
                found.problems[server] = str(error)[:300]
                return _Outcome.KEPT
        with self._database.transaction() as execute:
            self._assign(execute, self._deliveries(rows), dict(rows))
        return _Outcome.RENUMBERED

    def _send(self, number: int, chunk: Chunk, found: Look) -> bool:
        """Enqueue a delivery; returns whether it is there now. Raises InvalidInputError."""
        config = self._pool.config
        server = config.topology.server_of(chunk.partition)
        if found.problems.keys() & {chunk.place, server}:
            return False  # those behind it wait as well
        verb = relay(self._name, number, chunk.verb(config))
        try:
            self._pool.add_to(chunk.partition, chunk.pool, chunk.since)
            reply = verb.read(self._pool.servers[server].run(chunk.key, [verb])[0])
        except MovedError as error:
            with suppress(UnavailableError):
                self._pool.route.follow()
            found.problems[chunk.place], found.rerouted = str(error), True
            return False
        except UnavailableError as error:
            found.problems[server] = str(error)[:300]
            return False
        if isinstance(reply, Full):
            found.problems[chunk.place] = (
                f"partition {chunk.partition} is full: {reply.depth:,} jobs, "
                f"{reply.size_bytes:,} bytes"
            )
            return False
        return True

    def _set_aside(self, number: int, rows: list[tuple[int, Row]], error: Exception) -> None:
        """Try the rows of a delivery that was refused one by one; a single one never again."""
        with self._database.transaction() as execute:
            if len(rows) == 1:
                self._refuse(execute, rows[0][0], error)
                return
            alone = [one for row in rows for one in self._deliveries([row])]
            self._assign(execute, alone, dict(rows))
        _log.warning("delivery %d is refused; its rows are tried one by one: %s", number, error)

    def _refuse(self, execute: Cursor, row_id: int, error: Exception) -> None:
        execute(
            f"UPDATE {self._table} SET delivery = {_REFUSED} "  # noqa: S608
            f"WHERE id = {int(row_id)}",
            (),
        )
        _log.error("row %d of %s can never be enqueued: %s", row_id, self._table, error)

    def _delete(self, numbers: list[int]) -> None:
        marks = ", ".join([self._database.mark] * len(numbers))
        with self._database.transaction() as execute:
            execute(f"DELETE FROM {self._table} WHERE delivery IN ({marks})", numbers)  # noqa: S608
