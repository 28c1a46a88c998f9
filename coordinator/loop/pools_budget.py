"""What the pools of a queue know of each other: enough to share one budget of workers.

The coordinators of all pools of a process note here what they last saw. So a leader knows the other
pools also where another process leads them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from coordinator.core.model import PartitionView
from coordinator.core.overlays.sharing import PoolUse, Room, room_of
from coordinator.core.overlays.values import ScaleMode
from coordinator.core.planner import Planner
from queuepool.models.places import DEFAULT_POOL


class BudgetOfPools:
    """The use of each pool, and the budget of all. Safe to share between threads."""

    def __init__(self) -> None:
        self._uses: Mapping[str, PoolUse] = {}
        self._total: int | None = None
        self._lock = threading.Lock()

    def note(self, pool: str, views: Iterable[PartitionView], planner: Planner) -> None:
        """Note what a pool has after a cycle. planner: with what operators set for that pool."""
        views, set_ = [view for view in views if not _is_vacant(view)], planner.overrides
        by_hand = set_.mode is ScaleMode.MANUAL
        use = PoolUse(
            workers=sum(view.target for view in views),
            waits=any(view.state is not None and view.state.backlog > 0 for view in views),
            share=set_.share,
            least=sum(view.target if by_hand else _least(view) for view in views),
        )
        with self._lock:
            self._uses = {**self._uses, pool: use}
            if pool == DEFAULT_POOL:
                self._total = set_.total_budget

    def planner_of(self, pool: str, planner: Planner) -> Planner:
        """Return a planner with the room of its pool; the same one if that is as before."""
        room = self._room(pool)
        return planner if planner.room == room else replace(planner, room=room)

    def _room(self, pool: str) -> Room | None:
        total, uses = self._total, self._uses
        if total is None or pool not in uses:
            return None
        return room_of(pool, total, uses)


def _is_vacant(view: PartitionView) -> bool:
    """Return whether no consumer runs it: then it has no workers, whatever was wanted last."""
    return not view.problem and view.state is not None and view.state.owner is None


def _least(view: PartitionView) -> int:
    """Return how many workers of a partition no budget takes away."""
    is_fixed = view.problem or view.manual_until_ms is not None
    return view.target if is_fixed else min(view.target, 1)
