"""What operators do to schedules and batches, each with a line in the log. Blocking."""

from __future__ import annotations

import logging

from coordinator.api.callers import cleaned
from coordinator.api.wording import plain
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.models import Schedule
from queuepool.models.flows import BatchState

_log = logging.getLogger("coordinator.operators")


class UnknownBatchError(QueuePoolError):
    """There is no batch of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no batch {name}: it has expired or never existed")


class FlowActs:
    """Acts of operators. Safe to share between threads."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool

    def cancel_batch(self, name: str, *, reason: str, actor: str) -> tuple[int, str]:
        """Cancel a batch or a flow; returns (jobs cancelled or asked to stop, its state).

        Raises UnknownBatchError.
        """
        batch = self._pool.batch(name)
        if batch.status().state is BatchState.UNKNOWN:
            raise UnknownBatchError(batch.name)
        jobs = batch.cancel()
        _tell("cancelled batch", batch.name, jobs, reason, actor)
        return jobs, str(batch.status().state)

    def set_schedule(self, schedule: Schedule, *, reason: str, actor: str) -> bool:
        """Define a schedule; returns whether that changed it."""
        changed = self._pool.schedules.on_behalf_of(actor).set(schedule)
        return _tell("set schedule", schedule.name, changed, reason, actor)

    def pause_schedule(self, name: str, *, on: bool, reason: str, actor: str) -> bool:
        """Pause or resume a schedule; returns whether that changed it.

        Raises UnknownScheduleError.
        """
        schedules = self._pool.schedules.on_behalf_of(actor)
        changed = schedules.pause(name) if on else schedules.resume(name)
        return _tell(f"{'paused' if on else 'resumed'} schedule", name, changed, reason, actor)

    def run_schedule(self, name: str, *, reason: str, actor: str) -> tuple[str, bool]:
        """Enqueue the job of a schedule; returns (its id, whether it was enqueued).

        Raises UnknownScheduleError.
        """
        enqueued = self._pool.schedules.run(name)
        accepted = _tell("ran schedule", name, enqueued.status == "accepted", reason, actor)
        return enqueued.job_id, accepted

    def remove_schedule(self, name: str, *, reason: str, actor: str) -> bool:
        """Forget a schedule; returns whether there was one."""
        changed = self._pool.schedules.remove(name)
        return _tell("removed schedule", name, changed, reason, actor)


def _tell(done: str, name: str, changed: int | bool, reason: str, actor: str) -> bool:
    _log.info(
        "%s %s", done, cleaned(name),
        extra={"changed": changed, "reason": plain(reason), "actor": actor},
    )  # fmt: skip
    return bool(changed)
