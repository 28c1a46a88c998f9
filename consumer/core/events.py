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
    """Every partition that we may take has an owner; the next check is in wait_s."""

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
    """These executions were recorded, and `claimed` jobs were claimed.

    progress: False if another part of the turn failed, or if it only renewed although there was
    something to record or to claim.
    """

    outcomes: Sequence[Outcome]
    claimed: int
    duplicates: int
    seconds: float
    progress: bool = True


@dataclass(frozen=True, slots=True)
class TasksKnown:
    """Jobs that were set aside for tasks known to this consumer are due now: task -> jobs."""

    jobs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EvictedDead:
    """The oldest dead jobs were deleted to stay within the limits."""

    jobs: int


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A turn got no reply; nothing is lost, it is repeated in pause_s."""

    error: Exception
    pause_s: float


@dataclass(frozen=True, slots=True)
class ResultUndelivered:
    """A result repeatedly got no reply: its job counts as a failed attempt (outcome)."""

    outcome: Outcome
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Resized:
    """The worker count was set by a command, or at the start without one."""

    workers: int
    before: int
    command: Command


@dataclass(frozen=True, slots=True)
class CommandRefused:
    """A command was rejected."""

    refused: Refused


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The server lost confirmed writes: a failover lost the latest ones."""

    renewal: Renewal


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Claims whose reply was lost went back to their lanes."""

    jobs: int


@dataclass(frozen=True, slots=True)
class Repaired:
    """Values of the wrong type stayed in keys of the partition: this was repaired."""

    found: AuditReport


@dataclass(frozen=True, slots=True)
class LeaseAtRisk:
    """No renewal in time: no job starts until one succeeds."""

    seconds_left: float


@dataclass(frozen=True, slots=True)
class Draining:
    """No more claims; running jobs may finish until the deadline."""

    running: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HandsBack:
    """The time to drain is over: jobs still running are handed back, to run again elsewhere."""

    running: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The partition is released. handed_back: jobs still running at the deadline."""

    partition: int
    handed_back: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """A newer owner holds the partition; this process must exit."""

    error: Exception
