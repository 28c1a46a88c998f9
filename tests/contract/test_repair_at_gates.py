"""What a repair restores of the jobs that wait at gates: lanes, seats, indexes and counts."""

from __future__ import annotations

import pytest

from queuepool.models import Tier
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_gates import admit, gates
from tests.contract.test_tier_of_group import claimed, move
from tests.contract.world import World


def test_a_job_that_is_in_no_lane_at_its_gate_returns_behind_the_others(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"], limits=b"mail")
    server_world.client.lrem(server_world.partition.key + b":gq:2:mail~g", 1, "a")

    assert server_world.partition.audit().orphan == 1
    assert server_world.partition.audit(repair=True).orphan == 1

    assert admit(owned) == 2
    assert claimed(owned, 2) == ["b", "a"]


def test_a_lane_without_a_seat_at_its_gate_gets_one(server_world: World) -> None:
    owned, base = server_world.own(), server_world.partition.key
    w.enqueue(server_world, ["a", "b"], limits=b"mail")
    server_world.client.delete(base + b":gr:2:mail")
    assert admit(owned) == 0

    assert server_world.partition.audit().unseated == 1
    assert server_world.partition.audit(repair=True).unseated == 1

    assert snapshot(server_world)["at_gates"] == {b"2:mail": [b"g"]}
    assert admit(owned) == 2


def test_a_seat_at_a_gate_is_restored_in_the_tier_that_its_group_has_now(
    server_world: World,
) -> None:
    owned, base = server_world.own(), server_world.partition.key
    w.enqueue(server_world, ["a"], limits=b"mail")
    move(server_world, Tier.CRITICAL)
    server_world.client.delete(base + b":gr:2:mail", base + b":gr:0:mail")

    assert server_world.partition.audit(repair=True).unseated == 1

    assert snapshot(server_world)["at_gates"] == {b"0:mail": [b"g"]}
    assert admit(owned) == 1


def test_a_group_that_lost_the_list_of_its_gates_can_be_cancelled_after_a_repair(
    server_world: World,
) -> None:
    w.enqueue(server_world, ["a", "b"], limits=b"mail")
    server_world.client.delete(server_world.partition.key + b":gg:g")

    assert server_world.partition.audit().unseated == 1
    assert server_world.partition.audit(repair=True).unseated == 1

    assert server_world.partition.audit().clean
    assert sum(server_world.partition.cancel_group(b"g")) == 2
    assert server_world.partition.observe().jobs == 0


@pytest.mark.parametrize(("gate", "found"), [("mail", 5), ("mail", 0), ("gone", 3)])
def test_admitted_jobs_are_counted_again_at_each_gate(
    server_world: World, gate: str, found: int
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, w.names("a", 3), limits=b"mail")
    w.enqueue(server_world, ["b"], limits=b"api")
    admit(owned, 2)
    admit(owned, 1, "api")
    server_world.client.hset(server_world.partition.key + b":ga", gate, found)

    assert server_world.partition.audit().miscounted == 1
    assert server_world.partition.audit(repair=True).miscounted == 1

    assert gates(server_world) == {"mail": (1, 2), "api": (0, 1)}
    assert server_world.partition.audit().clean


def test_a_lane_of_jobs_with_limits_that_is_not_noted_is_noted_again(server_world: World) -> None:
    owned, noted = server_world.own(), server_world.partition.key + b":ll"
    w.enqueue(server_world, ["a"], limits=b"mail")
    admit(owned)
    assert server_world.client.smembers(noted) == {b"2:g"}
    server_world.client.delete(noted)

    assert server_world.partition.audit().miscounted == 1
    assert server_world.partition.audit(repair=True).miscounted == 1

    assert server_world.client.smembers(noted) == {b"2:g"}
    assert server_world.partition.audit().clean
    assert claimed(owned, 1) == ["a"]
    assert not server_world.client.exists(noted)


def test_parked_jobs_and_ready_ones_that_were_mixed_up_are_counted_again(
    server_world: World,
) -> None:
    w.enqueue(server_world, w.names("a", 3), limits=b"mail")
    w.enqueue(server_world, w.names("b", 3), b"other")
    server_world.client.hset(server_world.partition.key + b":c", "parked", 5)
    w.miscount(server_world, 2, -2)

    assert server_world.partition.audit().unbalanced == 0
    assert server_world.partition.audit(repair=True).miscounted == 1

    state = server_world.partition.observe()
    assert (state.parked, state.ready) == (3, (0, 0, 3, 0))
    assert server_world.partition.audit().clean


def test_a_repair_leaves_the_counts_of_many_jobs_with_limits_as_they_are(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 1100), limits=b"mail")
    w.enqueue(world, w.names("b", 1100), b"other", limits=b"mail")
    admit(owned, 10)
    before = snapshot(world)["gates"]

    world.partition.audit(repair=True)

    assert world.partition.observe().parked == 2190
    assert snapshot(world)["gates"] == before


def test_what_is_noted_of_lanes_and_gates_that_are_gone_is_found_and_forgotten(
    server_world: World,
) -> None:
    owned, noted = server_world.own(), server_world.partition.key + b":gk"
    w.enqueue(server_world, ["a", "b"], limits=b"mail")
    assert admit(owned, 1) == 1
    here = {b"mail": server_world.client.hget(noted, "mail"), b"2:mail~g": b"b"}
    gone = {b"gone": b"3", b"2:gone~g": b"x", b"1:mail~g": b"x", b"2:mail~of~a": b"x"}
    server_world.client.hset(noted, mapping=here | gone)

    assert server_world.partition.audit().stray == len(gone)
    assert server_world.partition.audit(repair=True).stray == len(gone)

    assert server_world.client.hgetall(noted) == here
    assert server_world.partition.audit().clean
