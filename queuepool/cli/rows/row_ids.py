"""An id for each row of a bulk action, the same in a second run: an id is accepted once.

    --id COLUMN         from the row's value in that column
    a file              from the content of the whole file, and the row's line
    standard input      from everything up to the row, since no more is known by then

The task, the partition key and the tenant, if there is one, are part of each. Ids look like those
that the library makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.rows.rows import Payload, RowError, value_of
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown, typed
from queuepool.models import GroupStatus
from queuepool.protocol import ids

_BYTES = 9  # of an id, besides its slot
_NUMBERS = 256**_BYTES

RowId = Callable[[int, Payload], str | None]  # line and row -> id


@dataclass(frozen=True, slots=True)
class Target:
    """What the rows become jobs of. tenant: empty for none. slot: to which its jobs are routed."""

    task: str
    key: bytes
    slot: int
    tenant: bytes = b""


def refuse_another_spread(spread: int, before: GroupStatus, key: str) -> None:
    """Raise CommandError if the group's jobs are spread over other slots, which know their ids.

    spread: of this command. before: the group's totals; of a forgotten one nothing is known.
    """
    if not before.total or before.spread == spread:
        return
    how, use = f"spread over {before.spread} slots", f"use --spread {before.spread}"
    if before.spread == 1:
        how, use = "not spread", "leave out --spread"
    raise CommandError(
        f"group {typed(key)} has {before.total:,} jobs, {how}: with --spread {spread}, rows that "
        f"it has may be added twice. Nothing was enqueued; {use}, or another key",
        Exit.USAGE,
    )


def by_column(column: str, target: Target) -> RowId:
    """Return a function from a column's values to ids. It raises RowError for an unusable value."""
    make = _maker(b"column", target)

    def of(line: int, payload: Payload) -> str:
        value = value_of(column, "--id", "id", line, payload)
        return make(value.encode("utf-8", "surrogatepass"))

    return of


def by_file(name: str, target: Target) -> RowId:
    """Return a function that derives ids from a file's content and the lines of its rows."""
    try:
        with Path(name).open("rb") as file:
            content = file_digest(file, blake2b).digest()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{shown(name)} cannot be read: {why}") from error
    # Consecutive numbers: no two rows of a file get the same.
    digest = _common(b"file" + content, target).digest()
    hint, first = ids.hint_of(target.slot), int.from_bytes(digest, "big")

    def of(line: int, _payload: Payload) -> str:
        number = (first + line) % _NUMBERS
        return (hint + ids.ending_from(number.to_bytes(_BYTES, "big"))).decode()

    return of


def by_stream(target: Target) -> RowId:
    """Return a function that derives ids from the rows so far; call it for each row, in order."""
    make, so_far = _maker(b"stream", target), blake2b()

    def of(line: int, payload: Payload) -> str:
        try:
            row = json.dumps(payload).encode()
        except RecursionError:
            raise RowError(line, "it is nested too deeply") from None
        so_far.update(b"%d:%s" % (len(row), row))
        return make(so_far.digest())

    return of


def _maker(kind: bytes, target: Target) -> Callable[[bytes], str]:
    common, hint = _common(kind, target), ids.hint_of(target.slot)

    def make(own: bytes) -> str:
        whole = common.copy()
        whole.update(own)
        return (hint + ids.ending_from(whole.digest())).decode()

    return make


def _common(kind: bytes, target: Target) -> blake2b:
    parts = [kind, target.task.encode("utf-8", "surrogatepass"), target.key]
    if target.tenant:
        parts.append(target.tenant)
    framed = b"".join(b"%d:%s" % (len(part), part) for part in parts)
    # What follows may look like the part of a tenant; ids of tenants are told apart by `person`.
    return blake2b(framed, digest_size=_BYTES, person=b"tenant" if target.tenant else b"")
