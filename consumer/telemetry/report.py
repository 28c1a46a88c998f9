"""A consumer's log lines: a listener that logs what happened and what happens next."""

from __future__ import annotations

import logging
from functools import singledispatchmethod
from time import monotonic

from consumer.core import events
from consumer.telemetry.failures import FailureLog
from queuepool.errors.escaping import id_text, shown, typed
from queuepool.models.places import DEFAULT_POOL, partition_at, place_text

_TASKS = 1000  # whose absence is logged, once each
_SHARE_AGAIN_S = 60.0
_NAMED = 5  # jobs that one recovery buried


class EventLog:
    """Logs events worth a line. Repeated failures are logged when they begin and when they end."""

    def __init__(self, pool: str = DEFAULT_POOL) -> None:
        """Log for one pool; what concerns another one than the default says which."""
        self._pool = pool
        name = "consumer" if pool == DEFAULT_POOL else f"consumer.pool.{pool}"
        self._log = logging.getLogger(name)
        self._failing: set[type] = set()  # kinds of errors since the server answered last
        self._standing_by = False
        self._failures = FailureLog(self._log)
        self._partition = 0
        self._unknown: set[str] = set()  # tasks that a line has named
        self._level, self._changes, self._share_again_s = logging.INFO, 0, 0.0

    @singledispatchmethod
    def listen(self, event: object) -> None:
        """Log one event; those without a method below are ignored."""

    @listen.register
    def _(self, event: events.StandingBy) -> None:
        if not self._standing_by:
            self._log.info(
                "standing by: every partition has an owner; taking over when a lease expires"
            )
        self._standing_by = True

    @listen.register
    def _(self, event: events.Owns) -> None:
        ownership = event.acquired.ownership
        self._partition = partition_at(ownership.partition)
        self._log.log(
            self._level,
            "owns %s with %d workers", ownership, event.workers,
            extra={"epoch": ownership.epoch, "books_to_recover": event.acquired.epochs_to_recover},
        )  # fmt: skip

    @listen.register
    def _(self, event: events.RecoveredJobs) -> None:
        r = event.result
        if r.recovered or r.buried or r.cancelled:
            self._log.warning(
                "recovered %d jobs of a dead owner (%d had been running, %d were buried, %d "
                "cancelled)",
                r.recovered, r.crashed, len(r.buried), r.cancelled,
            )  # fmt: skip
        for job_id in r.buried[:_NAMED]:
            self._log.error(
                "job %s is dead (crashed): its consumers kept dying while it ran; "
                "see `queuepool dead show %s`",
                id_text(job_id), typed(id_text(job_id)),
                extra={"job": id_text(job_id), "partition": self._partition, "reason": "crashed"},
            )  # fmt: skip

    @listen.register
    def _(self, event: events.Resized) -> None:
        self._log.info(
            "workers %d -> %d: %s", event.before, event.workers, event.command.reason,
            extra={"command": event.command.id},
        )  # fmt: skip

    @listen.register
    def _(self, event: events.CommandRefused) -> None:
        refused = event.refused
        self._log.warning("command %s rejected: %s", refused.command.id, refused.why)

    @listen.register
    def _(self, event: events.Turned) -> None:
        if self._failing and event.progress:
            self._log.info("the server responds again")
            self._failing.clear()
        self._failures.note(event.outcomes, monotonic(), self._partition)
        for outcome in event.outcomes:
            if outcome.aside and outcome.aside not in self._unknown and len(self._unknown) < _TASKS:
                self._unknown.add(outcome.aside)
                self._log.warning(
                    "no task named %s is registered here: its jobs wait, uncharged, until a "
                    "consumer with this task (--app) takes the partition",
                    shown(outcome.aside),
                )

    @listen.register
    def _(self, event: events.TasksKnown) -> None:
        for task, jobs in event.jobs.items():
            self._log.info(
                "task %s is now registered: %d of its waiting jobs are due", shown(task), jobs
            )

    @listen.register
    def _(self, event: events.EvictedDead) -> None:
        self._log.warning(
            "%d of the oldest dead jobs were deleted because a limit was reached: "
            "CONSUMER_DEAD_KEEP_JOBS, CONSUMER_DEAD_KEEP_BYTES or CONSUMER_DEAD_KEEP_S",
            event.jobs,
        )

    @listen.register
    def _(self, event: events.TurnFailed) -> None:
        if type(event.error) not in self._failing:  # a new one may need another remedy
            self._log.warning("%s Retrying until it responds.", event.error)
        self._failing.add(type(event.error))

    @listen.register
    def _(self, event: events.ResultUndelivered) -> None:
        self._log.error(
            "the result of job %s (%d bytes) repeatedly did not reach the server in time, "
            "although smaller calls did: the attempt failed (%s)",
            id_text(event.outcome.job.id), event.size_bytes, event.outcome.reason,
            extra={"task": event.outcome.task, "attempt": event.outcome.job.attempt},
        )  # fmt: skip

    @listen.register
    def _(self, event: events.LeaseAtRisk) -> None:
        self._log.error(
            "the lease may expire in %.1f s: no job starts until it is renewed", event.seconds_left
        )

    @listen.register
    def _(self, event: events.RolledBack) -> None:
        self._log.error("the server lost confirmed writes (a failover); checking claimed jobs")

    @listen.register
    def _(self, event: events.Reconciled) -> None:
        self._log.warning("%d jobs whose claim reply was lost returned to their lanes", event.jobs)

    @listen.register
    def _(self, event: events.Repaired) -> None:
        found = event.found
        self._log.error(
            "keys of the partition held values of another type, which blocked it; %d were "
            "deleted and the partition was repaired (%d orphaned jobs, %d lanes without a seat, "
            "%d counters)",
            found.foreign, found.orphan, found.unseated, found.miscounted,
        )  # fmt: skip

    @listen.register
    def _(self, event: events.AskedToEnd) -> None:
        self._log.info("an operator asks this consumer of partition %d to end", event.partition)

    @listen.register
    def _(self, event: events.Draining) -> None:
        self._level = logging.INFO
        self._log.info(
            "draining: %d running jobs have %g s to finish", event.running, event.seconds
        )

    @listen.register
    def _(self, event: events.Leaves) -> None:
        """Log that it begins to share its time, or still does: changes may come by the dozen."""
        self._changes += 1
        if (now_s := monotonic()) < self._share_again_s:
            self._level = logging.DEBUG
            return
        self._level = logging.INFO
        self._log.info(
            "leaves %s for partition %s, where jobs wait without an owner; left a partition "
            "%d times since it last said so: more consumers would own more partitions",
            event.ownership, place_text(event.wanted, self._pool), self._changes,
        )  # fmt: skip
        self._changes, self._share_again_s = 0, now_s + _SHARE_AGAIN_S

    @listen.register
    def _(self, event: events.Stopped) -> None:
        self._failures.flush(monotonic())
        if event.handed_back:
            self._log.warning(
                "partition %s released; %d jobs did not finish in time and were handed back",
                place_text(event.partition, self._pool), event.handed_back,
            )  # fmt: skip
        else:
            place = place_text(event.partition, self._pool)
            self._log.log(self._level, "partition %s released; all jobs finished", place)
