"""Which refused calls to log, since unknown callers can cause any number. Pure.

The first few of each kind in a minute get a line each; the rest of that minute is counted, and one
line at its end reports the count. Kinds are few and fixed, never derived from a caller's input.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

WINDOW_S = 60.0
LINES = 5  # of one kind in one window

Kind = TypeVar("Kind", bound=Hashable)


class Refusals(Generic[Kind]):
    """Counts refusals by kind in windows of WINDOW_S that begin with the first. For one thread."""

    def __init__(self) -> None:
        self._counts: dict[Kind, int] = {}

    def begun(self) -> bool:
        """Whether a window has begun; its beginner must end it after WINDOW_S."""
        return bool(self._counts)

    def note(self, kind: Kind) -> bool:
        """Count one; returns whether to log it."""
        count = self._counts.get(kind, 0) + 1
        self._counts[kind] = count
        return count <= LINES

    def end_window(self) -> list[tuple[Kind, int]]:
        """Start over; returns the kinds with omitted lines, and how many."""
        counts, self._counts = self._counts, {}
        return [(kind, count - LINES) for kind, count in counts.items() if count > LINES]
