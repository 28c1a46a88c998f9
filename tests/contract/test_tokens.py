"""Whoever makes a job ready leaves a wake token, since an armed claim waits for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.servers import Bell
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


@pytest.fixture
def bell(world: World) -> Iterator[Bell]:
    made = world.partition.server.doorbell(world.partition.key)
    yield made
    made.close()


def tokens(bell: Bell) -> list[bytes]:
    """Take every token there is."""
    found = []
    while (token := bell.wait(0.05)) is not None:
        found.append(token)
    return found


def by_enqueue(world: World, owned: OwnedPartition) -> None:
    w.claim(owned)  # an owner that left something ready is awake anyway
    w.enqueue(world, ["new"])


def by_promotion(world: World, owned: OwnedPartition) -> None:
    w.retry(owned, w.claim(owned).ids, delay_ms=5000)
    world.advance(6)
    assert w.promote(owned).promoted == 1


def by_hand_back(_: World, owned: OwnedPartition) -> None:
    owned.run(own.hand_back(owned.ownership, w.claim(owned).ids))


def by_recovery(world: World, owned: OwnedPartition) -> None:
    w.claim(owned)
    world.advance(601)
    assert w.recover(world.own())[0].recovered == 1


def by_replay(world: World, owned: OwnedPartition) -> None:
    w.bury(owned, w.claim(owned).ids)
    assert world.partition.replay(["old"]).replayed == 1


@pytest.mark.parametrize("make", [by_enqueue, by_promotion, by_hand_back, by_recovery, by_replay])
def test_a_job_that_becomes_ready_leaves_a_token(
    world: World, bell: Bell, make: Callable[[World, OwnedPartition], None]
) -> None:
    owned = world.own()
    w.enqueue(world, ["old"])
    tokens(bell)

    make(world, owned)

    assert tokens(bell) == [b"w"]


def test_what_makes_nothing_ready_leaves_none(world: World, bell: Bell) -> None:
    owned = world.own()
    tokens(bell)

    w.promote(owned)
    w.recover(owned)

    assert tokens(bell) == []


def test_an_armed_claim_is_carried_out_with_the_token(world: World, bell: Bell) -> None:
    owned = world.own()
    w.claim(owned)  # the server knows the script from here on
    verb = own.claim(owned.ownership, 5, starting=5, promote_after_ms=1000, weights=(6, 3, 2, 1))
    assert bell.arm(verb)
    assert bell.answer() is None
    w.enqueue(world, ["a", "b"])

    assert bell.wait(30) == b"w"
    assert list(verb.read(bell.answer()).ids) == [b"a", b"b"]
    assert w.book(owned) == [b"a", b"b"]
    assert world.partition.audit().clean
