"""The tables of an outbox, for a migration of the application. Pure."""

from __future__ import annotations

import re
from typing import Final

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown

TABLE: Final = "queuepool_outbox"
DIALECTS: Final = ("postgresql", "sqlite")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,39}(?:\.[a-z_][a-z0-9_]{0,39})?")
_ID: Final = {
    "postgresql": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "sqlite": "integer PRIMARY KEY AUTOINCREMENT",
}
_BYTES: Final = {"postgresql": "bytea", "sqlite": "blob"}


def checked(table: str) -> str:
    """Return the name of a table. Raises InvalidInputError."""
    if not _NAME.fullmatch(table):
        raise InvalidInputError(
            f"table={shown(table)}: use a lower-case name of letters, digits and underscores, at "
            "most 40, optionally after a schema and a dot"
        )
    return table


def statements(dialect: str, table: str = TABLE) -> tuple[str, ...]:
    """Return the SQL that creates the tables. Raises InvalidInputError.

    Rows wait in `table` until the relay has moved them; place: the partition for which a row got
    the number of its delivery. `table`_state has one row, which the relay
    locks, with the number of the last delivery.
    """
    if dialect not in DIALECTS:
        raise InvalidInputError(f"dialect={shown(dialect)}: use {' or '.join(DIALECTS)}")
    name, (_, _, short) = checked(table), table.rpartition(".")
    return (
        f"CREATE TABLE {name} (\n"
        f"    id {_ID[dialect]},\n"
        f"    delivery bigint,\n"
        f"    place integer,\n"
        f"    task text NOT NULL,\n"
        f"    job_id text NOT NULL,\n"
        f"    job {_BYTES[dialect]} NOT NULL\n"
        ")",
        f"CREATE INDEX {short}_delivery ON {name} (delivery, id)",
        f"CREATE TABLE {name}_state (\n"
        "    one integer PRIMARY KEY CHECK (one = 1),\n"
        "    outbox text NOT NULL,\n"
        "    last_delivery bigint NOT NULL DEFAULT 0\n"
        ")",
    )
