"""When the loop of a consumer last lived: written by the loop, read by the watchdog."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Liveness:
    """Monotonic seconds: of the last pass, and of the last answered turn that recorded or claimed.

    Where nothing was there to record or claim, an answered renewal counts as well. why: what the
    last turn failed for; "" when it did not.
    """

    last_pass_s: float
    last_reply_s: float
    why: str = ""
