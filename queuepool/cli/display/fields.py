"""What is known of one thing, a line a field: times, errors and payloads as people read them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.display.durations import format_duration
from queuepool.models import ErrorRecord

LOCAL: tzinfo | None = None  # that of this machine
_LONGEST = 2000  # characters of a value; a payload can have a quarter of a million


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values below each other."""
    width = max(map(len, fields)) + 2
    for name, value in fields.items():
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        output.say(f"{name:<{width}}{output.clean(str(text), _LONGEST)}")


def when(ms: int) -> str:
    """Return a moment as local time, and how long it is ago or ahead.

    One that is in no year, as only a damaged record has it, stays a number.
    """
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC).astimezone(LOCAL)
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"
    ago_s = time.time() - ms / 1000
    distance = f"{format_duration(ago_s)} ago" if ago_s >= 0 else f"in {format_duration(-ago_s)}"
    return f"{moment.isoformat(' ', timespec='seconds')} ({distance})"


def error_text(error: ErrorRecord) -> str:
    """Return why something failed: the error's type and message, or what is known instead."""
    return ": ".join(filter(None, (error.type, error.message))) or error.reason


def json_text(value: Any) -> str:
    """Return a payload or a result as JSON that people can read and paste."""
    return json.dumps(value, ensure_ascii=False, default=output.plain)
