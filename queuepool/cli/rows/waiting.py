"""Waits for the jobs of a bulk action, and says why they wait if nothing happens."""

from __future__ import annotations

import time

from queuepool.cli.display import output
from queuepool.cli.display.board import reasons_of
from queuepool.cli.display.view import row_of
from queuepool.client.group import TaskGroup
from queuepool.errors import QueuePoolError, ScriptError, WaitTimeoutError
from queuepool.models import GroupStatus
from queuepool.partitions.partition import Partition

_STALLED_AFTER_S = 2.0  # without an ended job


def wait(
    group: TaskGroup, place: Partition, timeout_s: float | None, show: bool | None
) -> GroupStatus:
    """Wait until the group has ended. Raises WaitTimeoutError, after the reasons were shown."""
    _warn_without_consumer(place)
    stall = _Stall(place)
    try:
        return group.wait(timeout_s=timeout_s, show=show, on_progress=stall.note)
    except WaitTimeoutError:
        stall.explain()
        raise


def _warn_without_consumer(place: Partition) -> None:
    try:
        owner = place.observe().owner
    except ScriptError:  # a producer may not inspect partitions, and does not need to
        return
    if owner is None or owner.lease_ms <= 0:
        output.remark(
            f"partition {place.name} has no consumer: the jobs wait until one "
            "starts (`queuepool up`, or `queuepool consumer`)"
        )


class _Stall:
    """Notices that no job ends, and explains it: each reason once, in the words of `status`."""

    def __init__(self, place: Partition) -> None:
        self._place, self._left = place, -1
        self._since_s = 0.0
        self._said: set[int] = set()

    def note(self, status: GroupStatus) -> None:
        """Take in a status of the group."""
        now_s = time.monotonic()
        if status.left != self._left:
            self._left, self._since_s = status.left, now_s
        elif now_s - self._since_s >= _STALLED_AFTER_S:
            self._since_s = now_s
            self.explain()

    def explain(self) -> None:
        """Show the reasons that were not shown yet."""
        try:
            reasons = reasons_of(row_of(self._place.observe(), "", pool=self._place.pool))
        except QueuePoolError:  # it is no reason to end: a producer may not inspect partitions
            return
        for number, reason in enumerate(reasons):
            if reason and number not in self._said:
                self._said.add(number)
                output.remark(f"partition {self._place.name}: {reason}")
