"""Arguments that are no JSON, as kombu 5.7 writes them in JSON. Pure.

    {"__type__": "decimal", "__value__": "1.50"}

Typed tasks read dates, times, decimals and UUIDs from text, and bytes as they are.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable
from typing import Any

from queuepool.cli.imports.foreign import Reason, RefusedError, text_of

_TYPE, _VALUE = "__type__", "__value__"


def plain(value: Any) -> Any:
    """Return JSON that was read, its typed values as payloads have them. Raises RefusedError."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {_TYPE, _VALUE}:
        return {name: plain(part) for name, part in value.items()}
    kind, stored = value[_TYPE], value[_VALUE]
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise RefusedError(Reason.INVALID, f"an argument of the type {kind}")
    try:
        return reader(stored)
    except (AttributeError, KeyError, TypeError, ValueError, binascii.Error):
        raise RefusedError(Reason.DAMAGED) from None


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("datetime", "date", "time", "decimal"), text_of),
    "uuid": lambda stored: str(uuid.UUID(hex=stored["hex"])),
    "bytes": lambda stored: stored.encode(),
    "base64": lambda stored: base64.b64decode(stored, validate=True),
}
