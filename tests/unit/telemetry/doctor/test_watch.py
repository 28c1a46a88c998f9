"""Since when a finding holds, for how long it must, and what only earlier looks tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queuepool.models import Limit
from queuepool.models.doctor import Checkup, Refusal, Verdict, Waiting
from queuepool.telemetry.doctor import Observed, Watch, judge
from queuepool.telemetry.doctor.past import History
from tests.unit.telemetry.doctor import queues as q
from tests.unit.telemetry.doctor.queues import NOW

UNOWNED = replace(q.healthy(), leader_lease_ms=0)
MINUTE_MS = 60_000


def at(seconds: float, seen: Observed) -> Observed:
    return replace(seen, now_ms=NOW + round(seconds * 1000))


def kinds(verdict: Verdict) -> list[str]:
    return [one.kind for one in verdict.findings]


def test_what_must_last_is_reported_once_it_did_with_its_beginning() -> None:
    watch = Watch()

    assert watch.judge(at(0, UNOWNED)).well
    assert watch.judge(at(14.9, UNOWNED)).well
    found = watch.judge(at(15, UNOWNED)).findings

    assert [(one.kind, one.since_ms) for one in found] == [("no-leader", NOW)]


def test_a_short_gap_ends_nothing_and_a_long_one_begins_anew() -> None:
    watch, aside = Watch(), q.one_place(aside=5, aside_tasks=("new",))
    watch.judge(at(0, aside))

    assert watch.judge(at(90, aside)).well  # it must last for two minutes
    assert watch.judge(at(119, q.healthy())).well
    assert watch.judge(at(121, aside)).findings[0].since_ms == NOW
    assert watch.judge(at(190, q.healthy())).well
    assert watch.judge(at(191, aside)).well


@pytest.mark.parametrize("fault", [
    UNOWNED,
    replace(q.healthy(), servers=(q.server(problem="timed out"),)),
    replace(q.healthy(), servers=(q.server(refusal=Refusal.ALONE),)),
])  # fmt: skip
def test_a_leader_or_a_server_that_was_seen_in_between_was_not_away_all_the_time(
    fault: Observed,
) -> None:
    watch = Watch()
    for second in range(0, 300, 20):  # each look but the last is followed by a good one
        assert watch.judge(at(second, fault)).well
        assert watch.judge(at(second + 10, q.healthy())).well
    watch.judge(at(300, fault))
    unread = replace(fault, leader_lease_ms=None)
    watch.judge(at(305, unread))

    assert watch.judge(at(315, fault)).findings[0].since_ms == NOW + 300_000


def test_a_single_look_reports_at_once_and_names_what_it_cannot_judge() -> None:
    verdict = judge(replace(UNOWNED, past=None, loads=None, clamps_known=False))

    assert kinds(verdict) == ["no-leader"]
    assert {one.kind for one in verdict.unjudged} == {
        "flapping", "gain-check", "deaths-rising", "hot-partition",
    }  # fmt: skip


def test_what_could_not_be_read_is_named() -> None:
    verdict = judge(replace(q.healthy(), limits=None, schedules=None, leader_lease_ms=None))

    assert {(one.kind, one.why) for one in verdict.unjudged} == {
        (kind, "could not be read") for kind in ("limit", "schedule-missed", "no-leader")
    }


def test_without_a_pace_a_big_group_is_not_judged_and_that_is_named() -> None:
    groups = (Waiting(b"bulk", 20_000), Waiting(b"x", 1))
    checkup = Checkup(now_ms=NOW, lanes=3, groups=groups)

    verdict = judge(q.one_place(checkup=checkup, finished_per_s=0.0))

    assert verdict.well
    assert [(one.kind, one.why) for one in verdict.unjudged] == [
        ("big-group", "in part, since nobody knows how fast jobs end")
    ]


def test_without_run_times_a_limit_of_running_jobs_is_not_judged_and_that_is_named() -> None:
    limit = q.limit(parked=10**6, set=Limit("mail", concurrency=1), pace=None)
    places = tuple(q.place(n, service_s=0.0) for n in range(8))

    verdict = judge(replace(q.healthy(), places=places, limits=(limit,)))

    assert verdict.well
    assert [one.kind for one in verdict.unjudged] == ["limit"]


def test_the_worst_comes_first_and_of_many_of_a_kind_twenty_and_a_count() -> None:
    places = tuple(q.place(n, owner=None, oldest_ms=60_000) for n in range(100))

    found = judge(replace(UNOWNED, places=places)).findings

    assert len(found) == 22
    assert found[0].kind == "no-owner"
    assert found[20].subject == "80 more"
    assert found[20].since_ms == NOW - 60_000
    assert found[21].kind == "no-leader"


def test_what_others_follow_from_comes_first() -> None:
    alone = replace(
        q.one_place(owner=None, oldest_ms=60_000), servers=(q.server(refusal=Refusal.ALONE),)
    )

    assert kinds(judge(replace(alone, leader_lease_ms=0))) == [
        "refuses-writes", "no-owner", "no-leader",
    ]  # fmt: skip


def test_a_server_that_refuses_writes_for_a_moment_is_part_of_a_failover() -> None:
    watch, refusing = Watch(), replace(q.healthy(), servers=(q.server(refusal=Refusal.REPLICA),))

    assert watch.judge(at(0, refusing)).well
    assert watch.judge(at(9.9, refusing)).well
    found = watch.judge(at(10, refusing)).findings
    assert [(one.kind, one.since_ms) for one in found] == [("refuses-writes", NOW)]


def test_a_verdict_knows_whether_everything_could_be_read() -> None:
    assert judge(replace(q.healthy(), past=None, clamps_known=False)).all_read
    assert not judge(replace(q.healthy(), leader_lease_ms=None)).all_read


def counted(died: int = 0, done: int = 0, **changes: int) -> Observed:
    counters = {"died": died, "done": done, "enqueued": died + done} | changes
    return replace(q.healthy(), places=(q.place(counters=counters),), past=None)


def test_deaths_of_late_are_told_from_those_before() -> None:
    history, seen = History(), q.healthy()
    for minute in range(70):
        late = max(0, minute - 60)
        seen = history.add(at(60 * minute, counted(minute + 9 * late, 100 * minute)))

    past = seen.past
    assert past is not None
    assert past.deaths is not None
    assert past.deaths.over_s == 300
    assert past.deaths.died == 50
    assert past.deaths.ended == 550
    assert past.deaths.died_before == past.deaths.before_s / 60 + 9 * 4
    assert "deaths-rising" in kinds(judge(seen))


def test_a_counter_that_fell_back_counts_for_nothing() -> None:
    history = History()
    for minute, died in enumerate([500, 0, 1, 2, 3, 4, 5, 6]):
        seen = history.add(at(60 * minute, counted(died)))

    assert seen.past is not None
    assert seen.past.deaths is not None
    assert seen.past.deaths.died == 5


def owned(epoch: int, host: str, recovered: int = 0) -> Observed:
    place = q.place(owner=q.owner(epoch=epoch, host=host), counters={"recovered": recovered})
    return replace(q.healthy(), places=(place,), past=None)


def takeovers(*seen: Observed) -> int:
    history = History()
    for second, one in enumerate(seen):
        last = history.add(at(second, one))
    assert last.past is not None
    return len(last.past.takeovers["0"])


def test_consumers_that_roam_are_no_takeovers_and_those_that_crash_are() -> None:
    roaming = [owned(n, f"h:{n % 2}") for n in range(10)]
    restarted = [owned(n, f"h:{n}") for n in range(4)]
    crashed = [owned(n, "pod:1", recovered=n) for n in range(4)]

    assert takeovers(*roaming) == 1  # the second process was new
    assert takeovers(*restarted) == 3
    assert takeovers(*crashed) == 3
    assert takeovers(*[owned(7, "h:1", recovered=n) for n in range(4)]) == 0


def test_evictions_count_for_an_hour_from_when_the_history_began() -> None:
    history, counts = History(), [50, 50, 57, 57]
    grown = []
    for hour, evicted in zip([0, 0.5, 1, 2.1], counts, strict=True):
        seen = replace(q.healthy(), servers=(q.server(evicted=evicted),))
        last = history.add(at(3_600 * hour, seen)).past
        assert last is not None
        grown.append(last.evicted["main"])

    assert grown == [0, 0, 7, 0]


def test_many_small_steps_within_an_hour_count_in_full() -> None:
    history = History()
    for look in range(1_441):  # every five seconds, for two hours
        seen = replace(q.healthy(), servers=(q.server(evicted=10 * look),))
        last = history.add(at(5 * look, seen)).past

    assert last is not None
    assert 7_200 <= last.evicted["main"] <= 7_200 * 61 / 60


def test_what_is_gone_is_forgotten() -> None:
    history = History()
    history.add(at(0, q.healthy()))

    past = history.add(at(5, replace(q.healthy(), places=(), servers=(), schedules=()))).past

    assert past is not None
    assert not past.takeovers
    assert not past.evicted
    assert not past.missed


def test_each_node_of_a_cluster_counts_its_evictions_for_itself() -> None:
    history, evicted = History(), []
    for look, (first, second) in enumerate([(100, 0), (100, 0), (130, 0), (130, 7)]):
        nodes = tuple(
            q.server(clustered=True, run_id=run_id, evicted=count)
            for run_id, count in (("a", first), ("b", second))
        )
        past = history.add(at(60 * look, replace(q.healthy(), servers=nodes))).past
        assert past is not None
        evicted.append(past.evicted["main"])

    assert evicted == [0, 0, 30, 37]
