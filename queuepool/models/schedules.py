"""Schedules as people set them, and what is known of each. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.timetables import Cron, Every, Timetable, parse_cron
from queuepool.models.zones import zone_of

MAX_SCHEDULES = 1000
MAX_CATCH_UP = 1000
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_EVERY = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LEAST_S, _MOST_S = 1.0, 366 * 86_400.0
_MOST_GRACE_S = 7 * 86_400.0


def check_schedule_name(name: object) -> str:
    """Return the name of a schedule, or raise InvalidInputError."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"a schedule cannot be named {shown(name)}: use 1 to 40 of A-Z a-z 0-9 _ . -"
        )
    return name


def id_of_time(name: str, due_ms: int) -> str:
    """Return the id of the job of a schedule's time, such as nightly:20260329T010000Z."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=due_ms)
    thousandths = f"{due_ms % 1000:03d}" if due_ms % 1000 else ""
    return f"{name}:{moment:%Y%m%dT%H%M%S}{thousandths}Z"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A job that is enqueued repeatedly: at the times of a cron expression, or at intervals.

    task, payload, partition_key (text; default: the name) and the options from tenant on: as for
    enqueue.
    cron: "30 3 * * MON-FRI", in timezone. every: seconds, a timedelta, or "10m"; multiples of it
    since 1970 in UTC. missed: what becomes of times that are over by more than grace_s when a
    coordinator is there again: "skip" them, "one" job for all, or "all", at most the last catch_up.
    overlap: whether a job is enqueued while the last one has not ended.
    """

    name: str
    task: str | Callable[..., Any]
    payload: Mapping[str, Any] = field(default_factory=dict)
    partition_key: str = ""
    cron: str | None = None
    every: float | str | timedelta | None = None
    timezone: str = "UTC"
    missed: Literal["skip", "one", "all"] = "skip"
    catch_up: int = 100
    grace_s: float = 60.0
    overlap: Literal["allow", "skip"] = "allow"
    tenant: str | None = None
    tier: str | None = None
    pool: str | None = None
    max_attempts: int | None = None
    timeout_s: float | None = None
    expires_s: float | None = None
    limit: tuple[str, ...] | str | None = None
    unique: str | bytes | None = None
    unique_until: str | None = None

    def __post_init__(self) -> None:
        check_schedule_name(self.name)
        task = self.task if isinstance(self.task, str) else getattr(self.task, "name", None)
        if not isinstance(task, str):
            raise self._invalid(f"{shown(self.task)} is not a task: pass its name, or the function")
        self._put("task", task)
        key: object = self.partition_key
        if not (key is None or isinstance(key, str)):
            raise self._invalid(f"partition_key={shown(key)}: use text")
        self._put("partition_key", key or self.name)
        if not isinstance(self.payload, Mapping):
            raise self._invalid(f"payload={shown(self.payload)}: use a mapping of arguments")
        if (self.cron is None) == (self.every is None):
            raise self._invalid("give it either cron or every")
        if self.every is not None:
            self._put("every", self._interval_s(self.every))
        if self.missed not in ("skip", "one", "all"):
            raise self._invalid(f'missed={shown(self.missed)}: use "skip", "one" or "all"')
        if self.overlap not in ("allow", "skip"):
            raise self._invalid(f'overlap={shown(self.overlap)}: use "allow" or "skip"')
        whole = type(self.catch_up) is int
        if not whole or not 1 <= self.catch_up <= MAX_CATCH_UP:
            raise self._invalid(f"catch_up={shown(self.catch_up)}: use 1 to {MAX_CATCH_UP:,}")
        if not _is_number(self.grace_s) or not 1 <= self.grace_s <= _MOST_GRACE_S:
            raise self._invalid(
                f"grace_s={shown(self.grace_s)}: use 1 to {_MOST_GRACE_S:,.0f} seconds"
            )
        self.timetable()

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _interval_s(self, every: object) -> float:
        seconds: object = every
        if isinstance(every, timedelta):
            seconds = every.total_seconds()
        elif isinstance(every, str):
            match = _EVERY.fullmatch(every)
            seconds = None if match is None else float(match[1]) * _SECONDS[match[2]]
        number = seconds if isinstance(seconds, int | float) and _is_number(seconds) else 0
        if _LEAST_S <= number <= _MOST_S:
            return float(number)
        raise self._invalid(
            f"every={shown(every)}: use 1 s to 366 days, as seconds, a timedelta, or text such as "
            "30s, 10m, 6h, 1d"
        )

    def _invalid(self, why: str) -> InvalidInputError:
        return InvalidInputError(f"schedule {shown(self.name)}: {why}")

    def timetable(self) -> Timetable:
        """Return when it is due. Raises InvalidInputError."""
        if isinstance(self.every, float):
            return Every(round(self.every * 1000))
        try:
            if not isinstance(self.cron, str) or not isinstance(self.timezone, str):
                raise ValueError(
                    f"cron={shown(self.cron)}, timezone={shown(self.timezone)}: both must be text, "
                    'such as "30 3 * * MON-FRI" and "Europe/Berlin"'
                )
            return _cron_of(self.cron, self.timezone)
        except ValueError as error:
            raise self._invalid(str(error)) from None

    @property
    def when(self) -> str:
        """Return in a few words when it is due."""
        if self.cron is not None:
            return f"{self.cron} {self.timezone}"
        return f"every {self.every:g} s" if isinstance(self.every, float) else ""


@lru_cache(maxsize=1024)  # a timetable remembers the times of the last days
def _cron_of(text: str, zone: str) -> Cron:
    return parse_cron(text, zone_of(zone))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Fired:
    """What the leading coordinator has done of a schedule, as of a version of it.

    through_ms: all times until then are settled. last_due_ms, last_at_ms: the last job's time, and
    when it was enqueued. fired, missed, overlapped: how many times were.
    """

    version: int = 0
    through_ms: int = 0
    last_due_ms: int = 0
    last_at_ms: int = 0
    fired: int = 0
    missed: int = 0
    overlapped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStatus:
    """A schedule and what is known of it. schedule: None if what is stored is damaged: see problem.

    version: grows with each change. since_ms: it is due at times after that. paused_ms: since when
    it is paused, 0 if it is not. by: who changed it last.
    """

    name: str
    schedule: Schedule | None
    version: int
    since_ms: int
    paused_ms: int = 0
    by: str = ""
    state: Fired = field(default_factory=Fired)
    problem: str = ""

    @property
    def settled_ms(self) -> int:
        """Return until when all its times are settled."""
        known = self.state.through_ms if self.state.version == self.version else 0
        return max(self.since_ms, known)

    def next(self, count: int = 5, after_ms: int = 0) -> list[int]:
        """Return its next times, in ms, also while it is paused."""
        found: list[int] = []
        if self.schedule is None:
            return found
        timetable = self.schedule.timetable()
        at = timetable.after(max(self.settled_ms, after_ms))
        while at is not None and len(found) < count:
            found.append(at)
            at = timetable.after(at)
        return found
