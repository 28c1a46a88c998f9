"""Whatever makes a job ready leaves one token that wakes the owner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.testing import MemoryServer
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import BATCH, finish, open_batch, relay
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def hand_back(_world: World, owned: OwnedPartition) -> None:
    owned.run(own.hand_back(owned.ownership, [b"a"]))


def promote(world: World, owned: OwnedPartition) -> None:
    w.retry(owned, [b"a"], delay_ms=1_000)
    world.advance(2)
    w.promote(owned)


def replay(world: World, owned: OwnedPartition) -> None:
    w.bury(owned, [b"a"])
    world.partition.replay(["a"])


def recover(world: World, owned: OwnedPartition) -> None:
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    w.recover(world.own())


def enqueue(world: World, _owned: OwnedPartition) -> None:
    w.enqueue(world, ["b"])


def end_a_hold(world: World, _owned: OwnedPartition) -> None:
    for on in (True, False):
        world.partition.run(produce.configure(None, hold=on))


READY: list[Callable[[World, OwnedPartition], None]] = [
    hand_back, promote, replay, recover, enqueue, end_a_hold,
]  # fmt: skip


def forget_tokens(world: World) -> None:
    """Take the tokens, as an owner that wakes up."""
    if isinstance(world.partition.server, MemoryServer):
        world.partition.server.data(world.partition.key).tokens.clear()
    else:
        world.client.delete(world.partition.key + b":wk")


@pytest.mark.parametrize("make_ready", READY)
def test_a_job_that_becomes_ready_wakes_the_owner(
    world: World, make_ready: Callable[[World, OwnedPartition], None]
) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    forget_tokens(world)

    make_ready(world, owned)

    assert snapshot(world)["tokens"] == [b"w"]


def test_nothing_that_becomes_ready_wakes_nobody(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    w.claim(owned)
    w.retry(owned, [b"b"], delay_ms=60_000)
    forget_tokens(world)

    owned.run(own.hand_back(owned.ownership, [b"other"]))
    w.promote(owned)
    world.partition.replay(["other"])
    owned.run(own.end_cancelled(owned.ownership, [b"a"]))
    w.recover(owned)
    world.partition.cancel_group(b"g")

    assert snapshot(world)["tokens"] == []


@pytest.mark.parametrize("whole_group", [False, True])
def test_a_running_job_that_is_cancelled_wakes_its_owner_once(
    world: World, whole_group: bool
) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    w.claim(owned)
    forget_tokens(world)

    for job_id in ("a", "b"):
        if whole_group:
            world.partition.cancel_group(b"g")
        else:
            world.partition.cancel(job_id)

    assert snapshot(world)["tokens"] == [b"c"]


def test_the_first_outcome_of_a_batch_wakes_the_owner_to_relay_it(world: World) -> None:
    first, second = open_batch(world, 2)
    forget_tokens(world)

    world.partition.cancel(first)
    assert snapshot(world)["tokens"] == [b"f"]
    forget_tokens(world)
    world.partition.cancel(second)
    assert snapshot(world)["tokens"] == []


def test_a_batch_that_is_complete_when_it_is_sealed_wakes_the_owner(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, seal=False)
    finish(owned, w.claim(owned))
    relay(owned)
    forget_tokens(world)

    assert world.partition.run(flow.seal_batch(BATCH, 1)) == 1
    assert snapshot(world)["tokens"] == [b"f"]


def test_room_for_a_bounded_tenant_wakes_the_owner(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], group_of(b"k", b"t"))
    world.partition.run(tenants.configure(b"t", max_running=1))
    claims = w.claim(owned)
    assert w.claim(owned).ids == []  # it leaves its ring
    forget_tokens(world)

    w.bury(owned, claims.ids)

    assert snapshot(world)["tokens"] == [b"w"]
