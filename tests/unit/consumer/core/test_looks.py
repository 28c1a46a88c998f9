"""Looks ask other partitions in turns, beside turns of the owner, and spare servers away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from consumer.core.looks import A_LOOK, AWAY_S, LATE_S, Looks
from consumer.core.outages import Outages
from consumer.core.remote_call import ToPartition
from queuepool.errors import ConfigurationError, UnavailableError
from queuepool.testing import FakeClock
from queuepool.verbs.owner.replies import Ownership
from tests.unit.consumer.core.looking import OWNED, answer

AWAY = UnavailableError("away")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def looks_over(
    partitions: Sequence[int], clock: FakeClock, servers: dict[int, str] | None = None
) -> Looks:
    outages = Outages(10.0, clock, (servers or {}).get)
    return Looks(partitions, clock, outages)


def look(looks: Looks, work: dict[int, Any], own: int = 0) -> tuple[dict[int, int], list[int]]:
    """Return what a look finds, and which partitions it asked."""
    asked = answer(looks, looks.begin(Ownership(own, "", 1)), work)
    assert looks.open
    assert looks.is_over
    return looks.end(), asked


def test_it_asks_all_others_for_work(clock: FakeClock) -> None:
    looks = looks_over(range(4), clock)

    assert look(looks, {1: 1, 2: OWNED, 3: 2}) == ({1: 1, 3: 2}, [1, 2, 3])
    assert not looks.open


def test_many_partitions_are_asked_in_turns(clock: FakeClock) -> None:
    looks = looks_over(range(100), clock)
    asked: list[int] = []
    for _ in range(7):
        some = look(looks, {}, own=99)[1]
        assert len(some) <= A_LOOK
        asked += some

    assert set(asked) == set(range(99))


def test_calls_go_to_the_pool_of_the_owner(clock: FakeClock) -> None:
    [call] = looks_over(range(2), clock).begin(Ownership(0, "", 1, "cpu"))

    assert (call.to, call.pool, call.looks) == (ToPartition(1), "cpu", True)


def test_one_that_has_the_only_partition_has_nowhere_to_look(clock: FakeClock) -> None:
    assert look(looks_over([0], clock), {}) == ({}, [])


def test_a_partition_that_there_is_no_more_has_no_work(clock: FakeClock) -> None:
    looks = looks_over(range(3), clock)

    assert look(looks, {1: ConfigurationError("no partition 1"), 2: 2}) == ({2: 2}, [1, 2])


def test_a_server_that_is_away_is_not_asked_for_a_while(clock: FakeClock) -> None:
    looks = looks_over(range(4), clock, {0: "a", 1: "b", 2: "b", 3: "a"})

    assert look(looks, {1: AWAY, 2: AWAY, 3: 2}) == ({3: 2}, [1, 2, 3])
    assert look(looks, {3: 2}) == ({3: 2}, [3])
    clock.advance(AWAY_S)
    assert look(looks, {})[1] == [1, 2, 3]


def test_a_look_does_not_wait_long_for_a_slow_server(clock: FakeClock) -> None:
    looks = looks_over(range(3), clock, {0: "a", 1: "b", 2: "a"})
    calls = looks.begin(Ownership(0, "", 1))
    answer(looks, calls, {1: None, 2: 2})
    assert (looks.is_over, looks.late_s) == (False, clock() + LATE_S)
    clock.advance(LATE_S)
    assert (looks.is_over, looks.end()) == (True, {2: 2})

    assert look(looks, {2: 0}) == ({}, [2])  # what was not answered is not asked again
    answer(looks, calls[:1], {1: 2})  # it counts now
    assert (looks.open, looks.is_over, looks.end()) == (True, True, {1: 2})
    assert look(looks, {1: 0, 2: 2}) == ({2: 2}, [1, 2])  # and for no later look


def test_a_late_answer_that_finds_no_work_begins_nothing(clock: FakeClock) -> None:
    looks = looks_over(range(2), clock)
    calls = looks.begin(Ownership(0, "", 1))
    clock.advance(LATE_S)
    assert looks.end() == {}
    answer(looks, calls, {1: 0})

    assert not looks.open
    assert look(looks, {1: 2}) == ({1: 2}, [1])  # at once: the server is there


def test_what_was_not_answered_in_time_is_asked_again_by_the_next_owner(clock: FakeClock) -> None:
    looks = looks_over(range(3), clock)
    answer(looks, looks.begin(Ownership(0, "", 1)), {1: None, 2: 2})
    clock.advance(LATE_S)
    looks.end()
    looks.arrive(2)

    assert look(looks, {}, own=2)[1] == []
    clock.advance(AWAY_S)
    assert look(looks, {1: 2}, own=2) == ({1: 2}, [0, 1])


def test_after_an_outage_no_owner_is_replaced_until_it_could_renew(
    clock: FakeClock,
) -> None:
    looks = looks_over(range(3), clock, {0: "a", 1: "b", 2: "a"})
    look(looks, {1: AWAY})
    clock.advance(60)

    late = {1: [2, 7]}
    assert look(looks, late) == ({}, [1, 2])  # the first reply after it
    clock.advance(9.9)
    assert look(looks, late)[0] == {}
    clock.advance(0.1)
    assert look(looks, late)[0] == {}  # from now on it is watched
    clock.advance(5)
    assert look(looks, late)[0] == {1: 2}


def test_what_its_owner_has_left_is_found_also_after_an_outage(clock: FakeClock) -> None:
    looks = looks_over(range(2), clock)
    look(looks, {1: AWAY})
    clock.advance(AWAY_S)

    assert look(looks, {1: 2}) == ({1: 2}, [1])


def test_an_owner_whose_lease_is_over_is_watched_before_it_is_replaced(clock: FakeClock) -> None:
    looks = looks_over(range(40), clock)
    late = {5: [2, 7]}

    assert look(looks, late)[0] == {}
    for _ in range(2):
        clock.advance(2)
        assert look(looks, late)[1][0] == 5  # also in the turn of others
    clock.advance(1)
    assert look(looks, late)[0] == {5: 2}


def test_one_that_renews_meanwhile_is_left_alone(clock: FakeClock) -> None:
    looks = looks_over(range(3), clock)
    for _ in range(9):
        assert look(looks, {1: [2, 7]})[0] == {}
        clock.advance(4.9)
        assert look(looks, {1: OWNED})[0] == {}
        clock.advance(4.9)


def test_it_knows_for_how_long_a_partition_had_no_owner(clock: FakeClock) -> None:
    looks = looks_over(range(4), clock)
    looks.leave(3)
    look(looks, {1: 2, 2: OWNED})
    clock.advance(3.0)

    assert looks.vacant_for_s(1) == 3.0
    assert looks.vacant_for_s(2) == 0.0
    assert looks.vacant_for_s(3) > 1e9  # others may take it: it need not wait
    look(looks, {1: OWNED, 3: OWNED})
    assert looks.vacant_for_s(1) == looks.vacant_for_s(3) == 0.0
