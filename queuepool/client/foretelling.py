"""Watches a task group for a moment, to foretell when it ends: the steps of both pools."""

from __future__ import annotations

import time
from collections.abc import Callable

from queuepool.client.arguments import check_wait
from queuepool.client.effects import Pause, Steps
from queuepool.models import GroupStatus
from queuepool.models.eta import Eta, Pace, foretell

_LOOKS = 4  # besides the first
LONGEST_S = 60.0


def watched(look: Callable[[], Steps[GroupStatus]], over_s: float) -> Steps[Eta | None]:
    """Return when the jobs that are there now have ended, as far as that can be told.

    look: asks for the group's totals.
    """
    over_s = min(check_wait("over_s", over_s), LONGEST_S)
    status, at_s = (yield from look()), time.monotonic()
    pace, running, seconds = Pace(), 0.0, 0.0
    for _ in range(_LOOKS):
        if status.left == 0:
            return foretell(0, 0, pace)
        if status.held_ms is not None:
            return None
        yield Pause(over_s / _LOOKS)
        now, now_s = (yield from look()), time.monotonic()
        passed_s = max(now_s - at_s, 1e-3)
        between = (status.in_flight + now.in_flight) / 2
        pace = pace.faded(1.0, ended(now) - ended(status), between * passed_s)
        running, seconds = running + between * passed_s, seconds + passed_s
        status, at_s = now, now_s
    left = status.ready + status.parked + status.in_flight
    if left == 0:
        return None if status.left else foretell(0, 0, pace)
    return foretell(left, max(round(running / seconds), status.in_flight and 1), pace)


def ended(status: GroupStatus) -> int:
    """Return how many jobs of a group have ended."""
    return status.total - status.left
