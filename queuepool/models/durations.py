"""Durations such as 90s, 10m, 1h30m, 2d. Pure."""

from __future__ import annotations

import re

from queuepool.errors.escaping import shown
from queuepool.models.eta import Eta

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")


def parse_duration(text: str) -> float:
    """Return seconds; a number without a unit counts as seconds. Raises ValueError."""
    text = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a duration: write 90s, 10m, 1h30m or 2d")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def format_duration(seconds: float) -> str:
    """Return a duration in at most two units, short enough for a table: 0.4s, 12s, 3m20s, 2d4h."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    for unit, size, lesser, lesser_size in (
        ("d", 86400, "h", 3600),
        ("h", 3600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if whole >= size:
            rest = whole % size // lesser_size
            return f"{whole // size}{unit}" + (f"{rest}{lesser}" if rest else "")
    return f"{whole}s"


def range_of(eta: Eta) -> str:
    """Return a range as text: in 12s to 20s (80 %), likely 15s."""
    low, likely, high = map(format_duration, (eta.low_s, eta.likely_s, eta.high_s))
    return f"in {low} to {high} ({eta.confidence:.0%}), likely {likely}".replace("%", " %")
