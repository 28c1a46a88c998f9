"""What a consumer reports to its listeners (logs, metrics, tests)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from consumer.core.commands import Refused
    from consumer.core.jobs import Outcome
    from queuepool.models import AuditReport, Command
    from queuepool.verbs.owner.verbs import Acquired, Ownership, Recovered, Renewal


class StandingBy(Struct, frozen=True):
    """Every partition that we may take has an owner; the next check is in wait_s."""

    wait_s: float


class Owns(Struct, frozen=True):
    """A partition is ours, and this many workers run it."""

    acquired: Acquired
    workers: int


class AskedToEnd(Struct, frozen=True):
    """An operator asked this owner to drain and to end."""

    partition: int


class RecoveredJobs(Struct, frozen=True):
    """A dead owner's jobs went back to their lanes."""

    result: Recovered


class Turned(Struct, frozen=True):
    """These executions were recorded, and `claimed` jobs were claimed.

    progress: False if another part of the turn failed, or if it only renewed although there was
    something to record or to claim.
    """

    outcomes: Sequence[Outcome]
    claimed: int
    duplicates: int
    seconds: float
    progress: bool = True


class TasksKnown(Struct, frozen=True):
    """Jobs that were set aside for tasks known to this consumer are due now: task -> jobs."""

    jobs: Mapping[str, int]


class EvictedDead(Struct, frozen=True):
    """The oldest dead jobs were deleted to stay within the limits."""

    jobs: int


class TurnFailed(Struct, frozen=True):
    """A turn got no reply; nothing is lost, it is repeated in pause_s."""

    error: Exception
    pause_s: float


class ResultUndelivered(Struct, frozen=True):
    """A result repeatedly got no reply: its job counts as a failed attempt (outcome)."""

    outcome: Outcome
    size_bytes: int


class Resized(Struct, frozen=True):
    """The worker count was set by a command, or at the start without one."""

    workers: int
    before: int
    command: Command


class CommandRefused(Struct, frozen=True):
    """A command was rejected."""

    refused: Refused


class RolledBack(Struct, frozen=True):
    """The server lost confirmed writes: a failover lost the latest ones."""

    renewal: Renewal


class Reconciled(Struct, frozen=True):
    """Claims whose reply was lost went back to their lanes."""

    jobs: int


class Repaired(Struct, frozen=True):
    """Values of the wrong type stayed in keys of the partition: this was repaired."""

    found: AuditReport


class LeaseAtRisk(Struct, frozen=True):
    """No renewal in time: no job starts until one succeeds."""

    seconds_left: float


class Draining(Struct, frozen=True):
    """No more claims; running jobs may finish until the deadline."""

    running: int
    seconds: float


class Leaves(Struct, frozen=True):
    """No more claims here: work waits elsewhere without an owner; running jobs end first."""

    ownership: Ownership
    running: int
    wanted: int


class HandsBack(Struct, frozen=True):
    """The time to drain is over: jobs still running are handed back, to run again elsewhere."""

    running: int


class Stopped(Struct, frozen=True):
    """The partition is released. handed_back: jobs still running at the deadline."""

    partition: int
    handed_back: int
