"""The leader fires schedules: once, whatever fails and whoever leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from coordinator.core import events as e
from queuepool import Schedule, UnavailableError
from queuepool.models.schedules import id_of_time
from queuepool.models.timetables import parse_cron
from queuepool.models.zones import zone_of
from queuepool.testing import run_jobs
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from tests.unit.coordinator.loop.leading import CrashedError, Leading, every, note, ran
from tests.unit.models.observing import observed

pytestmark = pytest.mark.thorough


@pytest.fixture
def rig() -> Leading:
    return Leading()


def test_a_job_is_enqueued_at_each_time_and_what_was_done_is_recorded(rig: Leading) -> None:
    rig.pool.schedules.set(every())
    for _ in range(20):
        rig.pass_(10)
        rig.runner.look()

    state = rig.status().state
    assert state.fired == len(rig.fired) == 3
    assert set(rig.fired.values()) == {1}
    assert (state.missed, state.overlapped) == (0, 0)
    assert state.last_due_ms % 60_000 == 0
    assert len(rig.of(e.ScheduleFired)) == state.fired
    ran.clear()
    run_jobs(rig.pool)
    assert len(ran) == state.fired


def test_a_change_a_pause_and_a_removal_hold_from_the_next_look(rig: Leading) -> None:
    rig.pool.schedules.set(every(3600))
    rig.runner.look()
    rig.pool.schedules.set(every(60))
    rig.pass_(60)
    rig.runner.look()
    assert len(rig.fired) == 1

    rig.pool.schedules.pause("s")
    rig.pass_(600)
    rig.runner.look()
    rig.pool.schedules.resume("s")
    rig.runner.look()
    assert len(rig.fired) == 1
    rig.pass_(60)
    rig.runner.look()
    assert len(rig.fired) == 2

    rig.pool.schedules.remove("s")
    rig.pass_(60)
    rig.runner.look()
    assert len(rig.fired) == 2


def test_who_does_not_lead_fires_nothing(rig: Leading) -> None:
    rig.pool.schedules.set(every())
    rig.leads = False
    rig.pass_(60)
    rig.runner.look()

    assert not rig.fired
    rig.leads = True
    rig.runner.look()
    assert len(rig.fired) == 1


def test_a_leader_that_was_replaced_fires_and_records_nothing(rig: Leading) -> None:
    rig.pool.schedules.set(every())
    frozen = rig.runner
    frozen.look()
    other = rig.elect()
    rig.pass_(60)
    other.look()
    run_jobs(rig.pool)
    before = rig.status().state

    rig.pass_(600)  # the ids of jobs that ended are forgotten
    frozen._next["s"] -= 1  # it is past its check of the time
    frozen.look()

    assert rig.status().state == before
    assert len(rig.fired) == 1
    other.look()
    assert set(rig.fired.values()) == {1}


@pytest.mark.parametrize("lose_reply", [False, True])
def test_each_time_fires_once_wherever_leaders_crash(rig: Leading, *, lose_reply: bool) -> None:
    """Each leader dies at another call, before it or after it; jobs end and are forgotten."""
    rig.lose_reply = lose_reply
    rig.pool.schedules.set(every(60, missed="all", catch_up=1000))
    begin = rig.status().since_ms // 60_000
    for n in range(150):
        rig.pass_(75)
        rig.crash_at = n % 7
        try:
            for _ in range(3):
                rig.runner.look()
                if rig.of(e.ScheduleFailed):
                    raise CrashedError
        except CrashedError:
            pass
        rig.crash_at = -1
        rig.events.clear()
        run_jobs(rig.pool)
        if n % 5 == 0:
            rig.pass_(300)
        rig.elect()
    for _ in range(10):  # a look fires a bounded number
        rig.runner.look()

    now = rig.pool.clock() * 1000 // 60_000
    assert len(rig.fired) == now - begin
    assert set(rig.fired.values()) == {1}


def test_a_frozen_leader_goes_on_at_any_call_and_each_time_fires_once(rig: Leading) -> None:
    """It wakes at each of its calls in turn, long after another one has fired; that one goes on."""
    rig.pool.schedules.set(every(60, missed="all", catch_up=1000))
    begin = rig.status().since_ms // 60_000
    for n in range(100):
        frozen = rig.runner
        frozen.look()
        rig.pass_(60)
        thaw_at = n % 4

        def stall(thaw_at: int = thaw_at) -> Any:
            calls = 0
            plain = rig.pool.server.run

            def run(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
                nonlocal calls
                if calls == thaw_at:
                    rig.pool.server.run = plain  # type: ignore[method-assign]
                    rig.elect().look()
                    run_jobs(rig.pool)
                    rig.pass_(300)  # the ids of jobs that ended are forgotten
                calls += 1
                return plain(key, verbs)

            return run

        usual = rig.pool.server.run
        rig.pool.server.run = stall()  # type: ignore[method-assign]
        frozen.look()
        rig.pool.server.run = usual  # type: ignore[method-assign]
        if rig.runner is frozen:
            rig.elect()
        rig.runner.look()

    assert len(rig.fired) == rig.pool.clock() * 1000 // 60_000 - begin
    assert set(rig.fired.values()) == {1}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_a_year_with_both_changes_of_clocks_is_as_an_observer_says(rig: Leading, zone: str) -> None:
    """Another leader for each time."""
    crons = {"s": "15 2 * * *", "t": "*/30 1-2 * * SUN"}
    for name, text in crons.items():
        rig.pool.schedules.set(Schedule(name, note, cron=text, timezone=zone))
    begin = rig.status().since_ms
    end = begin + 365 * 86_400_000
    while (following := min(rig.status(name).next(1)[0] for name in crons)) <= end:
        rig.pass_(following / 1000 - rig.pool.clock() + 0.5)
        rig.runner.look()
        run_jobs(rig.pool)
        rig.elect().look()

    for name, text in crons.items():
        times = observed(parse_cron(text, zone_of(zone)), zone, begin, end, minutes=15)
        assert sorted(i for i in rig.fired if i[0] == name) == [id_of_time(name, t) for t in times]
        state = rig.status(name).state
        assert (state.fired, state.missed) == (len(times), 0)
    assert sum(rig.fired.values()) > 365 + 52 * 4 - 4
    assert set(rig.fired.values()) == {1}


def test_times_that_nobody_fired_go_by_the_rule(rig: Leading) -> None:
    rig.pool.schedules.set(every(60, missed="one"))
    rig.runner.look()
    rig.pass_(600)
    rig.runner.look()

    state = rig.status().state
    assert (state.fired + state.missed, len(rig.fired)) == (10, state.fired)
    assert 2 <= state.fired <= 3
    (passed,) = rig.of(e.SchedulePassed)
    assert (passed.name, passed.why, passed.count) == ("s", "missed", state.missed)


def test_no_job_is_enqueued_while_the_last_one_has_not_ended(rig: Leading) -> None:
    rig.pool.schedules.set(every(60, overlap="skip"))
    for _ in range(3):
        rig.pass_(60)
        rig.runner.look()
    assert (rig.status().state.fired, rig.status().state.overlapped) == (1, 2)

    run_jobs(rig.pool)
    rig.pass_(60)
    rig.runner.look()
    assert (rig.status().state.fired, rig.status().state.overlapped) == (2, 2)


def test_a_full_partition_delays_its_own_schedules_only() -> None:
    rig = Leading(max_depth=1)
    number = rig.pool.producer.route("b").partition
    full = next(k for k in map(str, range(99)) if rig.pool.producer.route(k).partition != number)
    rig.pool.enqueue(note, partition_key=full)
    rig.pool.schedules.set(Schedule("a", note, every=60, partition_key=full))
    rig.pool.schedules.set(Schedule("b", note, every=60))
    rig.pass_(60)

    for _ in range(3):
        rig.runner.look()

    assert [event.name for event in rig.of(e.ScheduleFired)] == ["b"]
    (failed,) = rig.of(e.ScheduleFailed)
    assert failed.name == "a"
    assert "the partition is full: 1 jobs" in failed.problem
    run_jobs(rig.pool)
    rig.runner.look()
    assert [event.name for event in rig.of(e.ScheduleFired)] == ["b", "a"]


def test_jobs_of_other_pools_fire_whatever_their_leaders_epoch(rig: Leading) -> None:
    video = Schedule("s", note, every=60, pool="video")
    rig.pool.schedules.set(video)
    number = rig.pool.producer.route("s").partition
    noop: dict[str, Any] = {"target_workers": 0, "reason": "", "expires_ms": 9}
    command = lead.command(2**50, 0, type="NOOP", partition=number, **noop)
    rig.pool.partition(number, "video").run(command)
    rig.pass_(60)
    rig.runner.look()

    assert len(rig.fired) == 1
    assert rig.pool.partition(number, "video").observe().backlog == 1


def test_a_problem_is_told_once_until_it_is_another(rig: Leading) -> None:
    def broken(_key: bytes, _verbs: Any) -> list[Any]:
        raise UnavailableError("away")

    rig.pool.server.run = broken  # type: ignore[assignment,method-assign]
    for _ in range(3):
        rig.runner.look()

    (failed,) = rig.of(e.ScheduleFailed)
    assert (failed.name, failed.problem) == ("", "UnavailableError: away")
