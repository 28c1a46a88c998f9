"""Batches of jobs as people define and see them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from queuepool.models.jobs import ErrorRecord, in_words

OnFailure = Literal["fail", "partial", "wait"]
OnDeadline = Literal["fail", "partial"]


class BatchState(StrEnum):
    """The outcome of a batch. UNKNOWN: there is none of that name, or it was forgotten."""

    OPEN = "open"  # its continuation waits
    FIRED = "fired"  # its continuation was let go
    FAILED = "failed"  # its continuation died, since jobs failed
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class EndOf(StrEnum):
    """How a job of a batch has ended."""

    OPEN = "open"  # it has not
    DONE = "done"
    DEAD = "dead"  # it may be replayed
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    EVICTED = "evicted"  # it died, and was deleted to make room
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of one job of a batch. result: what its handler returned, None unless it is done.

    error: of a dead one; None of one of so many that not all errors are kept. step: of a flow, in
    which the job is.
    """

    number: int
    end: EndOf
    result: Any = None
    error: ErrorRecord | None = None
    step: str | None = None

    @property
    def ok(self) -> bool:
        """Return whether the job succeeded."""
        return self.end is EndOf.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """A batch: how many of its jobs have ended, and what becomes of its continuation.

    called: the task of the continuation. job_id: of the continuation. total: jobs, 0 until sealed.
    lost: jobs that were cancelled or expired, or died and were deleted. sealed: whether all jobs
    are enqueued; until then nothing concludes it but its deadline. deadline_ms, created_ms,
    ended_ms: of the server's clock. by_deadline: whether that concluded it. within: the batch that
    it is in. inner: batches in it, at most 100. part, graph: if it is part of a flow.
    """

    name: str
    state: BatchState
    called: str = ""
    job_id: str = ""
    on_failure: OnFailure = "fail"
    on_deadline: OnDeadline = "fail"
    total: int = 0
    done: int = 0
    dead: int = 0
    lost: int = 0
    sealed: bool = False
    by_deadline: bool = False
    deadline_ms: int = 0
    created_ms: int = 0
    ended_ms: int | None = None
    within: str | None = None
    inner: tuple[str, ...] = ()
    part: str = ""
    graph: bytes = field(default=b"", repr=False)

    @property
    def left(self) -> int:
        """Return how many jobs have not ended."""
        return max(0, self.total - self.done - self.dead - self.lost)

    def __repr__(self) -> str:
        names = ("name", "state", "called", "total", "done", "dead", "lost", "sealed")
        return in_words(self, names)


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A batch in a list. part: of a flow: "f" all of it, "s" a step, "g" what a job waits for.

    next_ms: when its owner looks at it next; 0: all its jobs have ended.
    """

    name: str
    state: BatchState
    called: str
    total: int
    done: int
    dead: int
    lost: int
    deadline_ms: int
    created_ms: int
    part: str = ""
    next_ms: int = 0


@dataclass(frozen=True, slots=True)
class BatchTree:
    """A batch, and the batches in it."""

    status: BatchStatus
    inner: tuple[BatchTree, ...] = ()


class FlowState(StrEnum):
    """What a flow, or a step of one, does. UNKNOWN: there is none, or it was forgotten."""

    WAITING = "waiting"  # for the steps that it follows
    RUNNING = "running"  # or its jobs wait for workers
    DONE = "done"
    FAILED = "failed"  # all of its jobs have ended, and some have failed
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatus:
    """A step of a flow: how many of its jobs have ended.

    task: of its jobs. after: the steps that it follows. batch: which its jobs are in. deadline_ms:
    until when it waits for them, of the server's clock; None if it does not wait.
    """

    name: str
    task: str
    state: FlowState
    after: tuple[str, ...] = ()
    total: int = 0
    done: int = 0
    dead: int = 0
    lost: int = 0
    batch: str = ""
    deadline_ms: int | None = None

    def __repr__(self) -> str:
        return in_words(self, ("name", "state", "after", "total", "done", "dead", "lost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatus:
    """A flow, and its steps in the order in which they were declared.

    name: its batch, which pool.flow() takes. called: the name it was declared with, and its id.
    enqueued: whether all of it is; if not, enqueue it again with the same id.
    """

    name: str
    called: str
    state: FlowState
    steps: tuple[StepStatus, ...] = ()
    enqueued: bool = False
    created_ms: int = 0
    ended_ms: int | None = None

    def step(self, name: str) -> StepStatus:
        """Return the step of that name. Raises KeyError."""
        found = {step.name: step for step in self.steps}
        return found[name]

    def __repr__(self) -> str:
        return in_words(self, ("name", "called", "state", "steps"))


ENDS: Mapping[bytes, EndOf] = {  # as scripts name them
    b"o": EndOf.OPEN,
    b"d": EndOf.DONE,
    b"x": EndOf.DEAD,
    b"c": EndOf.CANCELLED,
    b"e": EndOf.EXPIRED,
    b"v": EndOf.EVICTED,
    b"g": EndOf.DISCARDED,
}
