"""A gate as its owner knows it. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from consumer.core.limits.share import Share

MOST_WAITING_S = 0.1
_UNBOUNDED = 5000  # jobs admitted ahead where no rate bounds them
_BATCH = 200

Tokens = tuple[float, ...]  # their times, one of each limit of a job


@dataclass(slots=True, eq=False)
class GateView:
    """One gate. name: its limits, joined by commas.

        parked --plan--> planned --admit--> waiting --claim--> running --end-->
                                               `--> stranded --claim--> running, or parked again

    counted, room, wanting: what its limits count as used by it, as jobs that it could admit, and
    which of them do. waits_for: the limit in whose line it is. seen: the last reading that saw it.
    stranded: admitted, but no claim finds them (see stranded.py); these have no permits any more.
    rests_s: for how long it is left alone since it admitted none of what it might; resting: now.
    """

    name: str
    limits: tuple[Share, ...]
    parked: int = 0
    planned: int = 0
    waiting: int = 0
    running: int = 0
    stranded: int = 0
    tokens: deque[Tokens] = field(default_factory=deque)  # of the jobs planned and waiting
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
        return not (self.parked or self.used or self.stranded)

    def most_waiting(self) -> int:
        """Return how many jobs may be admitted and not claimed yet."""
        apart_s = max(share.apart_s for share in self.limits)
        return max(1, ceil(MOST_WAITING_S / apart_s)) if apart_s else _UNBOUNDED

    def spend(self) -> None:
        """Use a token of each limit for a job that is planned."""
        self.tokens.append(tuple(share.spend() for share in self.limits))

    def take_back(self, tokens: Tokens) -> None:
        """Return the tokens of a job that did not start."""
        for share, token_s in zip(self.limits, tokens, strict=bool(tokens)):
            share.take_back(token_s)

    def set_waiting(self, waiting: int) -> None:
        """Note how many jobs wait for a claim; tokens of those that ended before it are lost."""
        self.waiting = waiting
        while len(self.tokens) > waiting + self.planned:
            self.tokens.popleft()

    def start(self) -> Tokens:
        """Start one of the waiting jobs; returns its tokens, if they are known."""
        self.running += 1
        tokens = self.tokens.popleft() if self.tokens else ()
        self.set_waiting(max(0, self.waiting - 1))
        return tokens

    def on_worked(self, worked_s: float) -> None:
        """Count a job that ended after it ran for so long."""
        for share in self.limits:
            share.finished += 1
            share.worked_s += worked_s

    def strand(self) -> None:
        """Give up on the jobs that wait for a claim."""
        self.stranded += self.waiting
        self.set_waiting(0)

    def start_stranded(self, now_s: float) -> Tokens | None:
        """Start a stranded job that was claimed after all, if its limits allow it now."""
        self.stranded -= 1
        if min(share.ready(now_s) for share in self.limits) <= 0:
            return None
        self.running += 1
        return tuple(share.spend() for share in self.limits)

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
