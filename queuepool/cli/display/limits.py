"""Limits for people and for scripts."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

from queuepool.cli.display.fields import when
from queuepool.cli.display.tables import Column
from queuepool.models import LimitStatus
from queuepool.models.durations import format_duration
from queuepool.models.limits import allows

UNUSED = "nothing has used this limit yet"
COLUMNS = (
    Column("limit", left=True),
    Column("allows", left=True),
    Column("by", left=True, goes=1),
    Column("rate now", goes=4),
    Column("last s", goes=3),
    Column("running", goes=2),
    Column("waiting"),
    Column("state", left=True),
)


def _defined_by(status: LimitStatus) -> str:
    if status.set is not None:
        return "people"
    return "nobody" if status.declared is None else "code"


def _state(status: LimitStatus) -> str:
    if status.paused:
        return "paused, unused" if status.unused else "paused"
    wait = f"backing off for {format_duration(status.wait_ms / 1000)}"
    return wait if status.wait_ms else ""


def waiting(status: LimitStatus) -> str:
    """Return how many jobs wait for a limit: "12", or "12+" if not all could be counted."""
    return f"{status.parked:,}" + ("" if status.parked_known else "+")


def cells(status: LimitStatus) -> list[str]:
    """Return a limit as a row of the list."""
    return [
        status.name,
        allows(status.effective),
        _defined_by(status),
        "" if status.pace is None else f"{status.pace:,.4g}",
        f"{status.granted_last_s:,}",
        f"{status.running:,}",
        waiting(status),
        _state(status),
    ]


def describe(status: LimitStatus) -> dict[str, Any]:
    """Return a limit as plain data for JSON."""
    return asdict(status)


def fields(status: LimitStatus) -> dict[str, Any]:
    """Return a limit as names and values for people."""
    name = shlex.quote(status.name)
    found: dict[str, Any] = {
        "limit": status.name,
        "allows": allows(status.effective),
        "set by people": "no" if status.set is None else allows(status.set),
        "in code": "nothing yet" if status.declared is None else allows(status.declared),
    }
    if status.pace is not None:
        found["rate now"] = f"{status.pace:,.4g}"
    found |= {
        "granted": status.granted,
        "in the last second": status.granted_last_s,
        "running": status.running,
        "jobs waiting": waiting(status),
        "partitions in line": status.waiting,
        "partitions known": status.askers,
    }
    if status.unused:
        found["used"] = UNUSED
    if status.refused_ms:
        found["last refused"] = when(status.refused_ms)
    if status.wait_ms:
        found["all wait for"] = format_duration(status.wait_ms / 1000)
    if status.paused:
        found["paused"] = f"since {when(status.paused_ms)}: queuepool limit resume {name}"
    return found
