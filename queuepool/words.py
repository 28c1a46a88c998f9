"""Records for people: words for enums and groups, nothing of what does not apply. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Any


def group_text(group: bytes) -> str:
    """Return the name of a task group for people: its key, or the hash of a long one."""
    try:
        text = group.decode()
    except UnicodeDecodeError:
        return group.hex()
    return text if text.isprintable() else group.hex()


def in_words(record: Any, names: Iterable[str]) -> str:
    """Return a repr that people can read: words for enums and groups, no defaults of nothing."""
    parts = []
    for name in names:
        value = getattr(record, name)
        if value is None or value is False:
            continue
        if name == "group":
            value = group_text(value)
        elif isinstance(value, (IntEnum, StrEnum)):
            value = str(value)
        parts.append(f"{name}={value!r}")
    return f"{type(record).__name__}({', '.join(parts)})"
