"""When a consumer's loop last made progress: written by the loop, read by the watchdog."""

from __future__ import annotations

from msgspec import Struct


class Liveness(Struct):
    """Monotonic seconds: of the last pass, and of the last answered turn that recorded or claimed.

    If there was nothing to record or claim, an answered renewal also counts. why: why the last turn
    failed; "" if it did not.
    """

    last_pass_s: float
    last_reply_s: float
    why: str = ""
