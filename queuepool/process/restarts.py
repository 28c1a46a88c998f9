"""When a child process that exited is started again, and how its exit is described. Pure."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass

from queuepool.process.endings import CONFIGURATION, FAILED, FENCED, OK, WATCHDOG

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_STEADY_S = 30.0  # a child that ran this long failed for a new reason
_MEANINGS = {
    OK: "drained",
    FAILED: "failure",
    CONFIGURATION: "by a handler",  # one that ends for its settings is not started again
    FENCED: "replaced",
    WATCHDOG: "watchdog",
}


@dataclass(slots=True)
class Restarts:
    """The restarts of one child. due_s: when the next one is; draw: random numbers from 0 to 1."""

    draw: Callable[[], float] = random.random
    due_s: float = 0.0
    failures: int = 0

    def after_exit(self, code: int, *, ran_s: float, now_s: float) -> str:
        """Plan the restart of a child that ran for so long; return what to tell people."""
        pause_s = self._pause(ran_s, now_s)
        return f"{describe_exit(code)}; restarting in {pause_s:.1f} s"

    def after_refusal(self, error: OSError, *, now_s: float) -> str:
        """Plan another start, since the machine refused one; return what to tell people."""
        pause_s = self._pause(0.0, now_s)
        return f"cannot be started ({error.strerror or error}); trying again in {pause_s:.1f} s"

    def _pause(self, ran_s: float, now_s: float) -> float:
        self.failures = 1 if ran_s >= _STEADY_S else self.failures + 1
        pause_s = restart_pause_s(self.failures, self.draw())
        self.due_s = now_s + pause_s
        return pause_s


def restart_pause_s(failures: int, entropy: float) -> float:
    """Return the pause before a restart: doubling, bounded, jittered by entropy of 0 to 1.

    Jitter keeps children that died of one cause from restarting all at once.
    """
    longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(failures - 1, 16))
    return longest * (0.5 + entropy / 2)


def describe_exit(code: int) -> str:
    """Return a readable description of a child's exit code."""
    if code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    meaning = _MEANINGS.get(code)
    return f"exited with code {code}" + (f" ({meaning})" if meaning else "")
