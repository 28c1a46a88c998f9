"""Who may enter a pool when jobs take different numbers of places. Pure.

    submit -> waiting, in order --its places are free--> inside --ended--> places are free again

A light job, of one place, enters as it comes while no heavy one is about: the pool has a queue of
its own, and what waits there starts without a round trip of the loop. A heavy job enters when all
its places are free; those behind it wait meanwhile, or they would keep it out forever. One that
takes more than the pool has now, takes all of it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from consumer.core.jobs import ClaimedJob


class Gate:
    """Counts the places of one pool. target: how many there are."""

    def __init__(self) -> None:
        self._waiting: deque[ClaimedJob] = deque()
        self._heavy: dict[ClaimedJob, int] = {}  # waiting or inside: the places that it takes
        self._taken = self._heavy_inside = 0
        self.target = 0

    @property
    def waiting(self) -> int:
        """Return how many jobs wait here for others than themselves.

        Without the first one when it is heavy: it is next, and holds back what is freed meanwhile.
        """
        return len(self._waiting) - bool(self._waiting and self._waiting[0] in self._heavy)

    @property
    def beyond(self) -> int:
        """Return how many places jobs take, or will take, beyond one each."""
        return sum(self._heavy.values()) - len(self._heavy)

    def submit(self, job: ClaimedJob, slots: int) -> None:
        """Take a job that will enter after those before it."""
        if slots > 1:
            self._heavy[job] = slots
        self._waiting.append(job)

    def enter(self) -> list[ClaimedJob]:
        """Return the jobs that enter now, in order."""
        entering: list[ClaimedJob] = []
        while self._waiting and self._fits(self._waiting[0]):
            job = self._waiting.popleft()
            self._taken += self._heavy.get(job, 1)
            self._heavy_inside += job in self._heavy
            entering.append(job)
        return entering

    def left(self, jobs: Iterable[ClaimedJob]) -> None:
        """Note that jobs are inside no more."""
        for job in jobs:
            self._heavy_inside -= job in self._heavy
            self._taken -= self._heavy.pop(job, 1)

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that wait, in order."""
        jobs = list(self._waiting)
        self._waiting.clear()
        for job in jobs:
            self._heavy.pop(job, None)
        return jobs

    def _fits(self, job: ClaimedJob) -> bool:
        slots = self._heavy.get(job, 1)
        if slots == 1 and not self._heavy_inside:
            return True
        return self._taken + min(slots, max(1, self.target)) <= max(1, self.target)
