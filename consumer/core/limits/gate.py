"""A gate as its owner knows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from consumer.core.limits.share import Share

MOST_WAITING_S = 0.1
_UNBOUNDED = 5000  # jobs admitted ahead where no rate bounds them
_BATCH = 200


@dataclass(slots=True, eq=False)
class GateView:
    """One gate. name: its limits, joined by commas.

        parked --plan--> planned --admit--> waiting --claim--> running --end-->

    counted, room, wanting: what its limits count as used by it, as jobs that it could admit, and
    which of them do. waits_for: the limit in whose line it is. seen: the last reading that saw it.
    rests_s: for how long it is left alone since it admitted none of what it might; resting: now.
    """

    name: str
    limits: tuple[Share, ...]
    parked: int = 0
    planned: int = 0
    waiting: int = 0
    running: int = 0
    counted: int = 0
    room: int = 0
    wanting: tuple[Share, ...] = field(default=())
    waits_for: Share | None = None
    seen: int = 0
    rests_s: float = 0.0
    resting: bool = False

    @property
    def used(self) -> int:
        """Return how many permits of each limit it has in use."""
        return self.planned + self.waiting + self.running

    def line_up(self, share: Share) -> None:
        """Wait for a limit."""
        share.line[self.name], self.waits_for = self, share

    def leave_line(self) -> None:
        """Wait for no limit."""
        if self.waits_for is not None:
            del self.waits_for.line[self.name]
            self.waits_for = None

    @property
    def empty(self) -> bool:
        """Return whether nothing is left to be known."""
        return not (self.parked or self.used)

    def most_waiting(self) -> int:
        """Return how many jobs may be admitted and not claimed yet."""
        apart_s = max(share.apart_s for share in self.limits)
        return max(1, ceil(MOST_WAITING_S / apart_s)) if apart_s else _UNBOUNDED

    def could_admit(self) -> int:
        """Return how many jobs it could admit if its limits allowed it."""
        if self.resting:
            return 0
        ahead = self.waiting + self.planned
        return max(0, min(self.parked - self.planned, self.most_waiting() - ahead, _BATCH))

    def asks_of(self) -> tuple[Share, ...]:
        """Return the limits of which jobs here want something.

        While some of its limits admit nothing for long only these: what the others granted would
        be wasted.
        """
        return tuple(share for share in self.limits if share.blocked) or self.limits
