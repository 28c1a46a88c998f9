"""Ends a process whose loop no longer turns: alive but deaf is worse than gone.

A turn in which no server answers still counts: an outage is no reason to restart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from queuepool.errors.hindrances import start_thread

_STRIKES = 5  # looks a quarter of the limit apart


class Turning(Protocol):
    """What is watched."""

    @property
    def idle_s(self) -> float:
        """Return the seconds since a turn last came to its end."""


class Watchdog:
    """Calls `end` with a reason when nothing turned for about twice `limit_s`; once."""

    def __init__(self, loop: Turning, limit_s: float, end: Callable[[str], None]) -> None:
        self._loop, self._limit_s, self._end = loop, limit_s, end
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="coordinator-watchdog", daemon=True
        )

    def problem(self) -> str | None:
        """Return why the process is unhealthy, or None."""
        idle_s = self._loop.idle_s
        if idle_s <= self._limit_s:
            return None
        return (
            f"the control loop has not completed a pass for {idle_s:.1f} s (COORDINATOR_WATCHDOG_S)"
        )

    def start(self) -> None:
        """Begin to watch. Raises NoThreadError."""
        start_thread(self._thread, "for the watchdog")

    def stop(self) -> None:
        """Stop watching; legal before start, idempotent."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=1.0)

    def _watch(self) -> None:
        # Several times in a row: after the whole process was frozen (SIGSTOP, a paused machine),
        # this thread may be the first to go on; the loop gets a limit's time to do the same.
        strikes = 0
        while not self._stopping.wait(self._limit_s / 4):
            problem = self.problem()
            strikes = strikes + 1 if problem is not None else 0
            if problem is not None and strikes == _STRIKES:
                self._end(problem)
                return
