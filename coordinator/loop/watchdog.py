"""Ends a process whose loop is stuck: alive but unresponsive is worse than gone.

A turn in which no server answers still counts: an outage is no reason to restart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from queuepool.process.watching import Watch

_STRIKES = 5  # checks a quarter of the limit apart


class Turning(Protocol):
    """The watched loop."""

    @property
    def idle_s(self) -> float:
        """Return the seconds since a turn last completed."""


class Watchdog(Watch):
    """Calls `end` once, with a reason, when no turn completed for about twice `limit_s`."""

    def __init__(self, loop: Turning, limit_s: float, end: Callable[[str], None]) -> None:
        super().__init__(self._look_again, end, interval_s=limit_s / 4, name="coordinator-watchdog")
        self._loop, self._limit_s = loop, limit_s
        self._strikes = 0

    def problem(self) -> str | None:
        """Return why the process is unhealthy, or None."""
        idle_s = self._loop.idle_s
        if idle_s <= self._limit_s:
            return None
        return (
            f"the control loop has not completed a pass for {idle_s:.1f} s (COORDINATOR_WATCHDOG_S)"
        )

    def _look_again(self) -> str | None:
        # Several times in a row: after the whole process was frozen (SIGSTOP, a paused machine),
        # this thread may be the first to resume; the loop gets the same time limit to do so.
        problem = self.problem()
        self._strikes = self._strikes + 1 if problem is not None else 0
        return problem if self._strikes >= _STRIKES else None
