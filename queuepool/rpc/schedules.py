"""Schedules as messages of the API, and back. Pure.

Payloads and unique keys are sent to a coordinator, and never by it.
"""

from __future__ import annotations

from typing import Any

from queuepool.models import Schedule, ScheduleStatus
from queuepool.rpc.jobs import number, text
from queuepool.rpc.v1 import schedule_pb2

NEXT = 5  # times that are shown
_OPTIONS = ("timezone", "missed", "catch_up", "grace_s", "overlap", "tenant", "tier", "pool")
_IF_SAID = ("max_attempts", "timeout_s", "expires_s")


def schedule_of(request: Any, payload: Any) -> Schedule:
    """Return what a SetScheduleRequest defines, given its payload, decoded.

    Raises InvalidInputError.
    """
    definition = request.definition
    options = {field: value for field in _OPTIONS if (value := getattr(definition, field))}
    options |= {f: getattr(definition, f) for f in _IF_SAID if definition.HasField(f)}
    return Schedule(
        request.schedule,
        definition.task,
        payload,
        definition.partition_key,
        cron=definition.cron or None,
        every=definition.every_s or None,
        limit=tuple(definition.limits) or None,
        unique=request.unique or None,
        **options,
    )


def message_of(status: ScheduleStatus, now_ms: int) -> schedule_pb2.Schedule:
    """Return a schedule with what is known of it."""
    state = status.state
    return schedule_pb2.Schedule(
        name=text(status.name),
        definition=None if status.schedule is None else definition_of(status.schedule),
        problem=text(status.problem),
        since_ms=number(status.since_ms),
        paused_since_ms=number(status.paused_ms) or None,
        by=text(status.by),
        next_ms=status.next(NEXT, now_ms),
        fired=number(state.fired),
        missed=number(state.missed),
        overlapped=number(state.overlapped),
        last_due_ms=number(state.last_due_ms) or None,
    )


def definition_of(schedule: Schedule) -> schedule_pb2.ScheduleDefinition:
    """Return what a schedule is, without its payload and its unique key."""
    limit = schedule.limit or ()
    return schedule_pb2.ScheduleDefinition(
        task=text(str(schedule.task)),
        partition_key=text(schedule.partition_key),
        cron=schedule.cron or "",
        every_s=schedule.every if isinstance(schedule.every, float) else 0.0,
        timezone=schedule.timezone,
        missed=schedule.missed,
        catch_up=schedule.catch_up,
        grace_s=schedule.grace_s,
        overlap=schedule.overlap,
        tenant=text(schedule.tenant or ""),
        tier=schedule.tier or "",
        pool=schedule.pool or "",
        max_attempts=schedule.max_attempts,
        timeout_s=schedule.timeout_s,
        expires_s=schedule.expires_s,
        limits=[limit] if isinstance(limit, str) else list(limit),
    )
