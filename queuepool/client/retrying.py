"""How often and how long a producer retries. Pure: the clock and the jitter are passed in."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST_S, _CAP_S = 0.05, 2.0


@dataclass(slots=True)
class Attempts:
    """The pauses between attempts of one call: doubling, with jitter, until a deadline."""

    deadline_s: float
    pause_s: float = _FIRST_S

    def next_pause(self, now_s: float, jitter: float) -> float | None:
        """Return how long to pause before the next attempt, or None when time is up."""
        pause = self.pause_s * (0.5 + jitter / 2)
        self.pause_s = min(_CAP_S, self.pause_s * 2)
        return None if now_s + pause > self.deadline_s else pause
