"""JSON without duplicate keys in an object, since parsers disagree on which value counts. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from queuepool.errors.escaping import shown


class DuplicateKeyError(ValueError):
    """An object has a duplicate key; the message names the key but contains no value."""


def loads(text: str) -> Any:
    """Parse JSON text. Raises ValueError (DuplicateKeyError), RecursionError."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    counts = Counter(key for key, _ in pairs)
    twice, _ = counts.most_common(1)[0]
    raise DuplicateKeyError(f"the key {shown(twice)} occurs twice in an object; keep one of them")
