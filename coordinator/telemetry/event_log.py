"""A coordinator's log lines: a listener. Conditions are logged when they start and end."""

from __future__ import annotations

import logging

from coordinator.core import events as e
from coordinator.core.model import Snapshot
from coordinator.policy import Direction
from queuepool.models.doctor import Severity
from queuepool.models.places import DEFAULT_POOL

_audit = logging.getLogger("coordinator.audit")


class EventLog:
    """Logs events. Called on the loop's thread; for calls, on the API's."""

    def __init__(self, pool: str = DEFAULT_POOL) -> None:
        """Log for one pool; what concerns another one than the default says which."""
        name = "coordinator" if pool == DEFAULT_POOL else f"coordinator.pool.{pool}"
        self._log = logging.getLogger(name)
        self._away: dict[str, str] = {}  # server -> problem
        self._lead_unknown = False

    def __call__(self, event: object) -> None:
        """Log one event if it is new."""
        match event:
            case e.LeadGained(epoch):
                self._log.info("leading", extra={"epoch": epoch})
            case e.LeadLost(epoch, why):
                self._log.info("lost leadership: %s", why, extra={"epoch": epoch})
            case e.LeaderChanged(epoch, address):
                self._log.info("standing by", extra={"epoch": epoch, "leader": address})
            case e.LeadUnknown(error):
                self._lead_is_unknown(error)
            case e.ObservationFailed(server, partitions, problem):
                self._server_is_away(server, partitions, problem)
            case e.Decided(decision):
                level = logging.INFO if decision.direction is not Direction.HOLD else logging.DEBUG
                self._log.log(
                    level, "partition %d: %d -> %d workers: %s",
                    decision.partition, decision.previous, decision.target, decision.reason,
                )  # fmt: skip
            case e.CommandSent() | e.CommandFailed() | e.CommandRefused():
                _tell_command(self._log, event)
            case e.OperatorCalled() | e.CallsLeftOut():
                _tell_call(event)
            case e.RecordsLost(count):
                self._log.warning("%d decisions were not stored while their server was down", count)
            case e.TurnFailed(error, pause_s):
                self._log.error(
                    "a pass failed; the next one starts in %.1f s", pause_s, exc_info=error
                )
            case e.CycleEnded(_seconds, snapshot):
                self._cycle_ended(snapshot)
            case _:
                _tell_others(self._log, event)

    def _lead_is_unknown(self, error: Exception) -> None:
        if not self._lead_unknown:
            self._log.warning("the leader is unknown; retrying: %s", error)
        self._lead_unknown = True

    def _server_is_away(self, server: str, partitions: tuple[int, ...], problem: str) -> None:
        if server not in self._away:
            self._log.warning(
                "server %s: %d partitions cannot be observed; their worker counts stay the "
                "same: %s",
                server, len(partitions), problem,
            )  # fmt: skip
        self._away[server] = problem

    def _cycle_ended(self, snapshot: Snapshot) -> None:
        if self._lead_unknown and snapshot.leader_known:
            self._lead_unknown = False
            self._log.info("the leader is known again", extra={"epoch": snapshot.leader_epoch})
        failing = {view.server for view in snapshot.partitions if view.problem}
        for server in [name for name in self._away if name not in failing]:
            del self._away[server]
            self._log.info("server %s responds again", server)


def _tell_finding(log: logging.Logger, event: e.FindingCame | e.FindingWent) -> None:
    found = event.finding
    known = {"kind": found.kind, "subject": found.subject}
    if isinstance(event, e.FindingWent):
        log.info("%s: %s has ended", found.subject, found.kind, extra=known)
        return
    level = logging.INFO if found.severity is Severity.NOTICE else logging.WARNING
    log.log(level, "%s: %s", found.subject, found.what, extra=known)


def _tell_schedule(
    log: logging.Logger, event: e.ScheduleFired | e.SchedulePassed | e.ScheduleFailed
) -> None:
    match event:
        case e.ScheduleFired(name, job_id, late_s):
            log.info("schedule %s: enqueued %s", name, job_id, extra={"late_s": round(late_s, 3)})
        case e.SchedulePassed(name, "missed", count):
            log.warning(
                "schedule %s: %d times were missed and will not be made up for", name, count
            )
        case e.SchedulePassed(name, _, count):
            log.info(
                "schedule %s: %d times were skipped, since its previous job has not ended",
                name,
                count,
            )
        case e.ScheduleFailed("", problem):
            log.warning("schedules cannot be read or recorded; retrying: %s", problem)
        case e.ScheduleFailed(name, problem):
            log.warning("schedule %s cannot fire; retrying: %s", name, problem)


def _tell_others(log: logging.Logger, event: object) -> None:
    match event:
        case e.ScalingChanged(record):
            values = " ".join(f"{name}={text}" for name, text in record.values.items())
            log.info(
                "scaling record: %s", values or "no values",
                extra={"version": record.version, "by": record.by, "reason": record.reason},
            )  # fmt: skip
        case e.ScalingRefused(version, problem, stays):
            log.warning(
                "the scaling record (version %d) is not obeyed; %s stays in force: %s",
                version,
                stays,
                problem,
            )
        case e.ShadowStarted(text):
            log.info("shadow: %s runs beside the policy without changing anything", text)
        case e.ShadowEnded(text, ""):
            log.info("shadow: %s has ended; `queuepool policy shadow` shows its figures", text)
        case e.ShadowEnded(text, problem):
            log.warning(
                "shadow: %s failed and was stopped; nothing else is affected: %s", text, problem
            )
        case e.ScheduleFired() | e.SchedulePassed() | e.ScheduleFailed():
            _tell_schedule(log, event)
        case e.MoveBegun(move, why):
            log.info("a move %s begins, as %s", move, why)
        case e.FindingCame() | e.FindingWent():
            _tell_finding(log, event)


def _tell_call(event: e.OperatorCalled | e.CallsLeftOut) -> None:
    match event:
        case e.OperatorCalled(actor, role, method, partition, result, group, limit):
            named = {"group": group, "limit": limit}
            named |= {"batch": event.batch, "schedule": event.schedule, "task": event.task}
            named |= {"job": event.job, "jobs": event.jobs}
            _audit.info(
                "%s by %s: %s", method, role, result,
                extra={
                    "actor": actor, "role": role, "method": method, "partition": partition,
                    "result": result,
                    **{what: name for what, name in named.items() if name is not None},
                },
            )  # fmt: skip
        case e.CallsLeftOut(method, result, count, window_s):
            _audit.warning(
                "%s: %d more calls were rejected within %d s: %s", method, count, window_s, result,
                extra={"method": method, "result": result, "left_out": count},
            )  # fmt: skip


def _tell_command(
    log: logging.Logger, event: e.CommandSent | e.CommandFailed | e.CommandRefused
) -> None:
    command = event.command
    match event:
        case e.CommandSent(_, command_id):
            log.info(
                "sent %s to partition %d",
                command.type,
                command.partition,
                extra={"target": command.target, "command": command_id},
            )
        case e.CommandFailed(_, problem):
            log.warning(
                "%s may not have reached partition %d; it is repeated as long as it is needed: %s",
                command.type,
                command.partition,
                problem,
            )
        case e.CommandRefused(_, newest):
            log.warning(
                "%s to partition %d rejected: %s is newer, another coordinator leads",
                command.type,
                command.partition,
                newest,
            )
