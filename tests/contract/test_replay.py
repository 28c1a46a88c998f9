"""What a replay makes of a dead job: a new one, whatever was cancelled or read of it before."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from queuepool.errors import ScriptError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


def replayed(world: World) -> tuple[OwnedPartition, own.Claims]:
    """Return an owner that runs a job of a cancelled group which was dead and replayed since."""
    owned = world.own()
    w.enqueue(world, ["a"])
    w.bury(owned, w.claim(owned).ids)
    world.partition.cancel_group(b"g")
    assert world.partition.replay(["a"]).replayed == 1
    return owned, w.claim(owned)


def retried(world: World, owned: OwnedPartition) -> None:
    assert w.retry(owned, [b"a"], delay_ms=1_000) == b"r"
    world.advance(2)
    assert w.promote(owned) == own.Promoted(1, 0, None)


def handed_back(_: World, owned: OwnedPartition) -> None:
    assert owned.run(own.hand_back(owned.ownership, [b"a"])) == 1


def recovered(world: World, owned: OwnedPartition) -> None:
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    [step] = w.recover(world.own())
    assert (step.recovered, step.cancelled) == (1, 0)


@pytest.mark.parametrize("way", [retried, handed_back, recovered])
def test_a_replayed_job_is_not_reached_by_a_cancellation_before_its_replay(
    world: World, way: Callable[[World, OwnedPartition], None]
) -> None:
    owned, _ = replayed(world)

    way(world, owned)

    assert world.partition.status("a").state is JobState.READY
    assert world.partition.group(b"g").cancelled == 0


def test_a_cancellation_after_the_replay_reaches_it(world: World) -> None:
    owned, _ = replayed(world)

    world.partition.cancel_group(b"g")

    assert w.retry(owned, [b"a"]) == b"c"


def test_a_replayed_job_waits_since_its_replay(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.bury(owned, w.claim(owned).ids)
    world.advance(100)

    world.partition.replay(["a"])

    assert world.partition.observe().oldest_ms < 50_000
    [body] = w.claim(owned).bodies
    assert codec.decode_envelope(body).task == "t"


def test_a_replayed_body_differs_from_the_one_that_died_and_has_its_size(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    [body] = w.claim(owned).bodies
    bodies = [body]

    for _ in range(3):  # in one ms, where the server is quick
        w.bury(owned, [b"a"])
        world.partition.replay(["a"])
        bodies += w.claim(owned).bodies

    assert all(old != new for old, new in pairwise(bodies))
    assert {(b[:2], b[13:]) for b in bodies} == {(body[:2], body[13:])}


def test_so_does_one_that_is_replayed_in_the_ms_in_which_it_was_enqueued(
    server_world: World,
) -> None:
    owned, counters = server_world.own(), server_world.partition.key + b":c"
    cut = int(server_world.client.time()[0] + 3600) * 1000
    server_world.client.hset(counters, "cut", cut)  # both are stamped with the ms after it
    w.enqueue(server_world, ["a"])
    [died] = w.claim(owned).bodies
    w.bury(owned, [b"a"])

    server_world.partition.replay(["a"])

    [body] = w.claim(owned).bodies
    assert (codec.read_stamp(died), codec.read_stamp(body)) == (
        b"%011x" % (cut + 1),
        b"%011x" % (cut + 2),
    )


def test_a_replay_tells_claims_how_large_its_jobs_are(server_world: World) -> None:
    owned, counters = server_world.own(), server_world.partition.key + b":c"
    w.enqueue(server_world, ["a"], payload=b"x" * 1000)
    [body] = w.claim(owned).bodies
    w.bury(owned, [b"a"])
    w.renew(owned)  # nothing is awake: what was large is forgotten
    assert server_world.client.hget(counters, "largest") == b"0"

    server_world.partition.replay(["a"])

    assert server_world.client.hget(counters, "largest") == b"%d" % len(body)


def test_jobs_that_get_no_seat_stay_dead(server_world: World) -> None:
    owned, base = server_world.own(), server_world.partition.key
    w.enqueue(server_world, ["a"])
    w.bury(owned, w.claim(owned).ids)
    server_world.client.set(base + b":ring:2", "not ours")

    with pytest.raises(ScriptError, match="Another program writes"):
        server_world.partition.replay(["a"])

    assert server_world.client.zscore(base + b":dead", "a")
    assert not server_world.client.exists(base + b":q:2:g")
    server_world.damaged = True


def test_replays_are_counted(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    w.bury(owned, w.claim(owned).ids)

    world.partition.replay(["a"])
    world.partition.replay(["b", "c", "never"])

    assert world.counters()["replayed"] == 3


@pytest.mark.parametrize("damaged", [b"", b"1", b"2200000000000rest", b"12zzzzzzzzzzzrest"])
def test_a_body_with_a_header_of_its_own_is_replayed_as_it_is(
    server_world: World, damaged: bytes
) -> None:
    world = server_world
    world.damaged = True
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    world.client.hset(world.partition.key + b":j", "a", damaged)
    w.bury(owned, [b"a"])

    world.partition.replay(["a"])

    assert world.client.hget(world.partition.key + b":j", "a") == damaged
