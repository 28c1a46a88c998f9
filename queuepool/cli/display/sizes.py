"""Sizes such as 500kB, 20MB, 1GB. Pure."""

from __future__ import annotations

import re

from queuepool.errors.escaping import shown

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([kmg]?b?)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return bytes; a number without a unit counts as bytes. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    unit = found[2].lower() if found else ""
    if found is None or (unit and not unit.endswith("b")):
        raise ValueError(f"{shown(text)} is not a size: write 500kB, 20MB or 1GB")
    size = round(float(found[1]) * _UNITS[unit])
    if not 1_000 <= size <= 10**12:
        raise ValueError(f"{shown(text)}: use 1kB to 1000GB")
    return size
