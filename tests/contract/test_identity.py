"""An end is of the body that was claimed, never of another job that has the id by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def finished_and_accepted_again(world: World) -> tuple[OwnedPartition, own.Claims]:
    """Return an owner that finished a job whose id was accepted again since."""
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned)
    assert w.finish(owned, claims).finished == 1
    world.advance(121)
    assert w.enqueue(world, ["a"]) == b"1"
    return owned, claims


def ready(_world: World, _owned: OwnedPartition) -> None:
    """Leave it in its lane."""


def delayed(_: World, owned: OwnedPartition) -> None:
    w.claim(owned)
    w.retry(owned, [b"a"], delay_ms=60_000)


def dead(_: World, owned: OwnedPartition) -> None:
    w.claim(owned)
    w.bury(owned, [b"a"])


def in_flight(world: World, owned: OwnedPartition) -> None:
    w.enqueue(world, ["keeps-it-draining"], b"h", tier=0)
    w.claim(owned, 1, weights=w.STRICT)
    owned.run(own.release(owned.ownership, drain_lease_ms=60_000))
    successor = world.own(nonce="successor")
    assert w.claim(successor).ids == [b"a"]


@pytest.mark.parametrize("place", [ready, delayed, dead, in_flight])
def test_a_repeated_finish_leaves_the_next_job_of_the_id_alone(
    world: World, place: Callable[[World, OwnedPartition], None]
) -> None:
    owned, claims = finished_and_accepted_again(world)
    place(world, owned)
    before = world.partition.status("a").state

    assert w.finish(owned, claims) == own.Finished(0, 1, 0)

    assert world.partition.status("a").state is before
    assert before is not JobState.DONE
    assert (world.counters()["done"], world.counters()["duplicate_finish"]) == (1, 1)


def stray(owned: OwnedPartition, claims: own.Claims, result: bytes = b"") -> own.Finished:
    """Finish claimed jobs wherever they are."""
    jobs = [
        (i, codec.read_stamp(body), 60_000 if result else 0, result)
        for i, body in zip(claims.ids, claims.bodies, strict=True)
    ]
    return owned.run(own.finish_stray(owned.ownership, jobs))


def test_a_finish_says_which_ids_it_left_alone(world: World) -> None:
    owned, claims = finished_and_accepted_again(world)
    size = len(claims.bodies[0])
    acks = own.Acks(size, [b"a", b"a", b"never"], [(b"a", 60_000, b"1")])

    done = owned.run(own.finish(owned.ownership, {b"g": acks}))

    assert done == own.Finished(0, 2, 0, (b"a",))
    assert world.partition.status("a").state is JobState.READY
    assert w.drain(owned) == ["a"]
    assert world.partition.status("a").result is None


def test_an_end_is_recorded_once_and_wherever_its_job_is(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["booked", "back", "late", "gone"])
    claims = w.claim(owned)
    owned.run(own.hand_back(owned.ownership, [b"back"]))
    w.retry(owned, [b"late"], delay_ms=60_000)
    w.finish(owned, claims, 3)

    assert stray(owned, claims, b"1") == own.Finished(3, 1, 2)
    assert stray(owned, claims) == own.Finished(0, 4, 0)

    assert world.counters()["done"] == 4
    assert world.partition.status("late").result == 1
    assert world.partition.status("gone").result is None
    assert w.enqueue(world, ["booked", "back", "late", "gone"]) == b"0000"
    group = world.partition.group(b"g")
    assert (group.done, group.left, group.delayed) == (4, 0, 0)
    assert w.drain(owned) == []
    assert snapshot(world)["marks"] == set()


ENDS: dict[str, Callable[[own.Ownership, bytes, bytes], Any]] = {
    "retry": lambda ownership, i, stamp: own.retry(ownership, [(i, 0, True, b"{}")], [stamp]),
    "bury": lambda ownership, i, stamp: own.bury(ownership, [(i, b"{}")], [stamp], **w.KEEP),
    "end_cancelled": lambda ownership, i, stamp: own.end_cancelled(ownership, [i], [stamp]),
    "hand_back": lambda ownership, i, stamp: own.hand_back(ownership, [i], [stamp]),
    "finish_stray": lambda ownership, i, stamp: own.finish_stray(ownership, [(i, stamp, 0, b"")]),
}


@pytest.mark.parametrize("name", ENDS)
def test_no_end_touches_a_replayed_job_that_the_same_life_has_claimed(
    world: World, name: str
) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    [old] = w.claim(owned).bodies
    w.bury(owned, [b"a"])
    world.partition.replay(["a"])
    [new] = w.claim(owned).bodies

    owned.run(ENDS[name](owned.ownership, b"a", codec.read_stamp(old)))

    assert world.partition.status("a").state is JobState.IN_FLIGHT
    assert world.partition.status("a").attempts == 0
    owned.run(ENDS[name](owned.ownership, b"a", codec.read_stamp(new)))
    assert world.partition.status("a").state is not JobState.IN_FLIGHT
