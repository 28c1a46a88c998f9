"""Consumers that look for work are told of partitions that have some, and no owner."""

from __future__ import annotations

import pytest

from queuepool.cli.display.view import row_of
from queuepool.models import PartitionState
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import gates as at_gates
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import batches
from tests.contract import world as w
from tests.contract.world import World

NOTHING, PARKED, WORK = 0, 1, 2


def vacancy(world: World) -> int:
    return world.partition.run(own.vacancy()).work


def observed(world: World) -> PartitionState:
    return world.partition.run(operate.observe(0))


def is_seen_to_have_work(world: World) -> bool:
    """Return what KEDA, and a person who looks at the status, are told; the same, of course."""
    state = observed(world)
    assert row_of(state, "server").unattended is (state.has_work and state.owner is None)
    return state.has_work


def test_a_new_partition_has_no_work(world: World) -> None:
    assert vacancy(world) == NOTHING


@pytest.mark.parametrize("tier", range(4))
def test_ready_jobs_wait_for_an_owner(world: World, tier: int) -> None:
    w.enqueue(world, ["a"], tier=tier)

    assert vacancy(world) == WORK

    owned = world.own(lease_s=10)
    assert vacancy(world) == NOTHING, "somebody owns it"
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert vacancy(world) == WORK


def test_an_owner_whose_lease_is_over_is_none(world: World) -> None:
    w.enqueue(world, ["a"])
    owned = world.own(lease_s=10)
    w.claim(owned)
    assert vacancy(world) == NOTHING

    world.advance(11)

    assert vacancy(world) == WORK, "its job is to be recovered"


def test_an_owner_is_named_until_it_releases_its_partition(world: World) -> None:
    assert world.partition.run(own.vacancy()).epoch is None
    owned = world.own(lease_s=10)
    assert world.partition.run(own.vacancy()).epoch == owned.ownership.epoch

    world.advance(11)
    assert world.partition.run(own.vacancy()).epoch == owned.ownership.epoch
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert world.partition.run(own.vacancy()).epoch is None


def test_jobs_of_an_owner_that_left_are_to_be_recovered(world: World) -> None:
    w.enqueue(world, ["a"])
    owned = world.own()
    w.claim(owned)

    owned.run(own.release(owned.ownership, drain_lease_ms=0))

    assert vacancy(world) == WORK


def test_delayed_jobs_are_work_once_they_are_due(world: World) -> None:
    w.enqueue(world, ["a"], delay_ms=5000)
    assert vacancy(world) == NOTHING

    world.advance(6)

    assert vacancy(world) == WORK


def test_jobs_that_wait_for_limits_are_told_apart(world: World) -> None:
    w.enqueue(world, ["a"], limits=b"mail")
    assert vacancy(world) == PARKED

    owned = world.own()
    owned.run(at_gates.admit(owned.ownership, "mail", 1, most_waiting=1))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))

    assert vacancy(world) == WORK


@pytest.mark.parametrize("group", [b"g", None])
def test_what_is_held_is_no_work(world: World, group: bytes | None) -> None:
    w.enqueue(world, ["a"], b"g")

    world.partition.run(produce.configure(group, hold=True))

    assert vacancy(world) == NOTHING


def test_ends_that_no_batch_was_told_of_are_work(world: World) -> None:
    owned = world.own()
    batches.open_batch(world, 1)
    batches.finish(owned, w.claim(owned))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert vacancy(world) == WORK
    assert is_seen_to_have_work(world)
    assert observed(world).untold == 1
    world.partition.run(produce.configure(None, hold=True))
    assert vacancy(world) == WORK, "nothing starts by that"
    assert is_seen_to_have_work(world)
    world.partition.run(produce.configure(None, hold=False))

    owned = world.own()
    batches.relay(owned)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert vacancy(world) == WORK, "the continuation is due"


def test_a_batch_is_work_once_its_deadline_has_passed(world: World) -> None:
    batches.open_batch(world, 0, seal=False, deadline_ms=60_000)
    assert vacancy(world) == NOTHING
    assert not is_seen_to_have_work(world)

    world.advance(61)

    assert vacancy(world) == WORK
    assert is_seen_to_have_work(world)
    assert observed(world).untold == 1
