"""Which lanes are served first, later and last."""

from __future__ import annotations

import pytest

from consumer.core.levels import MOST_AHEAD, Lane, Levels, level_of


def long(cost_s: float, running: int = 0, level_s: float = -1e9) -> Lane:
    """Return a lane of 2 s jobs, claimed just now."""
    return Lane(cost_s, level_s, running=running, began_s=100.0 * running, mean_s=2.0)


def short(cost_s: float, level_s: float = -1e9) -> Lane:
    """Return a lane of 20 ms jobs."""
    return Lane(cost_s, level_s, mean_s=0.02)


def names(**lanes: Lane) -> list[bytes]:
    """Return what a claim for 8 slots is passed for lanes of one tier."""
    levels = Levels()
    levels.add({name.encode(): lane for name, lane in lanes.items()}, 100.0, 8)
    return levels.names()


def test_the_lane_that_cost_more_comes_later() -> None:
    assert names(a=long(13.0), b=short(12.0)) == [b"a"]
    assert names(a=long(12.0), b=short(13.0)) == [b"b"]
    assert names(a=long(12.1), b=short(12.0)) == []


def test_what_runs_is_charged_in_advance() -> None:
    assert names(a=long(10.0, running=2), b=short(12.0)) == [b"a"]
    assert names(a=long(10.0, running=1), b=short(12.0)) == []


def test_all_others_wait_for_a_lane_with_credit_and_the_dearest_of_them_most() -> None:
    new = Lane(11.5, level_s=12.0, mean_s=0.05)

    assert names(a=long(14.0), b=short(12.0), c=new) == [b"b", b"", b"a"]
    assert names(a=long(12.0), b=short(12.0), c=new) == [b"b", b"a"]
    assert names(a=long(12.0), c=new) == [b"a"]


def test_lanes_with_credit_share_by_what_they_cost() -> None:
    one, other = Lane(11.5, level_s=12.0, mean_s=0.05), Lane(11.9, level_s=12.0, mean_s=0.05)

    assert names(a=short(12.0), b=one, c=other) == [b"a", b"c"]


def test_a_lane_whose_credit_is_spent_is_one_of_the_others() -> None:
    assert names(a=long(14.0), b=short(12.0), c=Lane(12.0, level_s=12.0, mean_s=0.05)) == [b"a"]


@pytest.mark.parametrize(("running", "waits"), [(3, False), (4, True)])
def test_long_jobs_run_on_an_even_part_of_the_slots(running: int, *, waits: bool) -> None:
    assert names(a=long(1.0, running=running), b=short(12.0)) == ([b"a"] if waits else [b"b"])


def test_a_lane_with_credit_may_run_more() -> None:
    assert names(a=long(1.0, running=4, level_s=20.0), b=short(12.0)) == [b"b"]


@pytest.mark.parametrize(("running", "waits"), [(1, False), (2, True)])
def test_a_lane_of_which_nothing_is_known_runs_on_an_even_part(
    running: int, *, waits: bool
) -> None:
    new = Lane(11.5, level_s=12.0, running=running, began_s=100.0 * running)

    expected = [b"b", b"", b"a"] if not waits else [b"a", b"c"]
    assert names(a=long(14.0), b=short(12.0), c=new) == expected


def test_short_lanes_are_not_bounded_while_a_new_one_is_unknown() -> None:
    busy = Lane(12.0, running=6, began_s=600.0, mean_s=0.02)

    assert names(a=busy, b=Lane(11.5, level_s=12.0, running=4, began_s=400.0)) == [b"b"]


def test_lanes_alike_share_by_jobs() -> None:
    assert names(a=short(30.0), b=Lane(1.0, mean_s=0.03)) == []
    assert names(a=short(30.0)) == []
    assert names() == []


def test_a_claim_is_passed_so_many_names_and_the_dearest_of_them_first() -> None:
    lanes = {f"a{n}": long(100.0 + n) for n in range(40)}

    found = names(**lanes, b=short(12.0))

    assert found == [b"a%d" % n for n in range(39, 39 - MOST_AHEAD, -1)]


def test_tiers_are_sorted_apart_and_passed_together() -> None:
    levels = Levels()
    levels.add({b"1a": long(14.0), b"1b": short(12.0)}, 100.0, 8)
    levels.add(
        {b"2a": short(12.0), b"2b": Lane(11.5, level_s=12.0, mean_s=0.05)},
        100.0,
        8,
    )

    assert levels.names() == [b"2a", b"", b"1a"]


def test_a_name_is_read_as_it_was_passed() -> None:
    assert level_of([b"a", b"", b"b"]) == {b"a": 1, b"": 1, b"b": 2}
    assert level_of([b"a", b"b"]) == {b"a": 1, b"b": 1}
    assert level_of([]) == {}
