"""The threads beside the control loop of a coordinator, and the boards that they write to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from coordinator.core.model import PartitionView
from coordinator.loop.doctor import DoctorWatch
from coordinator.loop.firing import ScheduleRunner
from coordinator.loop.limit_watch import LimitWatch
from coordinator.loop.moving import Mover
from coordinator.loop.relieving import Reliever
from coordinator.settings import CoordinatorSettings
from coordinator.snapshots.limits import LimitBoard
from coordinator.snapshots.moves import MoveBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.snapshots.verdict import VerdictBoard
from queuepool.client.pool import QueuePool
from queuepool.telemetry.events import Listener


class Helper(Protocol):
    """A thread beside the control loop."""

    def start(self) -> None:
        """Start the thread."""

    def stop(self) -> None:
        """Ask it to end."""


class Boards(NamedTuple):
    """What helpers tell metrics and the API."""

    limits: LimitBoard
    moves: MoveBoard
    verdicts: VerdictBoard


def helpers(
    pool: QueuePool,
    settings: CoordinatorSettings,
    epoch: Callable[[], int],
    store: SnapshotStore,
    boards: Boards,
    *,
    others: Callable[[], Sequence[PartitionView]],
    emit: Listener,
) -> list[Helper]:
    """Return the helpers, in the order in which they start. epoch: while this process leads."""
    reliever = Reliever(boards.verdicts, settings.auto_moves, emit=emit)
    return [
        LimitWatch(pool, boards.limits),
        ScheduleRunner(pool, epoch, emit=emit),
        Mover(pool, epoch, settings.move_share, board=boards.moves, reliever=reliever),
        DoctorWatch(pool, store, boards.verdicts, others=others, emit=emit),
    ]
