"""When the loop of a consumer last lived: written by the loop, read by the watchdog."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pulse:
    """Monotonic seconds: of the last pass, and of the last answered turn that recorded or claimed.

    Where nothing was there to record or claim, an answered renewal counts as well. why: what the
    last turn failed for; "" when it did not.
    """

    passed_s: float
    turned_s: float
    why: str = ""
