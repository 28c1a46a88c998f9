"""Jobs of tasks that this consumer does not know: for how long each is set aside.

No one here can run them before another consumer takes the partition, which makes those that it
knows due at once. So they wait longer and longer: as long as the task has been known to be unknown,
from a second to a minute; and when there are many, the sooner a minute, so that a hundred thousand
cost other jobs nothing that counts. A later job never gets an earlier time than the one before it,
which keeps the order of a group, but for one thing: a takeover during a round of looking at all
begins where that round stood.
"""

from __future__ import annotations

from time import monotonic

from queuepool.errors import shown
from queuepool.models import ErrorRecord
from queuepool.protocol.codec import encode_error

_LEAST_S, _MOST_S = 1.0, 60.0
_FEW, _PER_S = 5000, 200  # looks at jobs of one task; beyond these, a second more for each 200
_TASKS = 1000  # whose names are remembered; the others wait for a minute


class UnknownTasks:
    """The unknown tasks that were met under one ownership. Worker threads call it."""

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
            message=f"waiting, uncharged, for a consumer that knows task {shown(task)}",
        )
    )
