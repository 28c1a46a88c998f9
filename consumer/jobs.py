"""A claimed job in memory, and how its execution ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from queuepool import codec


class End(IntEnum):
    """How an execution ended, by what is to be recorded."""

    DONE = 0
    RETRY = 1
    BURY = 2
    ABANDON = 3  # stopped because cancellation was requested
    HAND_BACK = 4  # never started


class Claimed:
    """One claimed job. The loop makes it; the worker that runs it writes `started_s` and `context`.

    ahead: booked as waiting in memory, not as started.
    """

    __slots__ = (
        "ahead", "attempt", "body", "cancelled", "claimed_s", "context", "crashes", "group", "id",
        "started_s", "waited_ms",
    )  # fmt: skip

    def __init__(
        self, id: bytes, body: bytes, attempt: int, crashes: int, now_ms: int, claimed_s: float
    ) -> None:
        self.id, self.body, self.attempt, self.crashes = id, body, attempt, crashes
        self.group = codec.read_group(body)
        self.waited_ms = max(0, now_ms - codec.read_enqueued_ms(body))
        self.claimed_s, self.started_s = claimed_s, 0.0
        self.ahead = self.cancelled = False
        self.context: object | None = None


@dataclass(slots=True)
class Outcome:
    """The end of one execution: what to record. Times are time.monotonic() seconds."""

    job: Claimed
    end: End
    started_s: float
    ended_s: float
    task: str = ""
    result: bytes | None = None
    result_ttl_ms: int = 0
    delay_ms: int = 0
    charged: bool = True
    error: bytes = b""
    reason: str = ""
