"""A healthy queue under full load, to be broken in one place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from queuepool.models import Limit, LimitStatus, Owner, PartitionState, Schedule, ScheduleStatus
from queuepool.models.advice import Loads, PlaceLoad
from queuepool.models.doctor import Checkup, ServerFigures, Waiting
from queuepool.models.schedules import Fired
from queuepool.telemetry.doctor import Observed, Past, Place
from queuepool.telemetry.doctor.observed import Deaths

NOW = 1_790_000_000_000
VERSION = "1.2.3"
MIB = 2**20


def owner(**changes: Any) -> Owner:
    known: dict[str, Any] = {
        "host": "h:1", "epoch": 5, "lease_ms": 8_000, "heartbeat_ms": NOW - 500, "workers": 8,
        "busy": 8, "target": 8, "applied": "1-1", "version": VERSION,
        "dead_keep": (100_000, 64 * MIB),
    }  # fmt: skip
    return Owner(**known | changes)


def state(number: int = 0, **changes: Any) -> PartitionState:
    counters = {"enqueued": 9_000, "done": 4_000, "died": 10, "dead_bytes": MIB}
    known: dict[str, Any] = {
        "partition": number, "observed_ms": NOW, "ready": (0, 10, 4_980, 10),
        "lanes": (0, 1, 3, 1), "jobs": 5_010, "bytes": 40 * MIB, "delayed": 0, "in_flight": 10,
        "dead": 10, "oldest_ms": 8_000, "books": 0, "draining": 0, "counters": counters,
        "owner": owner(), "checkpoint": 8, "checkpoint_ms": NOW, "last_command": "1-1",
    }  # fmt: skip
    return PartitionState(**known | changes)


def place(number: int = 0, **changes: Any) -> Place:
    of_state = {k: changes.pop(k) for k in tuple(changes) if k in PartitionState.__struct_fields__}
    of_state.pop("partition", None)
    checkup = Checkup(
        now_ms=NOW,
        running=(f"job-{number}", NOW - 2_000),
        lanes=5,
        groups=(Waiting(b"bulk", 4_000), Waiting(b"other", 900)),
    )
    known: dict[str, Any] = {
        "partition": number, "server": "main", "state": state(number, **of_state),
        "checkup": checkup, "finished_per_s": 400.0, "service_s": 0.02,
    }  # fmt: skip
    return Place(**known | changes)


def server(**changes: Any) -> ServerFigures:
    known: dict[str, Any] = {
        "name": "main", "run_id": "r", "used": 500 * MIB, "limit": 1_000 * MIB,
        "policy": "noeviction", "keys": 60_000, "expiring": 50_000, "appendonly": True,
        "replicas": 1, "behind": 40_000, "silent_s": 1,
    }  # fmt: skip
    return ServerFigures(**known | changes)


def limit(**changes: Any) -> LimitStatus:
    known: dict[str, Any] = {
        "name": "mail", "set": Limit("mail", rate=100), "declared": None, "paused_ms": 0,
        "pace": 100.0, "granted": 5_000, "granted_last_s": 100, "wait_ms": 0, "refused_ms": 0,
        "running": 100, "waiting": 8, "askers": 8, "parked": 1_000, "parked_known": True,
    }  # fmt: skip
    return LimitStatus(**known | changes)


def schedule(**changes: Any) -> ScheduleStatus:
    known: dict[str, Any] = {
        "name": "nightly", "schedule": Schedule("nightly", "report", every="10m"), "version": 1,
        "since_ms": NOW - 60_000, "state": Fired(version=1, through_ms=NOW - 30_000),
    }  # fmt: skip
    return ScheduleStatus(**known | changes)


def past(**changes: Any) -> Past:
    deaths = Deaths(
        died=20, ended=100_000, over_s=300, died_before=200, ended_before=1_000_000, before_s=3_000
    )
    known: dict[str, Any] = {
        "over_s": 3_600, "deaths": deaths, "takeovers": {"0": (NOW - 1_000,)},
        "evicted": {"main": 0}, "missed": {"nightly": (0, 0)},
    }  # fmt: skip
    return Past(**known | changes)


def load(number: int = 0, **changes: Any) -> PlaceLoad:
    known: dict[str, Any] = {
        "partition": number, "server": "main", "workers": 8, "busy": 8.0, "wanted": 8.0,
        "came": 400.0, "ended": 400.0, "wait_s": 8.0, "backlog": 5_000, "bytes": 40 * MIB,
        "growth": 0.0,
    }  # fmt: skip
    return PlaceLoad(**known | changes)


def loads(*changed: PlaceLoad) -> Loads:
    others = {one.partition: one for one in (*map(load, range(8)), *changed)}
    return Loads(over_s=3_600, places=tuple(others.values()))


def healthy(**changes: Any) -> Observed:
    """Return a queue whose workers are all busy, with jobs waiting, and nothing wrong."""
    known: dict[str, Any] = {
        "now_ms": NOW, "version": VERSION, "places": tuple(place(n) for n in range(8)),
        "servers": (server(),), "clocks": {"main": 40}, "leader_lease_ms": 4_000,
        "route_version": 1, "limits": (limit(),), "schedules": (schedule(),),
        "clamps_known": True, "past": past(), "loads": loads(),
    }  # fmt: skip
    return Observed(**known | changes)


def one_place(**changes: Any) -> Observed:
    """Return it with another partition 0."""
    seen = healthy()
    return replace(seen, places=(place(0, **changes), *seen.places[1:]))
