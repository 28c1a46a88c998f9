"""Entries of the log as lines for people: wrapped where a terminal is narrow, never cut."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime

from queuepool.cli.display import fields
from queuepool.cli.display.output import clean
from queuepool.models.log import LogEntry, LogKind

_INDENT = 4
_LONGEST = 1000


def lines_of(entry: LogEntry, width: int) -> list[str]:
    """Return an entry as lines of at most this width, if its words allow that."""
    text = clean(f"{_moment(entry.at_ms)}  {entry.kind:<7}  {sentence_of(entry)}", _LONGEST)
    return textwrap.wrap(
        text, max(width, 2 * _INDENT), subsequent_indent=" " * _INDENT,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def sentence_of(entry: LogEntry) -> str:
    """Return what an entry says, without its time and kind."""
    text = f"{entry.what} {entry.subject}".rstrip()
    if entry.who and entry.kind is not LogKind.FINDING:  # which is always the doctor's
        text += f", by {entry.who}" + (f" ({entry.via})" if entry.via else "")
    if entry.outcome:
        text += f": {entry.outcome}"
    return text + (f"; why: {entry.why}" if entry.why else "")


def _moment(ms: int) -> str:
    try:
        found = datetime.fromtimestamp(ms / 1000, UTC).astimezone(fields.LOCAL)
    except (ValueError, OverflowError, OSError):  # only of a damaged entry
        return f"{ms} ms"
    return found.isoformat(" ", timespec="seconds")
