"""What every pool of workers has, whatever its workers are."""

from __future__ import annotations

from typing import Protocol

from consumer.core.jobs import ClaimedJob, Outcome


class RunsJobs(Protocol):
    """Runs one job at a time for whoever calls it; none after start_until_s."""

    start_until_s: float

    def run(self, job: ClaimedJob) -> Outcome:
        """Execute a job, or hand it back; never raises."""


class Pool:
    """The runner of a pool decides whether a job may still start, so it has the deadline."""

    def __init__(self, runner: RunsJobs) -> None:
        self._limits = runner

    @property
    def start_until_s(self) -> float:
        """Return the monotonic time after which no job may start."""
        return self._limits.start_until_s

    @start_until_s.setter
    def start_until_s(self, until_s: float) -> None:
        self._limits.start_until_s = until_s
