"""JSON in which no object has a key twice: readers disagree on which of its values counts. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from queuepool.errors import shown


class DuplicateKeyError(ValueError):
    """An object has a key twice; the message names the key and holds no value."""


def loads(text: str) -> Any:
    """Return what a JSON text means. Raises ValueError (DuplicateKeyError), RecursionError."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    counts = Counter(key for key, _ in pairs)
    twice, _ = counts.most_common(1)[0]
    raise DuplicateKeyError(f"the key {shown(twice)} occurs twice in an object; keep one of them")
