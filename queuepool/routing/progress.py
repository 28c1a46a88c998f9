"""How far a move of slots is, by what the route record says. Pure.

    to move: slots that were, or are, elsewhere than at their goal    left: those that still are

While a move is only asked for, nothing has moved. One that goes back counts what is to go back.
"""

from __future__ import annotations

from dataclasses import dataclass

from queuepool.models import RouteRecord
from queuepool.routing.moves import Move, Stage, differing, table_of
from queuepool.routing.ranges import read_slots
from queuepool.routing.views import View, read_table


@dataclass(frozen=True, slots=True)
class Facts:
    """Where slots are, and are to be. view: the route by which that is.

    What depends on tables raises ConfigurationError when one of them is damaged.
    """

    record: RouteRecord
    view: View
    move: Move | None

    @property
    def under_way(self) -> Move | None:
        """Return the move that is not over."""
        return self.move if self.move is not None and self.move.under_way else None

    @property
    def progress(self) -> tuple[int, int]:
        """Return how many slots are at their goal, of those that are to move."""
        move = self.under_way
        if move is None:
            return 0, 0
        table, goal = table_of(self.view), move.table()
        begun = move.stage is not Stage.ASKED
        back = read_table(move.back, move.largest) if begun else table
        if move.stage is Stage.ABORTING:
            back = table
        left = sum(map(len, differing(table, goal).values()))
        total = max(left, sum(map(len, differing(back, goal).values())))
        return total - left, total

    @property
    def on_their_way(self) -> int:
        """Return how many slots are closed to producers just now."""
        return len(read_slots(self.record.moving))
