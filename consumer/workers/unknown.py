"""Jobs of tasks unknown to this consumer: for how long each is set aside.

They cannot run before another consumer takes the partition, which makes those it knows due at once.
So they wait longer and longer: for as long as the task has been unknown so far, from a second to a
minute. If there are many, the delay reaches a minute sooner, so that a hundred thousand cost other
jobs next to nothing. A later job is never due before an earlier one, which keeps the order of a
group, with one exception: a takeover during a round over all of them begins where that round was.
"""

from __future__ import annotations

from time import monotonic

from queuepool.errors.escaping import shown
from queuepool.models import ErrorRecord
from queuepool.protocol.codec import encode_error

_LEAST_S, _MOST_S = 1.0, 60.0
_FEW, _PER_S = 5000, 200  # checks of jobs of one task; beyond these, another second for each 200
_TASKS = 1000  # whose names are remembered; the others wait for a minute


class UnknownTasks:
    """The unknown tasks seen during one ownership. Worker threads call it."""

    def __init__(self) -> None:
        self._met: dict[str, tuple[float, int]] = {}  # task -> when first, how many jobs

    def pause_s(self, task: str, now_s: float | None = None) -> float:
        """Return how long to set a job of this task aside."""
        now_s = monotonic() if now_s is None else now_s
        known = self._met.get(task)
        if known is None and len(self._met) >= _TASKS:
            return _MOST_S
        since_s, jobs = known or (now_s, 0)
        self._met[task] = since_s, jobs + 1
        return min(_MOST_S, max(_LEAST_S, now_s - since_s, (jobs - _FEW) / _PER_S))


def record(task: str) -> bytes:
    """Return what is stored with a job that waits."""
    return encode_error(
        ErrorRecord(
            reason="unknown-task",
            message=f"waiting, uncharged, for a consumer with task {shown(task)}",
        )
    )
