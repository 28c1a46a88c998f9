"""The route record is made once; whoever comes later hears what it says."""

import dataclasses
from typing import TypeVar

import pytest

from queuepool.errors import UndecodableError
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import route
from tests.contract import world as w
from tests.contract.world import World

T = TypeVar("T")


def ask(world: World, verb: Verb[T]) -> T:
    """Run a verb on what the system shares."""
    return verb.read(world.partition.server.run(world.system, [verb])[0])


def test_to_look_makes_no_record(world: World) -> None:
    assert ask(world, route.look(world.system)) is None
    assert ask(world, route.look(world.system)) is None


def test_the_first_makes_the_record_and_everybody_hears_it(world: World) -> None:
    first = ask(world, route.record(4, "mod", unheard="a,b"))
    world.advance(5)

    assert first is not None
    assert (first.version, first.partitions, first.layout) == (1, 4, "mod")
    assert first.unheard == "a,b"
    assert first.created_ms > 0
    assert ask(world, route.record(8, "other")) == first
    assert ask(world, route.look(world.system)) == first


def test_a_record_of_a_later_version_may_say_more(server_world: World) -> None:
    made = ask(server_world, route.record(4, "mod"))
    assert made is not None
    server_world.client.hset(server_world.system + b":route", "version", "7")
    server_world.client.hset(server_world.system + b":route", "colour", "\xff")

    assert ask(server_world, route.look(server_world.system)) == dataclasses.replace(
        made, version=7
    )


def test_a_damaged_record_is_told_from_an_absent_one(server_world: World) -> None:
    server_world.client.hset(server_world.system + b":route", "partitions", "many")

    with pytest.raises(UndecodableError):
        ask(server_world, route.record(4, "mod"))


def test_a_partition_is_in_use_while_it_holds_jobs_or_has_a_living_owner(world: World) -> None:
    peek = route.peek()
    assert world.partition.run(peek) == (0, 0)

    w.enqueue(world, ["a", "b"])
    assert world.partition.run(peek) == (2, 0)

    owner = world.partition.acquire(lease_s=60.0)
    assert isinstance(owner, OwnedPartition)
    jobs, lease_ms = world.partition.run(peek)
    assert jobs == 2
    assert 0 < lease_ms <= 60_000

    owner.run(own.release(owner.ownership, drain_lease_ms=0))
    assert world.partition.run(peek) == (2, 0)


def test_the_lease_of_an_owner_that_died_is_no_use(world: World) -> None:
    world.partition.acquire(lease_s=60.0)
    world.advance(61)

    assert world.partition.run(route.peek()) == (0, 0)
