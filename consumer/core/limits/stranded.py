"""Admitted jobs that no claim finds, so that their permits are used by nobody. Pure.

    waiting --a claim finds less than it may take--> unclaimed --for STRANDED_S--> stranded
       ^                                                 |
       `----------- a claim takes all it may ------------'

Their group, tenant or partition was held after they were admitted, or their group runs as many jobs
as it may. A stranded job needs what any other does to start: the one that is claimed without it is
handed back, and returns to its gate.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from consumer.core.limits.gate import GateView

STRANDED_S = 1.0


class Unclaimed:
    """Gates with admitted jobs that wait for a claim: new ones, and those that a claim missed."""

    def __init__(self) -> None:
        self._new: dict[GateView, None] = {}
        self._since_s: dict[GateView, float] = {}  # the oldest first

    def note(self, view: GateView) -> None:
        """Note how many jobs of a gate wait for a claim."""
        if not view.waiting:
            self._new.pop(view, None)
            self._since_s.pop(view, None)
        elif view not in self._since_s:
            self._new[view] = None

    def on_claim(self, now_s: float, *, all_found: bool) -> None:
        """Learn from a claim. all_found: nothing that it might have taken is left."""
        if all_found:
            self._since_s.update(dict.fromkeys(self._new, now_s))
            self._new.clear()
        elif self._since_s:
            self._new.update(dict.fromkeys(self._since_s))
            self._since_s.clear()

    def next_s(self) -> float:
        """Return when the next gate is due."""
        return next(iter(self._since_s.values()), inf) + STRANDED_S

    def due(self, now_s: float) -> list[GateView]:
        """Take the gates whose jobs have waited for as long as a job may."""
        found = []
        while self.next_s() <= now_s:
            found.append(next(iter(self._since_s)))
            del self._since_s[found[-1]]
        return found
