"""Corners of admission: values that are not ours, groups without room, what is left at the end."""

from __future__ import annotations

from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs.moves import verbs as move
from tests.contract import world as w
from tests.contract.test_capped import ids
from tests.contract.test_gates import admit, gates
from tests.contract.test_hold import hold
from tests.contract.world import World


def test_a_foreign_value_in_place_of_a_lane_at_a_gate_stops_no_other_group(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["lost"], limits=b"mail")
    w.enqueue(server_world, ["a"], b"other", limits=b"mail")
    server_world.client.set(server_world.partition.key + b":gq:2:mail~g", "not ours")

    assert admit(owned) == 1
    assert ids(w.claim(owned)) == ["a"]
    server_world.damaged = True


def test_a_gate_whose_groups_have_no_room_is_not_searched_to_its_end(server_world: World) -> None:
    owned, groups = server_world.own(), 60
    for n in range(groups):
        group = b"full%d" % n
        w.enqueue(server_world, [f"a{n}"], group, limits=b"mail")
        hold(server_world, group)
    ring = server_world.partition.key + b":gr:2:mail"
    before = server_world.client.lrange(ring, 0, -1)

    assert admit(owned) == 0
    visited = 32
    assert server_world.client.lrange(ring, 0, -1) == before[visited:] + before[:visited]


def test_an_empty_gate_has_no_turn_to_go_on_with(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"], limits=b"mail")
    turns = server_world.partition.key + b":gk"

    assert admit(owned, 1) == 1
    assert server_world.client.hexists(turns, "mail")
    assert admit(owned, 1) == 1
    assert gates(server_world) == {"mail": (0, 2)}
    assert not server_world.client.exists(turns)


def returned(world: World, *names: str) -> OwnedPartition:
    """Enqueue jobs which an owner admits and the next one sends back to their gate."""
    w.enqueue(world, names, limits=b"mail")
    assert admit(world.own(lease_s=10)) == len(names)
    world.advance(300)
    owned = world.own(lease_s=10)
    assert w.claim(owned).ids == []
    return owned


def test_a_cancelled_lane_leaves_nothing_behind_that_came_back_to_its_gate(
    server_world: World,
) -> None:
    owned, base = returned(server_world, "a", "b"), server_world.partition.key
    w.enqueue(server_world, ["c"], limits=b"mail")
    assert server_world.client.hget(base + b":gk", "2:mail~g") == b"b"

    assert sum(server_world.partition.cancel_group(b"g")) == 3
    admit(owned)

    assert gates(server_world) == {}
    assert server_world.client.hgetall(base + b":gk") == {}


def test_a_lane_that_moved_away_leaves_nothing_behind_that_came_back_to_its_gate(
    server_world: World,
) -> None:
    owned, base = returned(server_world, "a", "b"), server_world.partition.key
    client = server_world.client
    stamps = [(i, codec.read_stamp(client.hget(base + b":j", i))) for i in (b"a", b"b")]

    server_world.partition.run(move.forget(1, b"g", stamps))
    admit(owned)

    assert gates(server_world) == {}
    assert server_world.client.hgetall(base + b":gk") == {}
