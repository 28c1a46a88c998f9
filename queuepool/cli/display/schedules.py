"""Schedules for people and for scripts."""

from __future__ import annotations

import shlex
import time
from dataclasses import asdict
from typing import Any

from queuepool.cli.display.fields import when
from queuepool.cli.display.output import clean
from queuepool.cli.display.tables import Column
from queuepool.models import Schedule, ScheduleStatus
from queuepool.models.durations import format_duration

SHOWN = 5  # of its next times
COLUMNS = (
    Column("schedule", left=True),
    Column("due", left=True),
    Column("task", left=True, goes=3),
    Column("next"),
    Column("fired", goes=1),
    Column("missed"),
    Column("overlapped", goes=4),
    Column("state", left=True),
)


def due(schedule: Schedule | None) -> str:
    """Return in a few words when it is due."""
    if schedule is None:
        return ""
    if isinstance(schedule.every, float):
        return f"every {format_duration(schedule.every)}"
    return f"{schedule.cron} {schedule.timezone}"


def _state(status: ScheduleStatus) -> str:
    if status.problem:
        return "damaged"
    return "paused" if status.paused_ms else ""


def _next(status: ScheduleStatus) -> str:
    following = [] if status.paused_ms else status.next(1)
    return format_duration(following[0] / 1000 - time.time()) if following else ""


def cells(status: ScheduleStatus) -> list[str]:
    """Return a schedule as a row of the list."""
    state = status.state
    counts = (state.fired, state.missed, state.overlapped)
    return [
        status.name,
        due(status.schedule),
        "" if status.schedule is None else str(status.schedule.task),
        _next(status),
        *(f"{count:,}" for count in counts),
        _state(status),
    ]


def describe(status: ScheduleStatus) -> dict[str, Any]:
    """Return a schedule as plain data for JSON."""
    return asdict(status) | {"next_ms": status.next(SHOWN, round(time.time() * 1000))}


def fields(status: ScheduleStatus) -> dict[str, Any]:
    """Return a schedule as names and values for people."""
    name, schedule, state = shlex.quote(status.name), status.schedule, status.state
    found: dict[str, Any] = {"schedule": status.name}
    if schedule is None:
        return found | {"problem": f"{status.problem}: queuepool schedule set {name} ..."}
    found |= {
        "due": due(schedule),
        "task": schedule.task,
        "payload": clean(str(dict(schedule.payload))),
        "partition key": schedule.partition_key,
        "missed times": _rule(schedule),
        "overlap": schedule.overlap,
    }
    found |= {label: value for label, value in _options(schedule).items() if value}
    found |= {
        "changed": f"{when(status.version)} by {status.by or 'someone'}",
        "fired": state.fired,
        "missed": state.missed,
        "overlapped": state.overlapped,
    }
    if state.last_due_ms:
        found["last fired for"] = when(state.last_due_ms)
    if status.paused_ms:
        found["paused"] = f"since {when(status.paused_ms)}: queuepool schedule resume {name}"
    else:
        times = status.next(SHOWN, round(time.time() * 1000))
        found |= {f"{n}. next": when(at) for n, at in enumerate(times, 1)}
    return found


def _rule(schedule: Schedule) -> str:
    most = f", at most {schedule.catch_up:,}" if schedule.missed == "all" else ""
    return f"{schedule.missed}{most}, after {format_duration(schedule.grace_s)}"


def _options(schedule: Schedule) -> dict[str, Any]:
    limits = (schedule.limit,) if isinstance(schedule.limit, str) else schedule.limit or ()
    return {
        "tenant": schedule.tenant,
        "tier": schedule.tier,
        "pool": schedule.pool,
        "attempts": schedule.max_attempts,
        "timeout": schedule.timeout_s and format_duration(schedule.timeout_s),
        "expires after": schedule.expires_s and format_duration(schedule.expires_s),
        "limits": ", ".join(limits),
    }
