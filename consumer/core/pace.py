"""How much one turn carries: bytes of outcomes, and jobs that it claims. Pure.

A turn that is too large for its timeout is repeated, so it must not be the same turn again:

    no reply             half of what it carried, down to one outcome or one job
    answered, but slow   also half, down to what a slow link carries in a moment
    answered in time     twice as much, up to the most

A heavy turn (above LIGHT_BYTES) never carries the renewal of the lease; see Record.
"""

from __future__ import annotations

from msgspec import Struct

MOST_BYTES = 1024 * 1024
LIGHT_BYTES = 64 * 1024
_LEAST_BYTES = 4096
_SLOW_SHARE = 1 / 6  # of a lease: half of what a reply may take


class Pace(Struct):
    """budget_bytes: of the outcomes of one turn. jobs: the most that one claim may ask for."""

    lease_s: float
    most_jobs: int
    budget_bytes: int = MOST_BYTES
    jobs: int = 0

    def __post_init__(self) -> None:
        self.jobs = self.most_jobs

    @property
    def slowed(self) -> bool:
        """Return whether turns carry less than usual."""
        return self.budget_bytes < MOST_BYTES or self.jobs < self.most_jobs

    def is_slow(self, turn_s: float) -> bool:
        """Return whether a turn took so long that twice as much might get no reply in time."""
        return turn_s > self.lease_s * _SLOW_SHARE

    def on_no_reply(self, sent_bytes: int, asked_jobs: int) -> None:
        """Carry less: a turn of this many bytes of outcomes and this many claims was lost."""
        if sent_bytes:
            half = min(self.budget_bytes, sent_bytes) // 2
            self.budget_bytes = max(_LEAST_BYTES, half)
        if asked_jobs:
            self.jobs = max(1, min(self.jobs, asked_jobs) // 2)

    def on_reply(self, turn_s: float, sent_bytes: int, claimed_bytes: int, asked_jobs: int) -> None:
        """Carry more after a turn that was answered in time, less after a slow one."""
        if self.is_slow(turn_s):
            if sent_bytes > LIGHT_BYTES:
                self.budget_bytes = max(LIGHT_BYTES, min(self.budget_bytes, sent_bytes) // 2)
            if claimed_bytes > LIGHT_BYTES:
                self.jobs = max(1, min(self.jobs, asked_jobs) // 2)
        elif not self.is_slow(2 * turn_s):
            if sent_bytes > self.budget_bytes // 2:  # a small turn tells nothing about larger ones
                self.budget_bytes = min(MOST_BYTES, 2 * max(self.budget_bytes, sent_bytes))
            if asked_jobs:
                self.jobs = min(self.most_jobs, 2 * self.jobs)
