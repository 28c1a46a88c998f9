"""Which refused calls are worth a line of the log, when strangers may cause any number. Pure.

The first few of each kind in a minute have a line each; the rest of that minute is counted, and
one line at its end tells how many. Kinds are few and known, never made of what a caller sent.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

WINDOW_S = 60.0
LINES = 5  # of one kind in one window

Kind = TypeVar("Kind", bound=Hashable)


class Refusals(Generic[Kind]):
    """Counts refusals by kind in windows of WINDOW_S, from its first one on. For one thread."""

    def __init__(self) -> None:
        self._counts: dict[Kind, int] = {}

    def begun(self) -> bool:
        """Whether a window has begun; whoever sees it begin ends it after WINDOW_S."""
        return bool(self._counts)

    def note(self, kind: Kind) -> bool:
        """Count one; returns whether it is to have a line of its own."""
        count = self._counts.get(kind, 0) + 1
        self._counts[kind] = count
        return count <= LINES

    def end_window(self) -> list[tuple[Kind, int]]:
        """Begin again; returns the kinds of which lines were left out, with how many."""
        counts, self._counts = self._counts, {}
        return [(kind, count - LINES) for kind, count in counts.items() if count > LINES]
