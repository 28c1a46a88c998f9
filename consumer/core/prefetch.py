"""How many jobs to claim beyond the idle workers. Pure.

A worker that ends a job waits for a round trip before it has the next one, unless one waits in
memory. So the prefetch covers what the workers finish during one turn:

    ends per turn = workers x turn seconds / seconds per job
    prefetch      = 2 x ends per (turn + linger), and 0 when fewer than one job in four turns ends

With jobs in memory no worker waits for the loop, so it lingers a moment and records several ends in
one turn, which takes less interpreter time from the workers than a turn for each. It lingers for
at most half the time in which the workers take what is in memory, so that no worker runs out of
jobs meanwhile; after a claim that found enough, that is longer than the linger. It does not linger
if it can make a full claim: for very short jobs, `most` is two such claims, and the server prepares
one of them while the workers run the other.

A job in memory is missing from the backlog and cannot be overtaken by a smaller group, so the
prefetch is kept minimal, and taken back when the workers stall (see Core.on_stall). Large bodies
fill the memory: while those of all open jobs, including running ones, have MOST_BYTES, nothing is
prefetched. One claim is bounded in bytes, so the total is at most that plus one claim, or else one
body for each worker.
"""

from __future__ import annotations

from msgspec import Struct

MOST_BYTES = 4 * 1024**2
_LINGER_S = 0.002
_WEIGHT = 0.2  # weight of the latest turn in both averages


class Prefetch(Struct):
    """Averages of what decides the prefetch, and the prefetch itself."""

    most: int
    turn_s: float = 0.0005
    job_s: float | None = None

    def turned(self, turn_s: float, jobs: int, busy_s: float) -> None:
        """Learn from a turn: how long it took, and what its `jobs` executions took together."""
        self.turn_s += _WEIGHT * (turn_s - self.turn_s)
        if jobs:
            mean = busy_s / jobs
            self.job_s = mean if self.job_s is None else self.job_s + _WEIGHT * (mean - self.job_s)

    def forget(self) -> None:
        """Forget how long jobs take: nothing is prefetched until one has ended."""
        self.job_s = None

    def jobs(self, workers: int, open_bytes: int = 0) -> int:
        """Return how many jobs may wait in memory. open_bytes: of the bodies in memory."""
        if self.job_s is None or open_bytes >= MOST_BYTES:
            return 0
        if workers * self.turn_s < 0.25 * self.job_s:
            return 0
        ends = workers * (self.turn_s + _linger_s(self.job_s)) / max(self.job_s, 1e-6)
        return min(self.most, int(2 * ends) + 1)

    def linger_s(self, queued: int, workers: int) -> float:
        """Return how long after a turn the next one may wait while this many jobs are in memory."""
        if self.job_s is None:
            return 0.0
        return min(_linger_s(self.job_s), queued * self.job_s / max(workers, 1) / 2)

    def stall_timeout_s(self) -> float:
        """Return how long the jobs in memory may wait without any execution ending."""
        return max(0.025, 4 * self.turn_s, 3 * (self.job_s or 0.0))


def _linger_s(job_s: float) -> float:
    return min(_LINGER_S, job_s / 5)
