"""Admits jobs to a pool when some of them take several slots. Pure.

    submit -> waiting, in order --enough slots are free--> admitted --ended--> slots are free again

A light job, of one slot, is admitted at once while no heavy job is waiting or running: the pool has
its own queue, and jobs in it start without waiting for the loop. A heavy job is admitted when all
its slots are free. Later jobs wait behind it; otherwise light jobs could starve it. A job that
needs more slots than the pool currently has takes all of them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from consumer.core.jobs import ClaimedJob


class Admission:
    """Counts the slots of one pool. target: how many it has."""

    def __init__(self) -> None:
        self._waiting: deque[ClaimedJob] = deque()
        self._heavy: dict[ClaimedJob, int] = {}  # waiting or admitted: slots of each
        self._taken = self._heavy_admitted = 0
        self.target = 0

    @property
    def waiting(self) -> int:
        """Return how many jobs wait, not counting a heavy job at the front.

        That one is next, and keeps the slots that become free until it has enough.
        """
        return len(self._waiting) - bool(self._waiting and self._waiting[0] in self._heavy)

    @property
    def beyond(self) -> int:
        """Return how many slots the jobs here take beyond one each."""
        return sum(self._heavy.values()) - len(self._heavy)

    def submit(self, job: ClaimedJob, slots: int) -> None:
        """Add a job behind those that wait."""
        if slots > 1:
            self._heavy[job] = slots
        self._waiting.append(job)

    def admit(self) -> list[ClaimedJob]:
        """Return the jobs that are admitted now, in order."""
        admitted: list[ClaimedJob] = []
        while self._waiting and self._fits(self._waiting[0]):
            job = self._waiting.popleft()
            self._taken += self._heavy.get(job, 1)
            self._heavy_admitted += job in self._heavy
            admitted.append(job)
        return admitted

    def left(self, jobs: Iterable[ClaimedJob]) -> None:
        """Record that admitted jobs have ended or were withdrawn."""
        for job in jobs:
            self._heavy_admitted -= job in self._heavy
            self._taken -= self._heavy.pop(job, 1)

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the waiting jobs, in order."""
        jobs = list(self._waiting)
        self._waiting.clear()
        for job in jobs:
            self._heavy.pop(job, None)
        return jobs

    def _fits(self, job: ClaimedJob) -> bool:
        slots = self._heavy.get(job, 1)
        if slots == 1 and not self._heavy_admitted:
            return True
        return self._taken + min(slots, max(1, self.target)) <= max(1, self.target)
