"""Details of one thing, one field per line: readable times, errors and payloads."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from queuepool.cli.display import output
from queuepool.models import ErrorRecord
from queuepool.models.durations import format_duration

LOCAL: tzinfo | None = None  # the local time zone
_LONGEST = 2000  # characters of a value; a payload can have a quarter of a million


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values, one per line."""
    width = max(map(len, fields)) + 2
    for name, value in fields.items():
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        output.say(f"{name:<{width}}{output.clean(str(text), _LONGEST)}")


def when(ms: int) -> str:
    """Return a moment as local time, with the distance from now.

    A value outside all years, which only damaged records have, stays a number.
    """
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC).astimezone(LOCAL)
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"
    ago_s = time.time() - ms / 1000
    distance = f"{format_duration(ago_s)} ago" if ago_s >= 0 else f"in {format_duration(-ago_s)}"
    return f"{moment.isoformat(' ', timespec='seconds')} ({distance})"


def error_text(error: ErrorRecord) -> str:
    """Return why something failed: the error's type and message, or else its reason."""
    return ": ".join(filter(None, (error.type, error.message))) or error.reason


def json_text(value: Any) -> str:
    """Return a payload or a result as readable JSON."""
    return json.dumps(value, ensure_ascii=False, default=output.plain)
