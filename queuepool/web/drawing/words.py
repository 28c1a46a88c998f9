"""Numbers and times as people read them. Pure."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from queuepool.errors.escaping import key_text, visible
from queuepool.models.durations import format_duration
from queuepool.models.tenants import key_in, tenant_text

_DIGEST_BYTES = 16  # of a long key (queuepool.routing.slots)
_MOST_TEXT = 20_000


def count(number: float) -> str:
    """Return a whole number with thousands separators."""
    return f"{round(number):,}"


def short(number: float) -> str:
    """Return a number in few characters: 950, 1.2k, 35k, 4.1M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size * 0.9995:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return f"{number:.1f}" if 0 < number < 9.95 and number != round(number) else f"{number:.0f}"


def size(number: int) -> str:
    """Return bytes: 412 kB, 3.2 GB."""
    return f"{short(number)[:-1]} {short(number)[-1]}B" if number >= 1000 else f"{number} B"


def rate(per_s: float) -> str:
    """Return jobs a second."""
    return f"{per_s:,.1f}" if 0 < per_s < 10 else f"{per_s:,.0f}"


def seconds(value: float | None) -> str:
    """Return a duration: 0.4s, 3m20s."""
    return "" if value is None else format_duration(value)


def moment(ms: int | None) -> str:
    """Return a moment in UTC."""
    if not ms:
        return ""
    try:
        return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return str(ms)


def clock(ms: int) -> str:
    """Return the time of day of a moment in UTC."""
    return moment(ms)[11:]


def distance(ms: int | None, now_s: float | None = None) -> str:
    """Return how long ago a moment is, or how long it takes until then."""
    if not ms:
        return ""
    ago_s = (time.time() if now_s is None else now_s) - ms / 1000
    return f"{format_duration(ago_s)} ago" if ago_s >= 0 else f"in {format_duration(-ago_s)}"


def key(group: bytes | None) -> str:
    """Return the partition key of a group as text that is read back."""
    return "" if group is None else key_text(key_in(group))


def key_of_link(group: bytes | None) -> str:
    """Return the key for the address of a job; "": its id alone leads there, or the key is unknown.

    The group of a long key is called by its digest, which is not the key.
    """
    if group is None or tenant_text(group) is not None:
        return ""
    name = key_in(group)
    text = name.decode("utf-8", "replace")
    is_digest = len(name) == _DIGEST_BYTES and not (text.isprintable() and "\ufffd" not in text)
    return "" if is_digest else key(group)


def tenant(group: bytes | None) -> str:
    """Return the tenant of a group, if it has one."""
    return "" if group is None else visible(tenant_text(group) or "")


def clean(text: object, most: int = _MOST_TEXT) -> str:
    """Return text on one line without anything invisible, cut at a length."""
    plain = str(text)
    return visible(plain[:most]) + ("..." if len(plain) > most else "")


def lines(text: str, most: int = _MOST_TEXT) -> str:
    """Return a text of several lines, each without anything invisible."""
    return "\n".join(visible(line.expandtabs(4)) for line in text[:most].split("\n"))


def as_json(value: Any) -> str:
    """Return plain data as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
