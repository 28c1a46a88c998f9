"""Schedules as people write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from queuepool.errors import InvalidInputError
from queuepool.models import Schedule, ScheduleStatus
from queuepool.models.schedules import Fired, id_of_time


@pytest.mark.parametrize(
    ("every", "seconds"),
    [("10m", 600), ("1.5h", 5400), ("1d", 86_400), (30, 30), (timedelta(hours=2), 7200)],
)
def test_an_interval_is_written_as(every: Any, seconds: float) -> None:
    assert Schedule("s", "t", every=every).every == seconds


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "either cron or every"),
        ({"cron": "@daily", "every": 5}, "either cron or every"),
        ({"every": 0.5}, "1 s to 366 days"),
        ({"every": "10 minutes"}, "1 s to 366 days"),
        ({"every": float("nan")}, "1 s to 366 days"),
        ({"every": True}, "1 s to 366 days"),
        ({"cron": "often"}, "five fields"),
        ({"cron": "@daily", "timezone": "Europe/Nowhere"}, "no time zone 'Europe/Nowhere'"),
        ({"cron": 5}, "cron=5, timezone='UTC': both must be text, such as"),
        ({"cron": "@daily", "timezone": None}, "timezone=None: both must be text, such as"),
        ({"every": 5, "missed": "some"}, '"skip", "one" or "all"'),
        ({"every": 5, "overlap": "maybe"}, '"allow" or "skip"'),
        ({"every": 5, "catch_up": 0}, "catch_up=0: use 1 to 1,000"),
        ({"every": 5, "grace_s": 0}, "grace_s=0: use 1 to"),
        ({"every": 5, "payload": [1]}, "use a mapping"),
        ({"every": 5, "task": 7}, "7 is not a task"),
        ({"every": 5, "partition_key": b"k"}, "partition_key=b'k': use text"),
        ({"every": 5, "partition_key": b""}, "partition_key=b'': use text"),
        ({"every": 5, "partition_key": 7}, "partition_key=7: use text"),
        ({"every": 5, "name": "a:b"}, "cannot be named 'a:b'"),
        ({"every": 5, "name": "x" * 41}, "1 to 40"),
    ],
)
def test_what_is_no_schedule_says_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Schedule(**{"name": "s", "task": "t"} | fields)


def test_the_id_of_a_job_tells_its_time() -> None:
    assert id_of_time("nightly", 1_774_746_000_000) == "nightly:20260329T010000Z"
    assert id_of_time("odd", 1_774_746_000_500) == "odd:20260329T010000500Z"
    assert len(id_of_time("x" * 40, 10**13 + 1)) <= 64


def test_the_next_times_count_from_what_is_settled() -> None:
    schedule = Schedule("s", "t", every=60)
    status = ScheduleStatus(name="s", schedule=schedule, version=5, since_ms=30_000)
    assert status.next(2) == [60_000, 120_000]
    assert status.next(1, after_ms=600_000) == [660_000]

    for version, settled in ((5, 180_000), (4, 30_000)):
        state = Fired(version=version, through_ms=180_000)
        later = ScheduleStatus(name="s", schedule=schedule, version=5, since_ms=30_000, state=state)
        assert later.settled_ms == settled
