"""At maxmemory producers are refused, and everything that makes room goes on. Real servers only."""

from collections.abc import Iterator

import pytest

from queuepool.errors import UnavailableError
from queuepool.models import JobState
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


@pytest.fixture
def full_world(server_world: World) -> Iterator[World]:
    """A partition with an owner's jobs in each state; the test decides when memory is out."""
    yield server_world
    server_world.client.config_set("maxmemory", 0)


def test_producers_are_refused_before_anything_is_written(full_world: World) -> None:
    world = full_world
    w.enqueue(world, ["a"])
    before = snapshot(world)
    world.client.config_set("maxmemory", 1)

    with pytest.raises(UnavailableError, match="out of memory"):
        w.enqueue(world, ["b"])

    assert snapshot(world) == before


def test_owners_leaders_and_operators_go_on(full_world: World) -> None:
    world = full_world
    old = world.own()
    w.enqueue(world, w.names("j", 12))
    w.enqueue(world, ["late"], delay_ms=1_000)
    world.advance(2)
    world.client.config_set("maxmemory", 1)

    claims = w.claim(old, 6)
    w.renew(old)
    assert w.promote(old).promoted == 1
    assert w.finish(old, claims, 0).finished == 1
    assert w.retry(old, [claims.ids[1]]) == b"r"
    assert w.bury(old, [claims.ids[2]]) == b"b"
    assert old.run(own.hand_back(old.ownership, [claims.ids[3]])) == 1
    assert old.run(own.start(old.ownership, [claims.ids[4]])) == 1
    assert old.run(own.end_cancelled(old.ownership, [claims.ids[4]])) == 1
    assert world.partition.cancel("j00010") is JobState.READY
    assert world.partition.discard(["j00002"]) == 1
    old.run(own.release(old.ownership, drain_lease_ms=0))
    new = world.own()
    assert w.recover(new)[-1].recovered == 1
    verb = lead.lead("n", lease_ms=1_000, address="")
    assert verb.read(world.partition.server.run(world.system, [verb])[0]).leading
    command = lead.command(
        1, 1, type="SCALE_UP", partition=0, target_workers=2, reason="", expires_ms=1_000
    )
    assert world.partition.run(command)[0]
    assert world.partition.run(lead.checkpoint(1, 3))
    assert world.partition.cancel_group(b"g")[0] > 0
    assert world.partition.audit(repair=True).clean


def test_what_can_wait_is_refused(full_world: World) -> None:
    world = full_world
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    claims = w.claim(owned)
    w.bury(owned, [b"b"])
    world.client.config_set("maxmemory", 1)

    with pytest.raises(UnavailableError, match="out of memory"):
        owned.run(own.progress(owned.ownership, {claims.ids[0]: b"half"}))
    with pytest.raises(UnavailableError, match="out of memory"):
        world.partition.replay(["b"])
