"""A job that has not started by its time ends as expired, when a claim meets it and no sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.testing.server import MemoryServer
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.verbs import Conflicts
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def state_of(world: World, job_id: str) -> JobState:
    return world.partition.status(job_id).state


def test_a_job_that_starts_in_time_runs_and_expires_no_more(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], expires_ms=60_000)
    world.advance(30)

    claims = w.claim(owned)

    assert claims.ids == [b"a"]
    assert snapshot(world)["expiring"] == set()
    w.retry(owned, [b"a"])
    world.advance(90)
    w.promote(owned)
    assert w.drain(owned) == ["a"]


def test_one_that_comes_late_ends_as_expired(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], expires_ms=10_000, unique={0: b"k"})
    w.enqueue(world, ["c"], b"other")
    world.advance(10)
    assert state_of(world, "a") is JobState.READY

    claims = w.claim(owned)

    assert (claims.ids, claims.taken) == ([b"c"], 3)
    assert state_of(world, "a") is state_of(world, "b") is JobState.EXPIRED
    assert world.counters()["expired"] == 2
    group = world.partition.group(b"g")
    assert (group.total, group.expired, group.left, group.done) == (2, 2, 0, 0)
    assert group.finished_ms is not None
    assert snapshot(world)["unique"] == ({}, {})
    assert world.partition.observe().ready == (0, 0, 0, 0)


def test_a_claim_of_late_jobs_alone_leaves_nothing(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 5), expires_ms=1_000)
    w.enqueue(world, w.names("k", 3))
    world.advance(2)

    claims = w.claim(owned, 3)

    assert (claims.ids, claims.taken) == ([], 3)
    assert world.partition.observe().ready == (0, 0, 5, 0)
    assert w.drain(owned) == w.names("k", 3)
    assert world.partition.group(b"g").done == 3


def test_an_id_that_expired_is_not_accepted_again_at_once(world: World) -> None:
    w.enqueue(world, ["a"], expires_ms=1_000)
    world.advance(2)
    w.claim(world.own())

    assert w.enqueue(world, ["a"]) == b"0"


def test_marks_of_cancelled_jobs_beside_late_ones_are_none(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c", "d"], expires_ms=1_000)
    world.partition.cancel("b")
    world.advance(2)
    w.enqueue(world, ["e"])

    assert w.drain(owned) == ["e"]
    assert (world.partition.group(b"g").expired, world.partition.group(b"g").cancelled) == (3, 1)


def handed_back(world: World, owned: OwnedPartition) -> None:
    owned.run(own.hand_back(owned.ownership, [b"a"]))


def recovered(world: World, owned: OwnedPartition) -> None:
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    w.recover(world.own(nonce="n"))


def set_aside(world: World, owned: OwnedPartition) -> None:
    owned.run(own.retry(owned.ownership, [(b"a", 1_000, "new", b"")]))
    world.advance(2)
    w.promote(owned)


@pytest.mark.parametrize("way", [handed_back, recovered, set_aside])
def test_one_that_only_waited_in_a_memory_still_expires(
    world: World, way: Callable[[World, OwnedPartition], None]
) -> None:
    owned = world.own(nonce="n")
    w.enqueue(world, ["a"], expires_ms=5_000)
    w.claim(owned, starting=0)
    world.advance(1)
    way(world, owned)
    world.advance(5)

    assert w.claim(world.own(nonce="n")).ids == []
    assert state_of(world, "a") is JobState.EXPIRED


def test_one_that_waits_in_a_memory_expires_no_more_when_it_starts(world: World) -> None:
    owned = world.own(nonce="n")
    w.enqueue(world, ["a"], expires_ms=5_000)
    w.claim(owned, starting=0)
    owned.run(own.start(owned.ownership, [b"a"]))

    assert snapshot(world)["expiring"] == set()


def finished(world: World, owned: OwnedPartition, claims: own.Claims) -> None:
    w.finish(owned, claims)


def died(world: World, owned: OwnedPartition, claims: own.Claims) -> None:
    w.bury(owned, [b"a"])
    world.partition.replay(["a"])
    world.advance(20)
    assert w.claim(owned).ids == [b"a"]  # as a new one, which expires no more


def cancelled(world: World, owned: OwnedPartition, claims: own.Claims) -> None:
    world.partition.cancel("a")
    owned.run(own.end_cancelled(owned.ownership, [b"a"]))


@pytest.mark.parametrize("way", [finished, died, cancelled])
def test_nothing_is_left_of_the_expiry_of_one_that_ended(
    world: World, way: Callable[[World, OwnedPartition, own.Claims], None]
) -> None:
    owned = world.own(nonce="n")
    w.enqueue(world, ["a"], expires_ms=5_000)
    way(world, owned, w.claim(owned, starting=0))

    assert snapshot(world)["expiring"] == set()


def test_a_delayed_job_expires_when_its_turn_comes(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], delay_ms=5_000, expires_ms=5_000)
    world.advance(6)
    w.promote(owned)

    assert w.drain(owned) == []
    assert state_of(world, "a") is JobState.EXPIRED


@pytest.mark.parametrize("settings", [{"serial": True}, {"max_running": 2}], ids=str)
def test_the_last_job_of_a_managed_group_may_expire(world: World, settings: Any) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], expires_ms=1_000)
    world.partition.run(produce.configure(b"g", **settings))
    world.advance(2)

    assert w.drain(owned) == []
    assert state_of(world, "a") is JobState.EXPIRED
    w.enqueue(world, ["b"])
    assert w.drain(owned) == ["b"]


def test_a_late_job_frees_its_key_only_when_a_claim_meets_it(world: World) -> None:
    w.enqueue(world, ["a"], unique={0: b"k"}, expires_ms=1_000)
    world.advance(2)
    assert w.enqueue(world, ["b"], unique={0: b"k"}) == Conflicts(b"2", (b"a",))

    w.claim(world.own())

    assert w.enqueue(world, ["b"], unique={0: b"k"}) == b"1"


def test_an_expiry_left_by_an_older_version_is_not_that_of_a_new_job(world: World) -> None:
    server, base = world.partition.server, world.partition.key
    w.enqueue(world, ["a"])
    if isinstance(server, MemoryServer):
        return  # every job in memory ends by this version
    world.client.hset(base + b":ex", "a", b"%011x1" % 1)
    world.client.hset(base + b":ex", "gone", b"%011x1" % 1)

    assert world.partition.audit(repair=True).stray == 1
    assert w.drain(world.own()) == ["a"]


def test_a_damaged_time_stops_nobody(server_world: World) -> None:
    world, base = server_world, server_world.partition.key
    w.enqueue(world, ["a", "b"], expires_ms=60_000)
    stamp = world.client.hget(base + b":j", "a")[2:13]
    world.client.hset(base + b":ex", "a", stamp + b"soon")
    world.client.hset(base + b":ex", "b", b"")

    assert w.drain(world.own()) == ["a", "b"]


def test_totals_of_a_tenant_that_are_not_ours_stop_no_job_from_expiring(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["late"], group_of(b"k", b"t"), expires_ms=1000)
    w.enqueue(server_world, ["a"])
    server_world.client.set(server_world.partition.key + b":tt:t", "not ours")
    server_world.advance(2)

    assert w.claim(owned).ids == [b"a"]
    assert server_world.partition.status("late").state is JobState.EXPIRED
    server_world.damaged = True
