"""What the scripts of owners know, as they report it; releases before this one report nothing."""

from __future__ import annotations

from queuepool.models.release import PROTOCOL
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


def _come(world: World, nonce: str, protocol: int | None = PROTOCOL) -> OwnedPartition:
    """Let an owner come, of a release that reports this; a job of it runs."""
    verb = own.acquire(0, nonce, lease_ms=60_000, host="")
    told = [] if protocol is None else [protocol]
    came = world.partition.run(Verb(verb.script, [*verb.args[:6], *told], verb.read))
    assert isinstance(came, own.Acquired)
    owned = OwnedPartition(world.partition, came)
    w.enqueue(world, [nonce])
    assert w.claim(owned, 1).ids == [nonce.encode()]
    return owned


def _drain(owned: OwnedPartition) -> None:
    assert owned.run(own.release(owned.ownership, drain_lease_ms=60_000))


def _leave(owned: OwnedPartition) -> None:
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


def _least(world: World) -> int | None:
    return world.partition.observe().protocol


def test_it_is_that_of_the_owner(world: World) -> None:
    assert _least(world) is None
    owned = _come(world, "a")
    assert _least(world) == PROTOCOL
    _leave(owned)
    assert _least(world) is None


def test_it_is_that_of_one_who_drains_where_nobody_came(world: World) -> None:
    _drain(_come(world, "a", 7))
    assert _least(world) == 7


def test_an_owner_that_reports_none_speaks_an_unknown_one(world: World) -> None:
    _leave(_come(world, "a"))
    _come(world, "b", None)
    assert _least(world) == 0


def test_it_is_the_least_while_former_owners_drain(world: World) -> None:
    first = _come(world, "a", 1)
    _drain(first)
    second = _come(world, "b", 3)
    assert _least(world) == 1
    _drain(second)
    third = _come(world, "c", 2)
    assert _least(world) == 1
    _leave(first)
    _leave(second)
    assert _least(world) == 2
    _drain(third)
    _come(world, "d", 4)
    assert _least(world) == 2, "the first one has left"


def test_one_that_reported_none_counts_until_it_has_left(world: World) -> None:
    first = _come(world, "a")
    _drain(first)
    second = _come(world, "b", None)
    _drain(second)
    third = _come(world, "c")
    assert _least(world) == 0
    _leave(first)
    _leave(second)
    assert _least(world) == PROTOCOL
    _drain(third)
    _come(world, "d")
    assert _least(world) == PROTOCOL


def test_while_an_earlier_one_drains_those_that_left_since_count_too(world: World) -> None:
    first = _come(world, "a", 5)
    _drain(first)
    _leave(_come(world, "b", 1))
    _come(world, "c", 6)
    assert _least(world) == 1


def test_what_an_earlier_owner_reported_is_not_said_of_one_that_reports_nothing(
    server_world: World,
) -> None:
    client, record = server_world.client, server_world.partition.key + b":o"
    _leave(_come(server_world, "a", 5))
    left = client.hget(record, "protocol")
    second = _come(server_world, "b", None)
    client.hset(record, "protocol", left)  # scripts of an earlier release do not write it
    assert _least(server_world) == 0
    _drain(second)
    _come(server_world, "c", 5)
    assert _least(server_world) == 0
