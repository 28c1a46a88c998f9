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
    """Return edited data with the values of `before` where dots were left.

    Raises ValueError where it is not known which value the dots stand for.
    """
    if isinstance(edited, dict):
        known = before if isinstance(before, Mapping) else {}
        return {name: _put_back(name, inner, known, words) for name, inner in edited.items()}
    if isinstance(edited, list) and _has_dots(edited, words):
        old = before if isinstance(before, list | tuple) else ()
        shown = masked(old, words)
        moved = any(one != was and one in shown for one, was in zip(edited, shown, strict=False))
        if len(edited) != len(old) or moved:
            raise ValueError(
                "nothing was changed: a list with hidden values has other elements, or another "
                f"order, so it is not known what {DOTS} stands for: write the values, or keep all "
                "elements in their order"
            )
        return [unmasked(one, was, words) for one, was in zip(edited, old, strict=True)]
    return edited


def _put_back(name: str, inner: Any, before: Mapping[str, Any], words: Collection[str]) -> Any:
    if inner != DOTS or not _is_hidden(name, words):
        return unmasked(inner, before.get(name), words)
    if name not in before:
        raise ValueError(
            f"nothing was changed: there was no field {name!r}, so it is not known what {DOTS} "
            "stands for there: write its value"
        )
    return before[name]


def _has_dots(value: Any, words: Collection[str]) -> bool:
    """Return whether dots that stand for a hidden value are anywhere in plain data."""
    if isinstance(value, dict):
        return any(
            (inner == DOTS and _is_hidden(name, words)) or _has_dots(inner, words)
            for name, inner in value.items()
        )
    return isinstance(value, list) and any(_has_dots(one, words) for one in value)


def _is_hidden(name: object, words: Collection[str]) -> bool:
    text = str(name).lower().replace("-", "_")
    return any(word.lower() in text for word in words)
