"""Many schedules, or many times of one: none waits for those that cannot fire, or is missed."""

from __future__ import annotations

import pytest

from coordinator.core import events as e
from coordinator.core.firing import MOST_FIRED
from queuepool import Schedule
from queuepool.testing import run_jobs
from tests.unit.coordinator.loop.leading import Leading, every, note
from tests.waiting import wait_until

HOUR = 3600


def second_by_second(name: str = "s", **fields: object) -> Schedule:
    return Schedule(name, note, every=1, **fields)  # type: ignore[arg-type]


def look(rig: Leading) -> int:
    """Let the leader look until nothing is due; return how often it did."""
    looks = 1
    while rig.runner.look():
        looks += 1
    return looks


def test_a_partition_that_is_full_delays_no_other_however_much_is_due_there() -> None:
    rig = Leading(max_depth=1)
    number = rig.pool.producer.route("b").partition
    full = next(k for k in map(str, range(99)) if rig.pool.producer.route(k).partition != number)
    rig.pool.enqueue(note, partition_key=full)
    rig.pool.schedules.set(second_by_second("a", grace_s=600, partition_key=full))
    rig.pool.schedules.set(Schedule("b", note, every=60))
    rig.pass_(2 * MOST_FIRED)

    assert not rig.runner.look()  # which would ask the full partition again and again

    assert [event.name for event in rig.of(e.ScheduleFired)] == ["b"]
    assert [event.name for event in rig.of(e.ScheduleFailed)] == ["a"]


def test_a_time_is_not_missed_while_others_make_up_for_an_hour() -> None:
    rig = Leading()
    for n in range(20):
        rig.pool.schedules.set(second_by_second(f"a{n}", missed="all", catch_up=1000))
    rig.pass_(HOUR)
    rig.pool.schedules.set(every(60))
    rig.pass_(60)

    rig.runner.look()

    assert len(rig.of(e.ScheduleFired)) == MOST_FIRED
    assert sum(event.name == "s" for event in rig.of(e.ScheduleFired)) == 1


def test_all_of_an_hour_of_seconds_fire_up_to_its_bound_in_looks_one_after_the_other() -> None:
    rig = Leading()
    rig.pool.schedules.set(second_by_second(missed="all", catch_up=1000))
    rig.pass_(HOUR)

    assert look(rig) == -(-(1000 + 61) // MOST_FIRED)

    state = rig.status().state
    assert state.missed == HOUR - 61 - 1000
    assert (
        state.fired == len(rig.fired) == 1000 + 61
    )  # those of the last minute are late, not missed
    assert set(rig.fired.values()) == {1}
    assert max(rig.fired) == "s:20260101T010000Z"


def test_the_next_look_follows_at_once_while_more_is_due() -> None:
    rig = Leading()
    rig.runner._interval_s = 10**6
    rig.pool.schedules.set(second_by_second(missed="all", catch_up=1000))
    rig.pass_(HOUR)

    rig.runner.start()

    wait_until(lambda: rig.status().state.fired == 1061)
    rig.runner.stop()


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_a_change_of_its_payload_between_a_time_and_its_firing_loses_nothing(missed: str) -> None:
    rig = Leading()
    rig.pool.schedules.set(every(60, missed=missed))
    rig.runner.look()
    rig.pass_(60)
    rig.runner.look()
    rig.pass_(60)

    rig.pool.schedules.set(every(60, missed=missed, timeout_s=7))
    rig.runner.look()
    run_jobs(rig.pool)
    rig.pass_(600)
    rig.pool.schedules.set(every(60, missed=missed, timeout_s=8))
    look(rig)

    state = rig.status().state
    assert (state.fired, state.fired + state.missed) == (len(rig.fired), 12)
    assert set(rig.fired.values()) == {1}
    assert state.missed == {"skip": 8, "one": 7, "all": 0}[missed]


def test_a_zone_that_this_machine_lacks_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Leading()
    rig.pool.schedules.set(
        Schedule("far", note, cron="* * * * *", timezone="Asia/Tokyo", missed="all")
    )
    rig.pool.schedules.set(every(60))
    monkeypatch.setattr("queuepool.models.schedules.zone_of", _no_zone)
    monkeypatch.setattr("queuepool.models.schedules._cron_of", _no_zone)
    for _ in range(3):
        rig.pass_(60)
        rig.runner.look()

    assert {event.name for event in rig.of(e.ScheduleFired)} == {"s"}
    (failed,) = rig.of(e.ScheduleFailed)
    assert failed.name == "far"
    assert "no time zone" in failed.problem
    monkeypatch.undo()
    rig.elect().look()  # on another machine
    assert sorted(
        event.job_id[-7:] for event in rig.of(e.ScheduleFired) if event.name == "far"
    ) == [
        "000100Z",
        "000200Z",
        "000300Z",
    ]


def _no_zone(name: str, *_: str) -> None:
    raise ValueError(f"there is no time zone {name} here")
