"""Settings of a group before its first job, and between one bulk and the next."""

from __future__ import annotations

import pytest

from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World

DAY_MS = 86_400_000


def configure(world: World, *, max_running: int, keep_ms: int = 0) -> bool | None:
    return world.partition.run(produce.configure(b"g", max_running=max_running, keep_ms=keep_ms))


def most(world: World) -> int | None:
    return world.partition.group(b"g").max_running


def test_settings_may_come_before_the_first_job(world: World) -> None:
    assert configure(world, max_running=2) is None
    assert configure(world, max_running=2, keep_ms=DAY_MS)
    assert not configure(world, max_running=2, keep_ms=DAY_MS)
    assert (most(world), world.partition.group(b"g").total) == (2, 0)
    assert world.partition.group(b"g").has_settings

    w.enqueue(world, w.names("j", 5))
    owned = world.own(nonce="n")
    assert len(w.claim(owned).ids) == 2
    assert (world.partition.observe().backlog, world.partition.observe().capped) == (0, 3)


def test_settings_are_forgotten_when_no_work_came_in_their_time(world: World) -> None:
    configure(world, max_running=2, keep_ms=DAY_MS)
    world.advance(86_300)
    assert most(world) == 2
    configure(world, max_running=2, keep_ms=DAY_MS)
    world.advance(86_300)
    assert most(world) == 2
    world.advance(200)
    assert most(world) is None
    assert configure(world, max_running=2) is None


@pytest.mark.parametrize("how", ["finish", "cancel", "discard"])
def test_work_begins_their_time_again(world: World, how: str) -> None:
    configure(world, max_running=2, keep_ms=2 * DAY_MS)
    world.advance(86_400)
    w.enqueue(world, ["a"])
    world.advance(3 * 86_400)
    assert most(world) == 2
    owned = world.own(nonce="n")
    if how == "finish":
        w.finish(owned, w.claim(owned))
    elif how == "cancel":
        world.partition.cancel("a")
    else:
        w.bury(owned, w.claim(owned).ids)
        world.advance(3 * 86_400)
        assert most(world) == 2
        world.partition.discard(["a"])

    world.advance(2 * 86_400 - 100)
    assert most(world) == 2
    world.advance(200)
    assert most(world) is None


def test_the_time_of_a_group_that_is_remembered_is_not_cut_short(world: World) -> None:
    w.enqueue(world, w.names("j", 60))  # remembered for an hour
    owned = world.own(nonce="n")
    w.finish(owned, w.claim(owned))

    configure(world, max_running=2, keep_ms=1_000)
    world.advance(3_000)
    assert (most(world), world.partition.group(b"g").done) == (2, 60)


def test_settings_that_are_set_back_are_kept_no_longer(world: World) -> None:
    configure(world, max_running=2, keep_ms=10 * DAY_MS)
    configure(world, max_running=0)
    assert configure(world, max_running=2) is None
    w.enqueue(world, ["a"])
    configure(world, max_running=2, keep_ms=10 * DAY_MS)
    configure(world, max_running=0)
    owned = world.own(nonce="n")
    w.finish(owned, w.claim(owned))

    world.advance(120)
    assert world.partition.group(b"g").total == 0
