"""When a child is replaced or killed. Pure: what was seen in, a reason out."""

from __future__ import annotations

from dataclasses import dataclass

_SOON = 0.75  # of the memory bound: a child that has so much after a job is replaced


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of one child. max_jobs, max_rss_bytes: 0 for none.

    A child that grew is replaced between two jobs, well before the bound at which it is killed: so
    the one that is killed is the job that took the memory, not the one that came last.
    """

    max_jobs: int = 0
    max_rss_bytes: int = 0

    def why_replace(self, jobs: int, rss_bytes: int) -> str | None:
        """Return why a child that has just ended its job should be replaced: a word, or None."""
        if self.max_rss_bytes and rss_bytes > _SOON * self.max_rss_bytes:
            return "memory"
        return "max_jobs" if 0 < self.max_jobs <= jobs else None

    def why_kill(self, rss_bytes: int) -> str | None:
        """Return why a child that runs a job must be killed: a sentence, or None."""
        if not 0 < self.max_rss_bytes < rss_bytes:
            return None
        return (
            f"its process took {rss_bytes / 2**20:,.0f} MiB of memory, over "
            f"CONSUMER_PROCESS_MAX_RSS_MB={self.max_rss_bytes / 2**20:,.0f}, and was killed"
        )
