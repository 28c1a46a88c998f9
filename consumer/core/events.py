"""What a consumer reports to its listeners (logs, metrics, tests)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from consumer.core.commands import Refused
    from consumer.core.jobs import Outcome
    from queuepool.models import AuditReport, Command
    from queuepool.verbs.owner.verbs import Acquired, Recovered, Renewal


@dataclass(frozen=True, slots=True)
class StandingBy:
    """Every partition that we may take has an owner; next look in wait_s."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class Owns:
    """A partition is ours, and this many workers run it."""

    acquired: Acquired
    workers: int


@dataclass(frozen=True, slots=True)
class RecoveredJobs:
    """A dead owner's jobs went back to their lanes."""

    result: Recovered


@dataclass(frozen=True, slots=True)
class Turned:
    """These executions are recorded, and so many jobs were claimed.

    progress: not when something else of the turn failed, or when it only renewed although there
    was something to record or to claim.
    """

    outcomes: Sequence[Outcome]
    claimed: int
    duplicates: int
    seconds: float
    progress: bool = True


@dataclass(frozen=True, slots=True)
class TasksKnown:
    """Jobs that were set aside for tasks which this consumer knows are due now: task -> jobs."""

    jobs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EvictedDead:
    """So many of the oldest dead jobs were deleted to keep dead within its bounds."""

    jobs: int


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A turn got no answer; nothing is lost, it is repeated in pause_s."""

    error: Exception
    pause_s: float


@dataclass(frozen=True, slots=True)
class ResultUndelivered:
    """A result got no answer again and again: its job counts as a failed attempt (outcome)."""

    outcome: Outcome
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Resized:
    """The worker count was set by a command, or by its absence at start."""

    workers: int
    before: int
    command: Command


@dataclass(frozen=True, slots=True)
class CommandRefused:
    """A command was not obeyed."""

    refused: Refused


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The server forgot what it had confirmed: a failover lost the newest writes."""

    renewal: Renewal


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Claims whose answer was lost went back to their lanes."""

    jobs: int


@dataclass(frozen=True, slots=True)
class Repaired:
    """Values of another type stayed in keys of the partition: this is what was put right."""

    found: AuditReport


@dataclass(frozen=True, slots=True)
class LeaseAtRisk:
    """No renewal in time: no job is started until one succeeds."""

    seconds_left: float


@dataclass(frozen=True, slots=True)
class Draining:
    """No more claims; running jobs may finish until the deadline."""

    running: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HandsBack:
    """The time to drain is over: jobs that still run are handed back, to run again elsewhere."""

    running: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The partition is released. handed_back: jobs that still ran, at the deadline."""

    partition: int
    handed_back: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """Someone newer owns the partition; this process must end."""

    error: Exception
