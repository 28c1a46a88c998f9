"""Lanes that had more than their share of time have their turn after the others of their tier."""

from __future__ import annotations

from collections import Counter

import pytest

from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.test_capped import configure, ids
from tests.contract.world import World


def groups(claims: own.Claims) -> Counter[str]:
    """Count claimed jobs by the first letter of their ids."""
    return Counter(i[0] for i in ids(claims))


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_lane_that_is_ahead_waits_while_others_have_jobs(world: World, limit: int) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 30), b"a")
    w.enqueue(world, w.names("b", 3 * limit), b"b")

    for _ in range(3):
        assert groups(w.claim(owned, limit, ahead=[b"2a"])) == {"b": limit}

    assert groups(w.claim(owned, limit, ahead=[b"2a"])) == {"a": limit}


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_lanes_behind_an_empty_name_have_their_turn_last_of_all(world: World, limit: int) -> None:
    owned = world.own()
    for group in "cba":
        w.enqueue(world, w.names(group, 2 * limit), group.encode())
    ahead = [b"2b", b"", b"2c"]

    claims = [groups(w.claim(owned, limit, ahead=ahead)) for _ in range(6)]

    assert claims == [{group: limit} for group in "aabbcc"]


def test_a_claim_goes_through_all_levels_and_lanes_of_one_level_share(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 2), b"a")
    for group in "bcde":
        w.enqueue(world, w.names(group, 6), group.encode())

    claims = w.claim(owned, 18, ahead=[b"2b", b"2c", b"", b"2d", b"2e"])

    assert groups(claims) == {"a": 2, "b": 6, "c": 6, "d": 2, "e": 2}
    assert claims.taken == 18


def test_tiers_keep_their_shares_whatever_the_levels_of_their_lanes(world: World) -> None:
    owned = world.own()
    for tier, group in ((1, "h"), (1, "i"), (3, "l"), (3, "m")):
        w.enqueue(world, w.names(group, 60), group.encode(), tier=tier)

    found = groups(w.claim(owned, 40, ahead=[b"1h", b"", b"3l"]))

    by_tier = groups_without(world, 40)
    assert found == {"i": by_tier["h"], "m": by_tier["l"]}


def test_what_the_others_leave_goes_to_the_lane_that_is_ahead(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 30), b"a")
    w.enqueue(world, w.names("b", 3), b"b")

    claims = w.claim(owned, 10, ahead=[b"2a"])

    assert groups(claims) == {"a": 7, "b": 3}
    assert claims.taken == 10


def test_many_lanes_that_are_ahead_hide_no_other(world: World) -> None:
    owned = world.own()
    for n in range(20):
        w.enqueue(world, w.names(f"a{n}-", 5), b"a%d" % n)
    w.enqueue(world, w.names("b", 4), b"b")
    ahead = [b"2a%d" % n for n in range(20)]

    found = [groups(w.claim(owned, 1, ahead=ahead)) for _ in range(4)]

    assert found == [{"b": 1}] * 4


def test_a_tier_keeps_its_share_when_all_of_its_lanes_are_ahead(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("h", 60), b"h", tier=1)
    w.enqueue(world, w.names("l", 60), b"l", tier=3)

    found = groups(w.claim(owned, 40, ahead=[b"1h"]))

    assert found == groups_without(world, 40)


def groups_without(world: World, limit: int) -> Counter[str]:
    """Return what weights of 3 and 1 make of so many jobs."""
    high = round(limit * w.WEIGHTS[1] / (w.WEIGHTS[1] + w.WEIGHTS[3]))
    return Counter(h=high, l=limit - high)


def test_a_lane_of_another_tier_or_group_is_not_meant(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 4), b"a")
    w.enqueue(world, w.names("b", 4), b"b")

    assert groups(w.claim(owned, 4, ahead=[b"1a", b"2", b"2aa", b"", b"a"])) == {"a": 2, "b": 2}


def test_a_group_with_a_weight_has_its_turns_whatever_they_cost(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 40), b"a")
    w.enqueue(world, w.names("b", 40), b"b")
    configure(world, b"a", weight=3)

    assert groups(w.claim(owned, 8, ahead=[b"2a"])) == {"a": 6, "b": 2}


def test_what_is_left_of_a_claim_that_was_too_large_is_not_of_the_lane_that_is_ahead(
    world: World,
) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 5), b"a", payload=b'"%s"' % (b"x" * 50_000))
    w.enqueue(world, w.names("b", 5), b"b", payload=b'"%s"' % (b"x" * 50_000))

    claims = w.claim(owned, 10, ahead=[b"2a"], max_bytes=170_000)

    assert groups(claims) == {"b": 3}
    assert claims.taken == 10
