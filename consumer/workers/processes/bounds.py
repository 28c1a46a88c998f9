"""When a child process is replaced or killed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_SOON = 0.75  # of max_rss_bytes: above it after a job, the child is replaced


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one child. max_jobs, max_rss_bytes: 0 for none.

    A child that has grown is replaced between two jobs, well below the limit at which it is killed.
    So the job that is killed is the one that took the memory, not the one that happened to be last.
    """

    max_jobs: int = 0
    max_rss_bytes: int = 0

    def why_replace(self, jobs: int, rss_bytes: int) -> str | None:
        """Return why a child that has finished a job should be replaced: a word, or None."""
        if self.max_rss_bytes and rss_bytes > _SOON * self.max_rss_bytes:
            return "memory"
        return "max_jobs" if 0 < self.max_jobs <= jobs else None

    def why_kill(self, rss_bytes: int) -> str | None:
        """Return why a child must be killed during a job: a sentence, or None."""
        if not 0 < self.max_rss_bytes < rss_bytes:
            return None
        return (
            f"its process used {rss_bytes / 2**20:,.0f} MiB of memory, more than "
            f"CONSUMER_PROCESS_MAX_RSS_MB={self.max_rss_bytes / 2**20:.0f}, and was killed"
        )
