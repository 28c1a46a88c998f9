"""Limits for which something is to be done, now or at a time. Pure."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.limits.share import Share


class Hot:
    """Hot: what changed, or is due; the others come back when they are due.

    A look at what is hot costs nothing for the others, however many there are.
    """

    def __init__(self) -> None:
        self._hot: dict[Share, None] = {}
        self._times: list[tuple[float, int, Share]] = []  # heap; an entry may be out of date
        self._due_s: dict[Share, float] = {}
        self._entries = 0

    def touch(self, share: Share) -> None:
        """Note that a limit changed; the others come before it, so that all take turns."""
        self._hot.pop(share, None)
        self._hot[share] = None

    def forget(self, share: Share) -> None:
        """Drop a limit."""
        self._hot.pop(share, None)
        self._due_s.pop(share, None)

    def now(self, now_s: float) -> Sequence[Share]:
        """Return the hot ones."""
        times = self._times
        while times and times[0][0] <= now_s:
            due_s, _, share = heappop(times)
            if self._due_s.get(share) == due_s:
                del self._due_s[share]
                self._hot[share] = None
        return list(self._hot)

    def cool(self, share: Share, due_s: float) -> None:
        """Note when a hot one is due again; inf for never by time alone."""
        del self._hot[share]
        if due_s == inf:
            self._due_s.pop(share, None)
        elif self._due_s.get(share) != due_s:
            self._due_s[share] = due_s
            self._entries += 1
            heappush(self._times, (due_s, self._entries, share))
            if len(self._times) > 2 * len(self._due_s) + 100:
                self._times = [t for t in self._times if self._due_s.get(t[2]) == t[0]]
                heapify(self._times)

    def next_s(self) -> float:
        """Return when the next of the others is due."""
        times = self._times
        while times and self._due_s.get(times[0][2]) != times[0][0]:
            heappop(times)
        return times[0][0] if times else inf
