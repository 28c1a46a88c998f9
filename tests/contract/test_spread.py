"""What the record of a group says about its spread: it never shrinks, and is kept with totals."""

from __future__ import annotations

from typing import Any

from queuepool.models import GroupStatus
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World

DAY_S = 86_400


def spread(world: World, over: int, keep_s: float = 30 * DAY_S, **settings: Any) -> bool | None:
    verb = produce.configure(b"g", spread=over, keep_ms=round(keep_s * 1000), **settings)
    return world.partition.run(verb)


def status(world: World) -> GroupStatus:
    return world.partition.group(b"g")


def test_a_group_is_not_spread_unless_somebody_says_so(world: World) -> None:
    w.enqueue(world, ["a"])

    assert status(world).spread == 1


def test_it_is_spread_before_its_first_job_and_never_over_less(world: World) -> None:
    assert (spread(world, 4), spread(world, 4), spread(world, 2)) == (True, False, False)
    assert status(world).spread == 4
    assert spread(world, 8) is True
    assert status(world).spread == 8
    assert not status(world).has_settings


def test_what_is_spread_is_claimed_like_any_other(world: World) -> None:
    owned = world.own()
    spread(world, 4)
    w.enqueue(world, ["a", "b"])

    assert w.drain(owned) == ["a", "b"]


def test_totals_are_kept_though_the_part_has_ended_long_ago(world: World) -> None:
    owned = world.own()
    spread(world, 4)
    w.enqueue(world, ["a"])
    w.drain(owned)
    world.advance(29 * DAY_S)

    assert (status(world).done, status(world).spread) == (1, 4)
    world.advance(2 * DAY_S)
    assert (status(world).done, status(world).spread) == (0, 1)


def test_they_are_kept_also_if_settings_came_and_went(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    spread(world, 4, weight=3)
    assert world.partition.run(produce.configure(b"g", weight=1)) is True
    w.drain(owned)
    world.advance(29 * DAY_S)

    assert (status(world).done, status(world).spread) == (1, 4)


def test_a_short_time_does_not_shorten_that_of_its_jobs(world: World) -> None:
    owned = world.own()
    spread(world, 4, keep_s=1)
    w.enqueue(world, ["a", "b", "c"])
    w.drain(owned)
    world.advance(170)

    assert status(world).done == 3
