"""A clock that moves only when a test says so."""

from __future__ import annotations

import threading

from queuepool.errors import InvalidInputError

START_S = 1_767_225_600.0  # 2026-01-01 00:00 UTC


class FakeClock:
    """Seconds since 1970, constant until `advance`. Safe to share between threads."""

    def __init__(self, start_s: float = START_S) -> None:
        """Start at `start_s`, 2002 or later: to the queue, smaller numbers are not times."""
        if start_s < 1_010_000_000:
            raise InvalidInputError(f"FakeClock({start_s}): start in 2002 or later")
        self._now_s = start_s
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Return the seconds since 1970."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass: leases expire, delays and retries become due."""
        if seconds < 0:
            raise InvalidInputError(f"advance({seconds}): time cannot go back")
        with self._lock:
            self._now_s += seconds

    def jump(self, seconds: float) -> None:
        """Set the clock forward, or back if negative, as people and time servers do."""
        with self._lock:
            self._now_s += seconds
