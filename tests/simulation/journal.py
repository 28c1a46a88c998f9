"""What happened in a simulation, as its actors and its server saw it; the checker reads it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from consumer.core.jobs import End
from queuepool.verbs import Verb


@dataclass(slots=True)
class Execution:
    """One start of one job. end_s: None while it runs or when its process died."""

    job_id: bytes
    epoch: int
    start_s: float
    lease_left_s: float  # by the server's books, at the start; below 0 it was no one's right
    suspect: bool
    end_s: float | None = None
    end: End | None = None
    killed_s: float | None = None
    after: int = 0  # so many records were there when it began

    def runs_at(self, at_s: float) -> bool:
        """Return whether it had begun and not stopped at a time."""
        over_s = self.end_s if self.end_s is not None else self.killed_s
        return self.start_s <= at_s and (over_s is None or over_s > at_s)


@dataclass(frozen=True, slots=True)
class Terminal:
    """One end of one job in the books: done, dead, crashed, cancelled or expired."""

    job_id: bytes
    state: str
    at_s: float


@dataclass(frozen=True, slots=True)
class Record:
    """One call as the server executed it, and which jobs ended in it: (id, state)."""

    at_s: float
    verb: Verb[Any]
    reply: Any
    ended: list[tuple[bytes, str]]
    recovering: int | None  # of `recover`: whose jobs it returns


@dataclass(slots=True)
class Journal:
    """Everything the checker needs. trace: called with every line, when someone wants to read."""

    trace: Callable[[float, str, str], None] | None = None
    accepted: set[bytes] = field(default_factory=set)  # the producer heard so
    rejected: set[bytes] = field(default_factory=set)
    unknown: set[bytes] = field(default_factory=set)
    stored: list[bytes] = field(default_factory=list)  # each time a body appeared on the server
    lane_of: dict[bytes, tuple[object, ...]] = field(default_factory=dict)
    limits_of: dict[bytes, tuple[str, ...]] = field(default_factory=dict)  # by job
    gave_up: set[int] = field(default_factory=set)  # epochs that handed back what still ran
    handed_back: set[bytes] = field(default_factory=set)
    cancel_asked: set[bytes] = field(default_factory=set)
    executions: list[Execution] = field(default_factory=list)
    terminals: list[Terminal] = field(default_factory=list)
    records: list[Record] | None = None  # kept only for scenarios with extras
    unique: dict[bytes, bytes] | None = None  # key -> its holder, as stored at the end
    lost_s: dict[int, float] = field(default_factory=dict)  # epoch -> when its right ended
    epochs: list[int] = field(default_factory=list)
    disturbed: set[bytes] = field(default_factory=set)  # named by a call that ran late or twice
    admitted_twice: set[str] = field(default_factory=set)  # limits of whose gates a call did so
    # Booked as begun in a call whose caller never heard of it, or did not begin it in time.
    unheard: Counter[bytes] = field(default_factory=Counter)
    targets: list[tuple[str, int, int, int]] = field(default_factory=list)  # who, target, min, max
    problems: list[str] = field(default_factory=list)  # found while it ran
    seen: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def note(self, at_s: float, who: str, what: str) -> None:
        """Tell a reader what happens."""
        if self.trace is not None:
            self.trace(at_s, who, what)
