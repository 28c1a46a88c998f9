"""Which times of a schedule fire, and which are missed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.firing import HORIZON_MS, Firing, due, in_turn
from queuepool.models import Schedule, ScheduleStatus
from queuepool.models.schedules import Fired

M = 60_000
T = 1_774_746_000_000  # 2026-03-29, 01:00 UTC


def status(through_ms: int, *, paused_ms: int = 0, **fields: Any) -> ScheduleStatus:
    defaults: dict[str, Any] = {"every": "1m", "grace_s": 90}
    schedule = Schedule("s", "t", **(defaults | fields))
    state = Fired(version=3, through_ms=through_ms)
    return ScheduleStatus(
        name="s", schedule=schedule, version=3, since_ms=0, paused_ms=paused_ms, state=state
    )


def test_nothing_is_due_before_its_time() -> None:
    assert due(status(T), T + M - 1) is None


def test_a_time_fires_when_it_is_due_and_is_settled_then() -> None:
    assert due(status(T), T + M) == Firing((T + M,), 0, 0, T + M)
    assert due(status(T + M), T + M + 999) is None


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_what_is_late_within_the_grace_fires_under_each_rule(missed: str) -> None:
    assert due(status(T, missed=missed), T + 2 * M) == Firing((T + M, T + 2 * M), 0, 0, T + 2 * M)


@pytest.mark.parametrize(
    ("rule", "fire", "missed"),
    [
        ({"missed": "skip"}, [9, 10], 8),
        ({"missed": "one"}, [8, 9, 10], 7),
        ({"missed": "all"}, list(range(1, 11)), 0),
        ({"missed": "all", "catch_up": 3}, [6, 7, 8, 9, 10], 5),
    ],
)
def test_what_is_missed_goes_by_its_rule(
    rule: dict[str, Any], fire: list[int], missed: int
) -> None:
    found = due(status(T, **rule), T + 10 * M)

    assert found == Firing(tuple(T + n * M for n in fire), missed, 0, T + 10 * M)


def test_the_grace_ends_where_it_says() -> None:
    at_its_end, after = (due(status(T), T + M + late) for late in (90_000, 90_001))

    assert at_its_end is not None
    assert after is not None
    assert at_its_end.fire == (T + M, T + 2 * M)
    assert (after.fire, after.missed) == ((T + 2 * M,), 1)


def test_only_the_last_of_several_fires_where_jobs_do_not_overlap() -> None:
    found = due(status(T, missed="all", overlap="skip"), T + 10 * M)

    assert found == Firing((T + 10 * M,), 0, 9, T + 10 * M)


def test_what_is_paused_or_damaged_is_not_due() -> None:
    assert due(status(T, paused_ms=1), T + M) is None
    damaged = ScheduleStatus(name="s", schedule=None, version=3, since_ms=0, problem="damaged")
    assert due(damaged, T + M) is None
    assert due(status(T), T + M, room=0) is None


def test_what_is_older_than_a_week_is_over() -> None:
    found = due(status(1, missed="all", every="1d", catch_up=1000), T)

    assert found is not None
    assert len(found.fire) == 7
    assert min(found.fire) > T - HORIZON_MS


def test_a_change_of_clocks_is_no_miss() -> None:
    nightly: dict[str, Any] = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "every": None}
    day_before = T - 24 * 3_600_000

    found = due(status(day_before + 3_600_000, **nightly), T)
    assert found == Firing((T,), 0, 0, T)


def test_those_come_first_whose_times_would_be_missed_next() -> None:
    def named(name: str, **fields: Any) -> ScheduleStatus:
        return replace(status(T, **fields), name=name)

    ready = [
        (T - 9 * M, named("missed")),
        (T - 1 * M, named("patient", grace_s=600)),
        (T, named("b")),
        (T, named("a")),
        (T - 1 * M, named("soon")),
        (T - 8 * M, named("missed less")),
    ]

    order = [each.name for each in in_turn(ready, T)]
    assert order == ["soon", "a", "b", "patient", "missed", "missed less"]


@given(
    st.sampled_from(["skip", "one", "all"]),
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(1, 7),
    st.lists(st.integers(1, 900_000), min_size=1, max_size=12),
)
def test_every_time_fires_once_in_order_or_is_missed(
    missed: str, catch_up: int, grace: int, room: int, steps: list[int]
) -> None:
    """However irregularly someone looks, and however few may fire at once."""
    fields: dict[str, Any] = {"missed": missed, "catch_up": catch_up, "grace_s": grace * 10}
    now, through, fired, passed = T, T, list[int](), 0
    for step in (*steps, *[0] * 200):
        now += step
        found = due(status(through, **fields), now, room)
        if found is not None:
            assert found.through_ms > through
            assert len(found.fire) <= room
            fired += found.fire
            passed += found.missed
            through = found.through_ms

    times = now // M - T // M
    assert fired == sorted(set(fired))
    assert len(fired) + passed == times
    assert all(T < at <= now and at % M == 0 for at in fired)
    on_time = [T // M * M + (n + 1) * M for n in range(times)]
    assert [at for at in on_time if now - at <= grace * 10_000 and at not in fired] == []
