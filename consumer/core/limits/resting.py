"""Gates that admitted none of what they might: no group there may run another job. Pure."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from consumer.core.limits.gate import GateView

_SHORTEST_S, _LONGEST_S = 0.02, 0.25


class Resting:
    """They are left alone for a while, which doubles from time to time."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, GateView]] = []  # until when, a number
        self._serial = 0

    def add(self, view: GateView, now_s: float) -> None:
        """Leave a gate alone."""
        view.rests_s = min(_LONGEST_S, max(_SHORTEST_S, 2 * view.rests_s))
        view.resting = True
        self._serial += 1
        heappush(self._heap, (now_s + view.rests_s, self._serial, view))

    def next_s(self) -> float:
        """Return when the next one is to be looked at."""
        return self._heap[0][0] if self._heap else inf

    def wake(self, until_s: float) -> list[GateView]:
        """Take those whose time is over by then."""
        found = []
        while self.next_s() <= until_s and self._heap:
            found.append(heappop(self._heap)[2])
            found[-1].resting = False
        return found
