"""How many jobs to claim beyond the idle workers. Pure.

A worker that ends a job waits for a round trip before it has the next one, unless one waits in
memory. So the prefetch covers what the workers finish during one turn:

    ends per turn = workers x turn seconds / seconds per job
    prefetch      = 2 x ends per (turn + linger), and 0 when fewer than one job in four turns ends

With jobs in memory no one waits for the loop, so it lingers a moment and records several ends in
one turn, which costs the workers less of the interpreter than a turn for each. When it can claim
as much as one claim holds it does not linger: for very short jobs, `most` is two such claims, and
the server makes up one of them while the workers run the other.

A job in memory hides from the backlog and cannot be overtaken by a smaller group, so this is kept
as small as that, and taken back when the workers stall (see Core.on_stall). Large bodies fill the
memory: while those of all open jobs, running ones included, have MOST_BYTES, nothing is claimed
ahead. What one claim brings is bounded in bytes by itself, so they have no more than that and one
claim, or else one for each worker.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 4 * 1024**2
_LINGER_S = 0.002
_WEIGHT = 0.2  # of the newest turn in both averages


@dataclass(slots=True)
class Prefetch:
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
        """Unlearn how long jobs take: nothing is claimed ahead until one has ended."""
        self.job_s = None

    def jobs(self, workers: int, open_bytes: int = 0) -> int:
        """Return how many jobs may wait in memory. open_bytes: of the bodies that are there."""
        if self.job_s is None or open_bytes >= MOST_BYTES:
            return 0
        if workers * self.turn_s < 0.25 * self.job_s:
            return 0
        ends = workers * (self.turn_s + self.linger_s()) / max(self.job_s, 1e-6)
        return min(self.most, int(2 * ends) + 1)

    def linger_s(self) -> float:
        """Return how long after a turn the next one may wait while jobs are in memory."""
        return min(_LINGER_S, (self.job_s or 0.0) / 5)

    def stall_timeout_s(self) -> float:
        """Return how long the jobs in memory may wait without any execution ending."""
        return max(0.025, 4 * self.turn_s, 3 * (self.job_s or 0.0))
