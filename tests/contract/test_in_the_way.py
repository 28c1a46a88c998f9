"""Something that is not ours stands where a call has to write late. Real servers.

What producers can fill makes way; of anything else the caller hears, and nothing is changed.
"""

from __future__ import annotations

import pytest

from queuepool.errors import ScriptError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.touched import Keys
from tests.contract.world import World

pytestmark = pytest.mark.either_engine

TENANTS = group_of(b"g", b"acme")


def key(world: World, suffix: str | bytes) -> bytes:
    return world.partition.key + b":" + (suffix.encode() if isinstance(suffix, str) else suffix)


def plant(world: World, suffix: str | bytes) -> None:
    """Put something else in the place of a key."""
    world.client.delete(key(world, suffix))
    world.client.set(key(world, suffix), "not ours")


def tokens(world: World) -> list[bytes]:
    return list(world.client.lrange(key(world, "wk"), 0, -1))


def test_where_tokens_wait_it_makes_way_for_that_of_a_gate(server_world: World) -> None:
    w.enqueue(server_world, ["ready"])
    plant(server_world, "wk")

    assert w.enqueue(server_world, ["a"], limits=b"mail") == b"1"

    assert tokens(server_world) == [b"g"]


def test_where_tokens_wait_it_makes_way_for_that_of_a_cancellation(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    w.claim(owned)

    plant(server_world, "wk")
    assert server_world.partition.cancel("a") is JobState.IN_FLIGHT
    assert tokens(server_world) == [b"c"]

    plant(server_world, "wk")
    assert server_world.partition.cancel_group(b"g") == (0, 2)
    assert tokens(server_world) == [b"c"]


def drained_by_one_beside_another(world: World) -> tuple[OwnedPartition, own.Claims]:
    """Two jobs of a tenant that may run one: who runs it is about to leave."""
    owned = world.own()
    world.partition.run(tenants.configure(b"acme", max_running=1))
    w.enqueue(world, ["a", "b"], TENANTS)
    claims = w.claim(owned, 1)
    assert claims.ids == [b"a"]
    assert w.claim(owned).taken == 0
    owned.run(own.release(owned.ownership, drain_lease_ms=600_000))
    return owned, claims


def test_where_tokens_wait_it_makes_way_when_a_tenant_has_room_again(server_world: World) -> None:
    owned, claims = drained_by_one_beside_another(server_world)
    plant(server_world, "wk")

    assert w.finish(owned, claims).finished == 1

    assert tokens(server_world) == [b"w"]


def test_in_place_of_a_ring_it_stops_an_end_that_gives_a_tenant_its_seat(
    server_world: World,
) -> None:
    owned, claims = drained_by_one_beside_another(server_world)
    plant(server_world, "ring:2")

    with pytest.raises(ScriptError, match="Another program writes"):
        w.finish(owned, claims)

    server_world.client.delete(key(server_world, "ring:2"))
    assert w.finish(owned, claims).finished == 1
    assert w.claim(server_world.own()).ids == [b"b"]


def test_in_place_of_a_tenants_record_it_makes_way_for_a_producer_that_knows_no_tenants(
    server_world: World,
) -> None:
    w.enqueue(server_world, ["a"], TENANTS)
    server_world.partition.run(produce.configure(TENANTS, weight=2))
    plant(server_world, "tn:acme")
    body = w.tail(TENANTS)
    call = produce.enqueue(
        [2, TENANTS, 0, 1, "b", body], jobs=1, size_bytes=13 + len(body), **w.LIMITS
    )

    assert server_world.partition.run(call) == b"1"

    assert w.claim(server_world.own()).ids == [b"a", b"b"]
    server_world.damaged = True  # what the record counted is lost


@pytest.mark.parametrize("suffix", ["dl", "du", "fl"])
def test_a_job_beside_one_that_is_replaced_does_not_come_in_alone(
    server_world: World, suffix: str
) -> None:
    owned, keys = server_world.own(), Keys(server_world)
    w.enqueue(server_world, ["late"], tier=1, delay_ms=60_000, unique={0: b"k"}, until=b"ed")
    plant(server_world, f"fl:{owned.ownership.epoch}" if suffix == "fl" else suffix)
    before = keys.save()

    with pytest.raises(ScriptError, match="Another program writes"):
        w.enqueue(server_world, ["new", "newer"], tier=1, unique={1: b"k"}, until=b"ed")

    assert keys.save() == before
    server_world.damaged = True


def test_in_place_of_what_is_delayed_it_stops_a_cancellation_before_it_begins(
    server_world: World,
) -> None:
    w.enqueue(server_world, ["a"])
    w.enqueue(server_world, ["late"], delay_ms=60_000)
    plant(server_world, "dl")
    keys = Keys(server_world)
    before = keys.save()

    with pytest.raises(ScriptError, match="Another program writes"):
        server_world.partition.cancel_group(b"g")

    assert keys.save() == before
    server_world.damaged = True


def test_in_place_of_a_lane_at_a_gate_it_makes_way_for_a_cancellation(server_world: World) -> None:
    w.enqueue(server_world, ["a"], limits=b"mail")
    w.enqueue(server_world, ["b"], limits=b"api")
    plant(server_world, "gq:2:mail~g")

    assert server_world.partition.cancel_group(b"g") == (1, 0)

    server_world.damaged = True
