"""Advice: for what, with which command and figures; and none where no command would help."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from queuepool.models.advice import Advice, AdviceKind, Loads, Part, PlaceLoad
from queuepool.telemetry.advice.advising import AdviceWatch, advise
from queuepool.telemetry.advice.hot import hot_places
from tests.unit.telemetry.advice import loads as q
from tests.unit.telemetry.advice.loads import MIB
from tests.unit.telemetry.doctor import queues


def only(loads: Loads) -> Advice:
    [found] = advise(loads)
    return found


def test_where_load_is_spread_well_there_is_no_advice() -> None:
    assert advise(q.even()) == ()
    assert advise(Loads(over_s=0.0)) == ()


def test_of_a_hot_partition_slots_go_where_least_is_to_do() -> None:
    loads = q.with_place(q.hot())
    loads = replace(loads, places=(*loads.places[:1], q.place(1, wanted=1.0), *loads.places[2:]))

    found = only(loads)

    assert (found.kind, found.subject) == (AdviceKind.HOT_SLOTS, "partition 3")
    # 12 workers' work and 1: 2.4 goes, then 2.16; 1.92 more would turn it round
    assert (found.slots, found.partition) == ((0, 10), 1)
    assert found.command == "queuepool move --slot 0,10 --to-partition 1"
    assert found.figures["share"] == pytest.approx(0.38)
    assert found.figures["times"] == pytest.approx(12 / (5 / 3))
    assert "8.0 of 8 are busy" in found.what
    assert "instead of 1.0" in found.effect
    assert found.figures["wanted_after"] >= found.figures["wanted_there"]


def test_a_group_that_takes_most_of_its_partition_is_named_since_no_move_helps() -> None:
    parts = (Part(17, b"import-7", 0.51), Part(18, b"small", 0.2))

    found = only(q.with_place(q.hot(parts=parts)))

    assert (found.kind, found.subject) == (AdviceKind.HOT_GROUP, "group import-7")
    assert found.figures["share"] == 0.51
    assert found.slots == ()
    assert only(q.with_place(q.hot(parts=(Part(17, b"a", 0.5), Part(18, b"b", 0.3))))).slots


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(q.hot(wait_s=29.0), id="its jobs hardly wait"),
        pytest.param(q.hot(backlog=0), id="no job waits for a worker"),
        pytest.param(q.hot(wanted=4.0), id="twice as much is not hot"),
        pytest.param(q.hot(workers=0), id="nobody owns it"),
        pytest.param(q.hot(parts=()), id="too few jobs ran to know their slots"),
        pytest.param(q.hot(parts=(Part(1, b"a", 0.02),)), id="what could go is next to nothing"),
    ],
)  # fmt: skip
def test_what_harms_nobody_or_cannot_be_helped_is_no_advice(place: PlaceLoad) -> None:
    assert advise(q.with_place(place)) == ()


def test_if_jobs_wait_elsewhere_as_well_the_partition_is_not_hot() -> None:
    places = [q.place(n, wait_s=6.1, backlog=9) for n in range(3)]

    assert advise(replace(q.even(), places=(*places, q.hot()))) == ()


@pytest.mark.parametrize("waits", [(0, 0, 9), (9, 9, 0, 3), (2, 5, 1, 9, 9), (60, 1, 1)])
def test_how_long_jobs_wait_elsewhere_is_the_median_of_the_others(waits: tuple[float, ...]) -> None:
    others = [q.place(n, wait_s=wait_s) for n, wait_s in enumerate(waits)]
    hottest = q.hot(len(waits), wait_s=100.0)

    (found,) = hot_places(replace(q.even(), places=(*others, hottest)))

    assert found.place is hottest
    assert found.elsewhere_s == statistics.median(waits)


def test_of_two_partitions_one_may_be_hot() -> None:
    loads = replace(q.even(), places=(q.place(0), q.hot(1)))

    assert only(loads).partition == 0


def test_a_server_without_time_gives_partitions_to_one_that_has() -> None:
    places = tuple(q.place(n, came=100.0 * n, ended=100.0 * n) for n in range(4))
    busy = q.server(cpu=0.71)

    idle = q.server(name="big", cpu=0.1, partitions=())
    found = only(q.even(places=places, servers=(busy, idle)))
    assert (found.kind, found.subject) == (AdviceKind.HOT_SERVER, "server main")
    assert found.command == "queuepool move 3 --to big"
    assert found.figures["share"] == 0.5
    assert "71% of a core" in found.what
    assert only(q.even(places=places, servers=(busy,), spare=("new",))).command.endswith("new")
    unnamed = only(q.even(places=places, servers=(busy,)))
    assert unnamed.command.endswith("--to NAME")
    assert "QUEUEPOOL_SERVERS" in unnamed.effect
    assert advise(q.even(places=places, servers=(q.server(cpu=0.69), idle))) == ()


@pytest.mark.parametrize(
    ("used", "growth", "advised"),
    [(710, 0.0, True), (690, 0.0, False), (410, 0.1, True), (390, 0.1, False), (410, 0.001, False)],
)  # fmt: skip
def test_a_server_whose_memory_is_short_or_will_be_within_a_day(
    used: int, growth: float, advised: bool
) -> None:
    server = q.server(used=used * MIB, growth=growth * MIB)

    found = advise(q.even(servers=(server,), spare=("big",)))

    assert [one.command for one in found] == ["queuepool move 0,1 --to big"] * advised
    if growth and advised:
        assert "full in 98" in found[0].what


def test_one_partition_alone_is_not_moved_since_the_server_would_be_as_full() -> None:
    loads = q.even(places=(q.place(0),), servers=(q.server(cpu=0.9, partitions=(0,)),))

    assert advise(loads) == ()


def test_where_all_workers_are_busy_and_more_did_not_help_there_are_too_few_processes() -> None:
    stuck = [q.place(n, busy=7.5, wait_s=60.0, backlog=99, stuck=True) for n in range(4)]

    found = only(q.even(places=tuple(stuck)))

    assert (found.kind, found.command) == (
        AdviceKind.MORE_PARTITIONS, "queuepool partitions set 8",
    )  # fmt: skip
    assert found.figures["ended_per_s"] == 400.0
    assert advise(q.even(places=(*stuck[:2], *map(q.place, (2, 3))))) == ()
    busy = q.even(places=tuple(stuck), servers=(q.server(cpu=0.9, partitions=(0,)),))
    assert [one.kind for one in advise(busy)] == []


def test_what_lasts_for_less_than_minutes_is_not_reported() -> None:
    watch, loads = AdviceWatch(), q.with_place(q.hot())
    seen = queues.healthy(loads=loads)

    def look(after_s: int, of: Loads = loads) -> list[int | None]:
        now_ms = queues.NOW + after_s * 1000
        return [one.since_ms for one in watch.advise(replace(seen, now_ms=now_ms, loads=of)).advice]

    assert [look(s) for s in range(0, 120, 30)] == [[]] * 4
    assert look(119) == []
    assert look(120) == [queues.NOW]
    assert look(150, q.even()) == []
    assert look(170) == [queues.NOW]  # a reading may fail
    assert look(231, q.even()) == []
    assert look(240) == []  # it was gone for longer than that
