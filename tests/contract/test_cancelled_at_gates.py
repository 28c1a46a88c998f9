"""A task group that is cancelled while its jobs wait at gates leaves nothing there."""

from __future__ import annotations

import pytest

from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_capped import configure, ids
from tests.contract.test_gates import admit, gates
from tests.contract.world import World


def test_a_cancelled_group_leaves_its_gates(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 250), limits=b"mail")
    w.enqueue(world, w.names("b", 3), limits=b"api")
    w.enqueue(world, ["c"], b"other", limits=b"mail")
    admit(owned, 1)

    assert sum(world.partition.cancel_group(b"g")) == 253

    assert world.partition.observe().parked == 1
    assert admit(owned) == 1
    assert admit(owned, gate="api") == 0
    assert ids(w.claim(owned)) == ["c"]
    assert gates(world) == {}
    w.enqueue(world, ["a00000"], limits=b"mail")  # remembered as ended
    w.enqueue(world, ["new"], limits=b"mail")
    assert admit(owned) == 1


def test_no_job_of_a_cancelled_group_is_counted_at_its_gates(world: World) -> None:
    for n, tier in enumerate((1, 2)):
        w.enqueue(world, w.names(f"a{n}", 3), limits=b"mail", tier=tier)
    w.enqueue(world, w.names("b", 250), limits=b"api")
    w.enqueue(world, ["c"], b"other", limits=b"mail")

    assert sum(world.partition.cancel_group(b"g")) == 256

    assert gates(world) == {"mail": (1, 0)}
    assert snapshot(world)["at_gates"] == {b"2:mail": [b"other"]}
    assert sum(world.partition.cancel_group(b"other")) == 1
    assert gates(world) == {}
    if world.client is not None:
        key = world.partition.key
        left = {k[len(key) :].split(b":")[1][:2] for k in world.client.scan_iter(key + b"*")}
        assert not left & {b"gg", b"gk", b"gq", b"gr", b"gt", b"cx"}
    w.enqueue(world, ["new"], limits=b"mail")
    assert admit(world.own()) == 1


@pytest.mark.parametrize("seats_follow", [True, False])
def test_a_cancelled_group_that_changed_its_tier_has_no_seat_at_its_gates(
    world: World, seats_follow: bool
) -> None:
    for n, tier in enumerate((1, 2)):
        w.enqueue(world, [f"a{n}"], limits=b"mail", tier=tier)
    w.enqueue(world, ["other"], b"other", limits=b"mail")
    configure(world, b"g", tier=0)
    if seats_follow:
        world.partition.run(produce.tier_at_gates(b"g"))

    assert sum(world.partition.cancel_group(b"g")) == 2

    assert gates(world) == {"mail": (1, 0)}
    assert snapshot(world)["at_gates"] == {b"2:mail": [b"other"]}


def test_a_job_that_came_after_the_cancellation_keeps_its_seat(world: World) -> None:
    w.enqueue(world, ["old"], limits=b"mail", tier=2)
    cursor, *_ = world.partition.run(produce.cancel_group(b"g", b"start"))
    w.enqueue(world, ["new"], limits=b"mail", tier=1)
    while cursor:
        cursor, *_ = world.partition.run(produce.cancel_group(b"g", cursor))

    assert snapshot(world)["at_gates"] == {b"1:mail": [b"g"]}
    assert gates(world) == {"mail": (1, 0)}


def test_the_turns_of_tiers_are_forgotten_with_the_last_job_at_a_gate(server_world: World) -> None:
    owned, turns = server_world.own(), server_world.partition.key + b":gk"
    w.enqueue(server_world, ["a", "b", "c"], limits=b"mail")
    assert admit(owned, 1) == 1
    assert server_world.client.hkeys(turns) == [b"mail"]

    assert sum(server_world.partition.cancel_group(b"g")) == 3

    assert server_world.client.hkeys(turns) == []


def test_a_cancelled_group_leaves_a_mark_where_its_seat_is_one_of_many(world: World) -> None:
    owned = world.own()
    for n in range(1001):
        w.enqueue(world, [f"j{n}"], b"%d" % n, limits=b"mail")

    assert [sum(world.partition.cancel_group(b"%d" % n)) for n in (7, 8)] == [1, 1]

    assert gates(world) == {"mail": (1001, 0)}
    assert admit(owned, 200) == 200
    assert gates(world) == {"mail": (799, 200)}


def test_a_serial_group_goes_on_after_the_head_that_waited_was_cancelled(world: World) -> None:
    owned = world.own()
    configure(world, b"g", serial=True, keep_ms=60_000)
    w.enqueue(world, ["a", "b"], limits=b"mail")
    assert ids(w.claim(owned)) == []
    assert gates(world) == {"mail": (1, 0)}

    assert sum(world.partition.cancel_group(b"g")) == 2

    assert gates(world) == {}
    w.enqueue(world, ["c"], limits=b"mail")
    assert [ids(w.claim(owned)) for _ in range(2)] == [[], []]  # first it meets the mark of b
    assert admit(owned) == 1
    assert ids(w.claim(owned)) == ["c"]
