"""What can happen to an execution of a job, where, and what it may show of a handler."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """What happens at a place.

    KILL: the consumer is gone, and another runs the job again.
    TWICE: the consumer stalls, another runs the whole job, then the first one goes on.
    CANCEL: someone cancels the job. TIMEOUT: the job's time is over.
    FORWARD, BACK: the queue's clock jumps a minute, so that the lease is over, or not for long.
    """

    KILL = "kill"
    TWICE = "twice"
    CANCEL = "cancel"
    TIMEOUT = "timeout"
    FORWARD = "forward"
    BACK = "back"


class Verdict(StrEnum):
    """What a fault has shown.

    LOST: a job that succeeds undisturbed did not, or an effect is missing.
    TWICE: an effect is there more often, or more jobs were enqueued.
    OUT_OF_ORDER: the same effects in another order.
    NOT_IDEMPOTENT: the world is different from what it is undisturbed.
    """

    LOST = "lost"
    TWICE = "twice"
    OUT_OF_ORDER = "out of order"
    NOT_IDEMPOTENT = "not idempotent"


@dataclass(frozen=True, slots=True)
class Place:
    """Before a line that an execution of a job runs, or after its last one.

    execution: of all that the scenario runs, from 0; step: how many lines it ran before.
    """

    execution: int
    step: int
    task: str
    line: str  # "orders.py:14", or "its last line" for what comes after it
    is_end: bool = False

    def __str__(self) -> str:
        return f"{'after' if self.is_end else 'before'} {self.line} of {self.task}"


_DONE = {
    FaultKind.KILL: "consumer killed",
    FaultKind.TWICE: "job run by another consumer as well,",
    FaultKind.CANCEL: "cancelled",
    FaultKind.TIMEOUT: "timed out",
    FaultKind.FORWARD: "clock jumped forward",
    FaultKind.BACK: "clock jumped back",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one place. `print(fault)` says what happened."""

    kind: FaultKind
    place: Place

    def __str__(self) -> str:
        return f"{_DONE[self.kind]} {self.place}"
