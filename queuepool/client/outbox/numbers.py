"""Rows of an outbox and the numbers of their deliveries; see queuepool.client.outbox."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from queuepool.client.outbox.databases import Cursor, Database
from queuepool.client.outbox.rows import Delivery, Places, Row, decode, deliveries
from queuepool.errors import ConfigurationError, InvalidInputError, UnavailableError

if TYPE_CHECKING:
    from queuepool.client.pool import QueuePool

_log = logging.getLogger("queuepool.relay")
_ROWS = 2_000  # of a page
_REFUSED = -1  # the delivery of a row that can never be enqueued
Numbered: TypeAlias = list[tuple[int, int, int, Row]]  # delivery, its partition, id, row


class Numbers:
    """What the relay reads and writes in a table. Raises UnavailableError like its database."""

    def __init__(
        self, pool: QueuePool, database: Database, table: str, now_ms: Callable[[], int]
    ) -> None:
        self._pool, self._database, self._table = pool, database, table
        self._now_ms = now_ms

    def check_columns(self) -> None:
        """Raise ConfigurationError if the table is of an earlier version."""
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

    def page(self, after: int) -> Numbered:
        """Return the next rows that have a number; empty: there are no more."""
        with self._database.transaction() as execute:
            while rows := self._page(execute, after):
                readable = self._readable(execute, (row[2:] for row in rows))
                if readable:
                    return [(n, at, i, readable[i]) for n, at, i, _ in rows if i in readable]
                after = rows[-1][0]
        return []

    def give(self, waiting: Places) -> Numbered:
        """Give the first rows that have none their numbers, and return them.

        waiting: where rows of the same keys wait; these wait there as well, behind them.
        """
        with self._database.transaction() as execute:
            rows = execute(
                f"SELECT id, job FROM {self._table} WHERE delivery IS NULL "  # noqa: S608
                f"ORDER BY id LIMIT {_ROWS}",
                (),
            )
            readable = self._readable(execute, rows)
            if not readable:
                return []
            found = self.deliveries(list(readable.items()), waiting)
            return self._assign(execute, found, readable)

    def renew(self, first: int, place: int, pool: str, *, alone: bool = False) -> None:
        """Give a delivery that is not in, and all of its place and pool behind it, new numbers.

        All in one transaction, as rows of one key must never wait in two places. alone: each row
        of the first delivery gets a number of its own.
        """
        config, after = self._pool.config, first - 1
        view = config.topology.view  # the same for all rows of a key
        with self._database.transaction() as execute:
            last = self._last(execute)
            while rows := self._page(execute, after, last):
                after = rows[-1][0]
                readable = self._readable(execute, (row[2:] for row in rows if row[1] == place))
                single = {row[2] for row in rows if alone and row[0] == first}
                kept = [(i, row) for i, row in readable.items() if row.pool == pool]
                groups = [[one] for one in kept if one[0] in single]
                groups.append([one for one in kept if one[0] not in single])
                now_ms = self._now_ms()
                found = [one for each in groups for one in deliveries(each, config, view, now_ms)]
                self._assign(execute, found, readable)

    def deliveries(
        self, rows: list[tuple[int, Row]], waiting: Places | None = None
    ) -> list[Delivery]:
        """Return rows as deliveries of this moment, by the newest route."""
        config = self._pool.config
        return deliveries(rows, config, config.topology.view, self._now_ms(), waiting)

    def refuse(self, row_id: int, error: Exception) -> None:
        """Never try a row again."""
        with self._database.transaction() as execute:
            self._refuse(execute, row_id, error)

    def delete(self, numbers: list[int]) -> None:
        """Delete the rows of deliveries."""
        marks = ", ".join([self._database.mark] * len(numbers))
        with self._database.transaction() as execute:
            execute(f"DELETE FROM {self._table} WHERE delivery IN ({marks})", numbers)  # noqa: S608

    def _page(self, execute: Cursor, after: int, last: int | None = None) -> list[tuple[Any, ...]]:
        """Return whole deliveries. last: those with higher numbers are left out."""
        upto = "" if last is None else f"AND delivery <= {int(last)} "
        rows = execute(
            f"SELECT delivery, place, id, job FROM {self._table} "  # noqa: S608 - it is checked
            f"WHERE delivery > {int(after)} {upto}ORDER BY delivery, id LIMIT {_ROWS}",
            (),
        )
        if len(rows) == _ROWS:  # the last delivery may go on
            rows = [row for row in rows if row[0] != rows[-1][0]]
        return rows

    def _readable(self, execute: Cursor, rows: Iterable[tuple[int, object]]) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for row_id, job in rows:
            try:
                found[row_id] = decode(job)
            except InvalidInputError as error:
                self._refuse(execute, row_id, error)
        return found

    def _last(self, execute: Cursor) -> int:
        lock = "" if self._database.dialect == "sqlite" else " FOR UPDATE"
        [(last,)] = execute(f"SELECT last_delivery FROM {self._table}_state{lock}", ())  # noqa: S608
        return int(last)

    def _assign(self, execute: Cursor, found: Iterable[Delivery], rows: dict[int, Row]) -> Numbered:
        last = self._last(execute)
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

    def _refuse(self, execute: Cursor, row_id: int, error: Exception) -> None:
        execute(
            f"UPDATE {self._table} SET delivery = {_REFUSED} "  # noqa: S608
            f"WHERE id = {int(row_id)}",
            (),
        )
        _log.error("row %d of %s can never be enqueued: %s", row_id, self._table, error)
