"""When the loop of a consumer last lived: written by the loop, read by the watchdog."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pulse:
    """Monotonic seconds: of the last pass, and of the last turn that the server answered."""

    passed_s: float
    turned_s: float
