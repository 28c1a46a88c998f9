"""A body that changes gets another stamp, which the next cancellation of its group reaches.

Stamps follow the latest cancellation ms by ms while the clock is behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from queuepool.protocol import codec
from queuepool.verbs.operator import editing
from tests.contract import world as w
from tests.contract.world import World


def edit(world: World) -> None:
    _, body = world.partition.run(editing.edit("a"))
    assert world.partition.run(editing.edit("a", body, b'["t",{"n":2}]'))[0] == "edited"


def replay(world: World) -> None:
    owned = world.own(nonce="n")
    w.bury(owned, w.claim(owned).ids)
    assert world.partition.replay(["a"]).replayed == 1


def replace(world: World) -> None:
    w.enqueue(world, ["b"], payload=b'{"n":2}', unique={0: b"k"}, until=b"er")


@pytest.mark.parametrize("change", [edit, replay, replace])
def test_a_cancellation_reaches_a_job_that_was_changed_after_the_clock_went_back(
    world: World, change: Callable[[World], None]
) -> None:
    w.enqueue(world, ["x"], b"other")
    world.partition.cancel_group(b"other")
    if world.clock is None:
        world.advance(-60)
    w.enqueue(world, ["a"], unique={0: b"k"}, until=b"er")

    change(world)

    assert world.partition.cancel_group(b"g") == (1, 0)
    w.enqueue(world, ["new"])
    assert w.drain(world.own(nonce="n")) == ["new"]


def test_an_edit_of_a_job_with_a_stamp_far_ahead_leaves_the_stamps_of_others_alone(
    server_world: World,
) -> None:
    w.enqueue(server_world, ["a"])
    jobs = server_world.partition.key + b":j"
    ahead = w.older(server_world.client.hget(jobs, "a"), -(10**11))
    server_world.client.hset(jobs, "a", ahead)

    edit(server_world)
    w.enqueue(server_world, ["b"])

    stamp = codec.read_enqueued_ms(server_world.client.hget(jobs, "b"))
    assert stamp == pytest.approx(time.time() * 1000, abs=10_000)
