"""The unique key of each row of a bulk action: its value in a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from queuepool.cli.rows.rows import Payload, RowError, value_of
from queuepool.errors import InvalidInputError
from queuepool.tasks import wishes

UniqueOf: TypeAlias = Callable[[int, Payload], bytes | None]  # line and row -> key


def unique_by(column: str | None) -> UniqueOf:
    """Return a function from rows to unique keys, those that `unique=` makes of the same text.

    column: None for rows without keys. The function raises RowError for an unusable value.
    """
    if column is None:
        return lambda _line, _payload: None

    def of(line: int, payload: Payload) -> bytes | None:
        value = value_of(column, "--unique", "key", line, payload)
        try:
            return wishes.key_bytes(value, payload)
        except InvalidInputError as error:
            raise RowError(line, str(error)) from error

    return of
