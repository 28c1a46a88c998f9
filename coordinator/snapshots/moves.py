"""The move of slots as a coordinator last saw it, for its metrics.

    under_way   every coordinator, from the route that it follows: since when, and slots left
    jobs        only the one that moves them: what it found at first, less what it carried, by way

Jobs come and end while a move runs, so they are about right, and 0 once a way has no slot left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queuepool.errors import ConfigurationError
from queuepool.routing.moves import read_move
from queuepool.routing.progress import Facts
from queuepool.routing.views import View

Way = tuple[int, int]  # from a partition to another


@dataclass(frozen=True, slots=True)
class MoveSeen:
    """A move that is under way: when it was asked for, and the slots that it has left."""

    asked_ms: int
    slots_left: int


class MoveBoard:
    """Written by the thread that moves slots, read by any: what is read at once never changes."""

    def __init__(self) -> None:
        self.under_way: MoveSeen | None = None
        self.carried = 0
        self._left: Mapping[Way, int] = {}

    @property
    def jobs_left(self) -> int:
        """Return how many jobs are to be carried, about, by this process."""
        return sum(self._left.values())

    def stands(self, view: View) -> None:
        """Note where the move of a route stands; none that can be read is none under way."""
        self.under_way = _seen(view)
        if self.under_way is None:
            self._left = {}

    def found(self, jobs: Mapping[Way, int]) -> None:
        """Note how many jobs the ways have."""
        self._left = dict(jobs)

    def keep(self, ways: Iterable[Way]) -> None:
        """Forget all other ways: no slot has to go there."""
        self._left = {way: self._left.get(way, 0) for way in ways}

    def moved(self, way: Way, jobs: int) -> None:
        """Count jobs that are where they are to be."""
        self.carried += jobs
        self._left = {**self._left, way: max(0, self._left.get(way, 0) - jobs)}


def _seen(view: View) -> MoveSeen | None:
    try:
        move = read_move(view.record)
        if view.record is None or move is None or not move.under_way:
            return None
        done, total = Facts(view.record, view, move).progress
    except ConfigurationError:  # whoever moves slots tells of it
        return None
    return MoveSeen(move.at_ms, total - done)
