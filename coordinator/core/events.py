"""What a coordinator reports to its listeners (logs, metrics, tests)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordinator.core.model import PartitionDecision, ScaleCommand, Snapshot
from queuepool.models import ScalingRecord
from queuepool.models.doctor import Finding
from queuepool.models.log import LogEntry


@dataclass(frozen=True, slots=True)
class LeadGained:
    """The process decides from now on, under this epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class LeadLost:
    """The process no longer decides. Worker counts stay as they are."""

    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class LeaderChanged:
    """Another process leads."""

    epoch: int
    address: str


@dataclass(frozen=True, slots=True)
class LeadUnknown:
    """The server that holds the lead did not answer."""

    error: Exception


@dataclass(frozen=True, slots=True)
class ScalingChanged:
    """Another scaling record is obeyed from now on."""

    record: ScalingRecord


@dataclass(frozen=True, slots=True)
class ScalingRefused:
    """A scaling record is not obeyed, or not all of it. Told once per problem.

    stays: what stays in force instead.
    """

    version: int
    problem: str
    stays: str = "the previous one"


@dataclass(frozen=True, slots=True)
class ShadowStarted:
    """A candidate runs beside the policy from now on. text: as it was set."""

    text: str


@dataclass(frozen=True, slots=True)
class ShadowEnded:
    """A candidate no longer runs. problem: why before its time; empty if it was over."""

    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class ObservationFailed:
    """Partitions of one server could not be observed in this cycle; their counts are held."""

    server: str
    partitions: tuple[int, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that is worth a record: a change, a command, or a new kind of hold."""

    decision: PartitionDecision


@dataclass(frozen=True, slots=True)
class CommandSent:
    """A command is in the partition's stream."""

    command: ScaleCommand
    command_id: str


@dataclass(frozen=True, slots=True)
class CommandFailed:
    """A command may or may not be in the stream; it is sent again while needed."""

    command: ScaleCommand
    problem: str


@dataclass(frozen=True, slots=True)
class CommandRefused:
    """The stream holds a command of a newer leader: this process was replaced."""

    command: ScaleCommand
    newest: str


@dataclass(frozen=True, slots=True)
class RecordsLost:
    """Decisions could not be stored while their server was down."""

    count: int


@dataclass(frozen=True, slots=True)
class ScheduleFired:
    """The job of a schedule's time is in. late_s: how long after the time."""

    name: str
    job_id: str
    late_s: float


@dataclass(frozen=True, slots=True)
class SchedulePassed:
    """Times of a schedule passed without a job. why: missed; or overlapped, by its last job."""

    name: str
    why: Literal["missed", "overlapped"]
    count: int


@dataclass(frozen=True, slots=True)
class ScheduleFailed:
    """A schedule cannot fire now; it is tried again. Told once per problem; "" name: all."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class OperatorCalled:
    """A call of an operators' method. partition, group and so on: on what; None: not that.

    Of many refused calls only the first are events of this kind; `CallsLeftOut` counts the rest.
    entry: of the log, if an operator called.
    """

    actor: str
    role: str
    method: str
    partition: int | Literal["all"] | None
    result: str
    group: str | None = None
    limit: str | None = None
    tenant: str | None = None
    batch: str | None = None
    schedule: str | None = None
    task: str | None = None
    job: str | None = None
    jobs: str | None = None
    entry: LogEntry | None = None


@dataclass(frozen=True, slots=True)
class CallRefused:
    """A call of the API was refused. result: name of its status code."""

    result: str


@dataclass(frozen=True, slots=True)
class CallsLeftOut:
    """More calls of operators' methods were refused in the last window_s."""

    method: str
    result: str
    count: int
    window_s: float


@dataclass(frozen=True, slots=True)
class MoveBegun:
    """The leader moves slots that nobody asked it to move. move: in words."""

    move: str
    why: str


@dataclass(frozen=True, slots=True)
class FindingCame:
    """The doctor found something that it had not found before."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class FindingWent:
    """The doctor no longer finds it."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class CycleEnded:
    """A pass of the loop completed."""

    seconds: float
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A pass failed unexpectedly; the next one follows in pause_s."""

    error: Exception
    pause_s: float
