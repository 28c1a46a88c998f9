"""For how long ids that ended are remembered, whatever the clock does, and what that may take."""

from __future__ import annotations

import pytest

from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.servers import wire
from queuepool.testing import ended
from queuepool.verbs.scripts import Script, named, script
from tests.contract import world as w
from tests.contract.prompt import prompt
from tests.contract.world import World


def ends(world: World, owned: OwnedPartition, *ids: str) -> None:
    """Enqueue jobs and finish them."""
    assert w.enqueue(world, ids) == b"1" * len(ids)
    w.drain(owned)


def sets(world: World) -> list[set[bytes]]:
    """Return the two sets of a real server."""
    return [world.client.smembers(world.partition.key + b":dn:%d" % n) for n in range(2)]


def back(world: World, seconds: float) -> None:
    """Set the clock of the server back."""
    if world.clock is not None:
        world.clock._now_s -= seconds
    else:
        world.advance(-seconds)


@prompt(0.5)
def test_an_id_is_remembered_for_a_minute_and_at_most_for_two(world: World) -> None:
    owned = world.own()
    ends(world, owned, "a")
    world.advance(59)
    ends(world, owned, "b")

    for after_s in (2, 57):
        world.advance(after_s)
        ends(world, owned, f"c{after_s}")
        assert w.enqueue(world, ["b"]) == b"0"

    assert world.partition.status("b").state is JobState.DONE
    world.advance(3)
    ends(world, owned, "d")
    assert w.enqueue(world, ["a", "b", "c2"]) == b"110"


def test_a_clock_that_jumps_ahead_and_back_makes_nothing_remembered_for_longer(
    world: World,
) -> None:
    owned = world.own()
    world.advance(3600)
    ends(world, owned, "there")
    back(world, 3600)

    assert w.enqueue(world, ["there"]) == b"0"
    ends(world, owned, "after")
    world.advance(121)

    assert w.enqueue(world, ["there", "after"]) == b"11"


@pytest.mark.parametrize("who", ["a renewal", "an enqueue", "an end"])
def test_a_minute_that_lies_ahead_begins_anew_with_whoever_comes_first(
    world: World, who: str
) -> None:
    owned = world.own()
    world.advance(3600)
    ends(world, owned, "there")
    w.enqueue(world, ["waits"])
    back(world, 3600)

    if who == "a renewal":
        w.renew(owned)
    elif who == "an enqueue":
        w.enqueue(world, ["there"])  # a duplicate
    else:
        world.partition.cancel("waits")
    world.advance(121)

    assert w.enqueue(world, ["there"]) == b"1"


def test_a_jump_ahead_by_less_than_two_minutes_keeps_the_ids_of_the_set_in_use(
    world: World,
) -> None:
    owned = world.own()
    ends(world, owned, "a")

    world.advance(100)
    ends(world, owned, "b")

    assert w.enqueue(world, ["a", "b"]) == b"00"


def test_ids_are_free_again_where_nothing_ended_for_long(world: World) -> None:
    owned = world.own(lease_s=10**6)
    ends(world, owned, "daily", "other")
    world.advance(86_400)

    w.renew(owned)
    ends(world, owned, "first")

    assert w.enqueue(world, ["daily"]) == b"1"


def test_an_idle_partition_keeps_no_ids(server_world: World) -> None:
    world = server_world
    owned = world.own()
    ends(world, owned, "a")
    w.enqueue(world, ["held"])
    world.partition.cancel("held")

    for beat in (1, 2):
        assert any(sets(world))
        world.advance(61)
        w.renew(owned, beat=beat)

    assert sets(world) == [set(), set()]
    world.advance(61)
    before = world.client.hget(world.partition.key + b":c", "dn_since")
    w.renew(owned, beat=3)
    assert world.client.hget(world.partition.key + b":c", "dn_since") == before  # nothing to do


def test_ids_of_a_release_that_let_them_expire_are_kept(server_world: World) -> None:
    world = server_world
    base = world.partition.key
    world.client.sadd(base + b":dn:0", "old-0")
    world.client.sadd(base + b":dn:1", "old-1", "!old-2")
    for n in range(2):
        world.client.pexpire(base + b":dn:%d" % n, 90_000)

    assert w.enqueue(world, ["old-0", "old-1", "old-2"]) == b"000"
    owned = world.own()
    ends(world, owned, "new")
    w.renew(owned)

    assert w.enqueue(world, ["old-0", "old-1", "old-2", "new"]) == b"0000"
    for parity in range(2):  # such a release beside this one, whichever minute it is
        world.client.sadd(base + b":dn:%d" % parity, f"beside-{parity}")
        world.client.execute_command("PEXPIRE", base + b":dn:%d" % parity, 90_000, "NX")
    world.advance(61)
    ends(world, owned, "turned")
    assert w.enqueue(world, ["beside-0", "beside-1", "new"]) == b"000"


def test_a_set_takes_a_bounded_number_of_ids(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_three(name: str) -> Script:
        source = script(name).source
        assert b"2000000" in source or name != "finish"
        return named(name, source.replace(b"2000000", b"3"))

    monkeypatch.setitem(vars(wire), "script", of_three)
    monkeypatch.setattr(ended, "MAX_ENDED", 3)
    owned = world.own()
    for job_id in "abcdef":
        ends(world, owned, job_id)
    assert w.enqueue(world, list("abcdef")) == b"000000"

    ends(world, owned, "g")

    assert w.enqueue(world, list("abcdefg")) == b"1110000"
