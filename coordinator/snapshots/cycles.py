"""Hands the cycles of this process, while it leads, to those who record or compare them.

A cycle is only references to frozen data, so handing it over costs the loop nothing. Each follower
takes cycles at its own pace; of one that is late, the oldest are dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from coordinator.core.replay.cycle import Cycle

MOST_FOLLOWERS = 8


class Follower:
    """The newest cycles, at most `most`. One thread offers, another takes."""

    def __init__(self, most: int, wake: Callable[[], None]) -> None:
        self._cycles: deque[Cycle] = deque(maxlen=most)
        self._wake = wake
        self.missed = 0

    def offer(self, cycle: Cycle) -> None:
        """Take one more, in place of the oldest if there is no room."""
        self.missed += len(self._cycles) == self._cycles.maxlen
        self._cycles.append(cycle)
        self._wake()

    def take(self) -> Cycle | None:
        """Return the oldest cycle that was not taken, None if there is none."""
        try:
            return self._cycles.popleft()
        except IndexError:
            return None


class CycleFeed:
    """Every follower of the cycles. Safe to share between threads."""

    def __init__(self) -> None:
        self._followers: tuple[Follower, ...] = ()
        self._lock = threading.Lock()

    def publish(self, cycle: Cycle) -> None:
        """Offer a cycle to every follower; their `wake` must not block or raise."""
        for follower in self._followers:
            follower.offer(cycle)

    def follow(self, wake: Callable[[], None], *, most: int = 4) -> Follower | None:
        """Return a new follower, None if there are too many."""
        with self._lock:
            if len(self._followers) >= MOST_FOLLOWERS:
                return None
            made = Follower(most, wake)
            self._followers = (*self._followers, made)
            return made

    def leave(self, follower: Follower) -> None:
        """Offer it nothing more. Idempotent."""
        with self._lock:
            self._followers = tuple(one for one in self._followers if one is not follower)
