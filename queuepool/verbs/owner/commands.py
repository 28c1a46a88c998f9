"""How an owner reads commands, and what is stored of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from queuepool.errors.escaping import stored_text
from queuepool.models import Command
from queuepool.verbs import fields

_COMMAND_ID = re.compile(rb"[0-9]{1,20}-[0-9]{1,20}")


def int_or_none(raw: bytes) -> int | None:
    """Return a stored number, None if it is none that an integer of 64 bits can hold."""
    try:
        number = int(raw)
    except ValueError:
        return None
    return number if abs(number) < 2**63 else None


def command_id(raw: bytes) -> str:
    """Return the id of a command; if it is not a valid stream id, that of the first one.

    Commands are then received again, which is harmless: targets are absolute, and old ones expired.
    """
    if _COMMAND_ID.fullmatch(raw) and max(map(int, raw.split(b"-"))) < 2**64:
        return raw.decode()
    return "0-0"


def read_command(raw_id: bytes, flat: Sequence[bytes]) -> Command:
    """Return a stored command; a missing or damaged field is rejected later."""
    f: Mapping[str, bytes] = fields(flat)

    def number(name: str) -> int:
        try:
            return int(f.get(name, b""))
        except ValueError:
            return -1

    return Command(
        id=raw_id.decode(),
        type=stored_text(f.get("type", b"")[:64]),
        partition=number("partition"),
        target_workers=number("targetWorkers"),
        reason=stored_text(f.get("reason", b"")[:1024]),
        expires_ms=number("expires"),
    )
