"""A row of an outbox whose bytes are not what an application wrote."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from queuepool.client.outbox.rows import decode
from queuepool.client.outbox.schema import TABLE


def damage_first(connection: Any, **fields: Any) -> None:
    """Give these fields to the first row."""
    [(first, job), *_] = connection.execute(f"SELECT id, job FROM {TABLE} ORDER BY id").fetchall()
    damaged = msgspec.msgpack.encode(msgspec.structs.replace(decode(job), **fields))
    mark = "?" if isinstance(connection, sqlite3.Connection) else "%s"
    connection.execute(f"UPDATE {TABLE} SET job = {mark} WHERE id = {int(first)}", (damaged,))
