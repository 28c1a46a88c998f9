"""A move that the leader begins by itself: slots off a hot partition. Pure.

    nothing moves, the last move is long over, advice `hot-slots` is fresh --> move of its slots

The route record keeps when the last move was asked for, so the budget of moves an hour holds
whoever leads; those of people count. What partitions had to do is an average over minutes (see
queuepool.telemetry.advice), which shows a move's effect only SETTLE_S after its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from queuepool.models.advice import Advice, AdviceKind
from queuepool.routing.moves import Move, asked_slots
from queuepool.routing.views import OPEN, View

SETTLE_S = 600.0  # twice the time in which averages fade
FRESH_S = 30.0  # the doctor looks every few seconds, so older advice is from before it stopped


class Relief(NamedTuple):
    """A move to begin, and why, in words."""

    move: Move
    why: str


def may_begin(view: View, last: Move | None, *, per_hour: int, now_ms: int) -> bool:
    """Return whether the budget allows a move now, and no migration is open. last: it is over."""
    if not per_hour or (view.record is not None and view.record.migration == OPEN):
        return False
    if last is None:
        return True
    # Clocks may differ: a move that seems to be asked for in the future was so just now.
    return abs(now_ms - last.at_ms) * per_hour >= 3_600_000


def relief(view: View, advice: Iterable[Advice], *, at_ms: int) -> Relief | None:
    """Return the move that helps most."""
    for one in advice:
        dest = one.partition
        if one.kind is not AdviceKind.HOT_SLOTS or dest is None or dest >= len(view.placement):
            continue
        source = int(one.figures["partition"])
        # The sample that the advice follows from may name slots that have left meanwhile.
        slots = {slot: dest for slot in one.slots if view.place_of_slot(slot) == source != dest}
        if slots:
            return Relief(asked_slots(view, slots, at_ms=at_ms), one.what)
    return None
