"""Hides fields of payloads by their names, and puts hidden values back after an edit. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

DOTS: Final = "•••"


def masked(value: Any, words: Collection[str]) -> Any:
    """Return plain data in which each field whose name has one of the words in it is dots."""
    if isinstance(value, Mapping):
        return {
            name: DOTS if _is_hidden(name, words) else masked(inner, words)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(inner, words) for inner in value]
    return value


def unmasked(edited: Any, before: Any, words: Collection[str]) -> Any:
    """Return edited data with the values of `before` where dots were left."""
    if isinstance(edited, dict) and isinstance(before, Mapping):
        return {
            name: before[name]
            if inner == DOTS and name in before and _is_hidden(name, words)
            else unmasked(inner, before.get(name), words)
            for name, inner in edited.items()
        }
    if isinstance(edited, list) and isinstance(before, list | tuple):
        pairs = [*before, *([None] * max(0, len(edited) - len(before)))]
        return [unmasked(one, pairs[n], words) for n, one in enumerate(edited)]
    return edited


def _is_hidden(name: object, words: Collection[str]) -> bool:
    text = str(name).lower().replace("-", "_")
    return any(word.lower() in text for word in words)
