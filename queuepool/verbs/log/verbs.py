"""Verbs of the log, sent to the system key of the default pool; how entries are stored. Pure.

    {"what":"hold","subject":"group album-7","who":"ada@desk","via":"command","why":"...", ...}

Text comes from people and from others' data: it is made visible and cut before it is stored, and
again when it is read, since another program may have written it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec

from queuepool.errors.escaping import visible
from queuepool.models.log import KEPT, KEPT_S, MAX_PAGE, LogEntry, LogKind
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.verbs import Argument, Verb

MAX_BYTES: Final = {  # of each text, in UTF-8; with its quotes an entry has less than 2 KiB
    "what": 60, "subject": 160, "who": 160, "via": 120, "why": 240, "outcome": 240,
}  # fmt: skip
_ID = re.compile(r"(\d{1,15})-(\d{1,15})")
_BLANKS = re.compile(r"\s+")


class _Stored(msgspec.Struct, omit_defaults=True):
    what: str
    subject: str = ""
    who: str = ""
    via: str = ""
    why: str = ""
    outcome: str = ""


_decoder = msgspec.json.Decoder(_Stored)


def write_log(entries: Sequence[LogEntry]) -> Verb[int]:
    """Add entries; returns how many. Their times are those at which the server gets them."""
    args: list[Argument] = [KEPT, round(KEPT_S * 1000)]
    for entry in entries:
        args += (entry.kind.value, encode(entry))
    return Verb("write_log", args, int)


def read_log(
    kinds: Collection[LogKind] = (),
    *,
    from_ms: int = 0,
    until_ms: int | None = None,
    most: int = MAX_PAGE,
) -> Verb[list[LogEntry]]:
    """Read the newest entries of these kinds, of all if none is named, in the order of their times.

    from_ms, until_ms: both included. most: of all together.
    """
    wanted = [kind.value for kind in LogKind if not kinds or kind in kinds]
    until = "+" if until_ms is None else max(0, until_ms)

    def read(reply: Any) -> list[LogEntry]:
        found = [entry for raw in reply[1:] for entry in _read(*raw)]
        # Ids are of one clock; the sort is stable.
        return sorted(found, key=lambda entry: order_of(entry.id))[-most:]

    args: list[Argument] = [max(0, from_ms), until, most, round(KEPT_S * 1000), *wanted]
    return Verb("read_log", args, read)


def order_of(entry_id: str) -> tuple[int, int]:
    """Return the order of an entry among others."""
    match = _ID.fullmatch(entry_id)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def encode(entry: LogEntry) -> bytes:
    """Return an entry as stored."""
    return msgspec.json.encode(
        _Stored(**{name: plain(getattr(entry, name), most) for name, most in MAX_BYTES.items()})
    )


def plain(text: str, most: int) -> str:
    """Return text on one line with only visible characters, cut to so many bytes."""
    shown = visible(_BLANKS.sub(" ", text[: 2 * most]).strip())
    raw = shown.encode("utf-8", "replace")
    return shown if len(raw) <= most else raw[: most - 3].decode("utf-8", "ignore") + "…"


def _read(raw_kind: bytes, raw_id: bytes, text: bytes) -> list[LogEntry]:
    kind, entry_id = LogKind(raw_kind.decode()), raw_id.decode()
    texts = {"what": "unreadable"}
    try:
        stored = _decoder.decode(text)
        fields = attrgetter(*MAX_BYTES)(stored)
        texts = {
            name: plain(value, most)
            for (name, most), value in zip(MAX_BYTES.items(), fields, strict=True)
        }
    except UNREADABLE:  # of another program, or a later release
        pass
    return [LogEntry(kind=kind, id=entry_id, at_ms=order_of(entry_id)[0], **texts)]
