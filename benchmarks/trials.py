"""The loads that real processes and the simulator are compared with; see `agreement`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coordinator.policy import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One load. peak: workers that must not be exceeded, of what a limit leaves to do."""

    jobs: int
    job_s: float
    bounds: Limits
    peak: int
    limit_per_s: int = 0  # 0: none
    hidden_per_s: float = math.inf

    def payload(self, number: int) -> dict[str, float]:
        """Return what a job is told."""
        made_of: dict[str, float] = {"ms": self.job_s * 1000, "i": number}
        if math.isfinite(self.hidden_per_s):
            made_of["per_s"] = self.hidden_per_s
        return made_of

    @property
    def task(self) -> str:
        """Return the task of its jobs."""
        return "query" if math.isfinite(self.hidden_per_s) else "nap"


TRIALS = {
    "bulk": Trial(
        jobs=15_000, job_s=0.12, bounds=Limits(min_workers=8, max_workers=64), peak=64
    ),
    # 15 workers are busy with what the limit lets through; no one may wait for the rest.
    "limit": Trial(
        jobs=1_200, job_s=0.5, bounds=Limits(min_workers=4, max_workers=64), peak=24, limit_per_s=30
    ),
    # 4 workers are busy with what the database answers. Two are enough to queue at it all the time.
    "hidden": Trial(
        jobs=4_400, job_s=0.05, bounds=Limits(min_workers=8, max_workers=64), peak=32,
        hidden_per_s=80,
    ),
}  # fmt: skip
