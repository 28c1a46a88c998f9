"""Turns go between tenants first, then between a tenant's groups."""

from __future__ import annotations

from collections import Counter

import pytest

from queuepool.errors import InvalidInputError
from queuepool.routing.slots import group_of
from queuepool.testing.server import MemoryServer
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def fill(world: World, tenant: str, groups: int, jobs: int = 1, tier: int = 2) -> None:
    """Enqueue jobs of so many groups of a tenant; the ids begin with its name."""
    for n in range(groups):
        name = group_of(b"k%d" % n, tenant.encode())
        w.enqueue(world, w.names(f"{tenant}-{n}-", jobs), name, tier=tier)


def claimed(world: World, limit: int, *, age_ms: int = 0) -> Counter[str]:
    """Claim once; return how many jobs of each tenant or group."""
    claims = w.claim(world.own(nonce="n"), limit, age_ms=age_ms)
    return Counter(job_id.decode().split("-")[0] for job_id in claims.ids)


def test_a_tenant_with_many_groups_has_one_turn_as_any_group(world: World) -> None:
    fill(world, "many", 100)
    w.enqueue(world, w.names("plain-", 40), b"plain")
    fill(world, "few", 2, jobs=20)

    assert claimed(world, 60) == {"many": 20, "plain": 20, "few": 20}


def test_a_job_waits_for_one_turn_of_a_tenant_however_many_groups_it_has(world: World) -> None:
    fill(world, "many", 100)
    w.enqueue(world, ["mine"], b"me")

    assert claimed(world, 2) == {"many": 1, "mine": 1}


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_groups_of_a_tenant_take_turns_within_its_own(world: World, limit: int) -> None:
    for name in "abc":
        w.enqueue(world, w.names(f"{name}-", 30), group_of(name.encode(), b"t"))
    w.enqueue(world, w.names("plain-", 90), b"plain")
    found = Counter[str]()

    while found.total() < 60:
        found += claimed(world, limit)

    assert abs(found["plain"] - 30) <= limit
    assert max(found[name] for name in "abc") - min(found[name] for name in "abc") <= 2


def test_a_tenant_alone_in_a_tier_uses_all_of_a_claim(world: World) -> None:
    fill(world, "many", 90)

    assert [claimed(world, 40)["many"] for _ in range(4)] == [40, 40, 10, 0]


def test_a_tenant_leaves_with_its_last_job_and_returns_with_the_next(world: World) -> None:
    fill(world, "t", 3)
    assert list(snapshot(world)["tenants"]) == [(b"2", b"t")]

    assert claimed(world, 10) == {"t": 3}
    assert (snapshot(world)["tenants"], snapshot(world)["rings"][2]) == ({}, [])
    fill(world, "t", 4)
    assert claimed(world, 10) == {"t": 1}  # the ids of the first three are in flight


def test_a_tenant_with_few_jobs_left_has_two_turns_in_a_row(world: World) -> None:
    w.enqueue(world, w.names("plain-", 60), b"plain")
    fill(world, "few", 12)
    fill(world, "some", 3, jobs=20)

    found = [next(iter(claimed(world, 1))) for _ in range(20)]

    assert found.count("few") == 10
    assert found.count("plain") == found.count("some") == 5


def test_a_tenant_has_turns_in_each_tier(world: World) -> None:
    for tier in range(4):
        name = group_of(b"k%d" % tier, b"t")
        w.enqueue(world, w.names(f"tier{tier}-", 20), name, tier=tier)

    assert claimed(world, 12) == {"tier0": 6, "tier1": 3, "tier2": 2, "tier3": 1}


def test_a_tenant_that_waits_too_long_has_its_turn_a_tier_up(world: World) -> None:
    fill(world, "low", 2, jobs=5, tier=3)
    w.enqueue(world, w.names("high-", 30), b"high", tier=2)
    world.advance(60)
    claimed(world, 1, age_ms=1000)

    assert snapshot(world)["rings"][2][-1] == (b"7", b"low")
    assert claimed(world, 2)["low"] == 1
    assert snapshot(world)["rings"][3] == [(b"7", b"low")]


def test_jobs_of_a_tenant_come_back_to_the_front_of_its_turns(world: World) -> None:
    fill(world, "t", 3, jobs=2)
    owned = world.own(nonce="n")
    first = w.claim(owned, 1).ids
    w.finish(owned, w.claim(owned, 5))
    world.advance(700)

    heir = world.own(nonce="heir")
    w.recover(heir)

    assert w.claim(heir, 1).ids == first


def test_a_managed_group_of_a_tenant_keeps_its_bounds(world: World) -> None:
    fill(world, "t", 3, jobs=4)
    world.partition.run(produce.configure(group_of(b"k0", b"t"), max_running=1))
    world.partition.run(produce.configure(group_of(b"k1", b"t"), hold=True))
    owned = world.own(nonce="n")

    claims = w.claim(owned, 100)
    assert Counter(i.decode()[:4] for i in claims.ids) == {"t-0-": 1, "t-2-": 4}
    world.partition.run(produce.configure(group_of(b"k1", b"t"), hold=False))
    w.finish(owned, claims)
    assert Counter(i.decode()[:4] for i in w.claim(owned, 100).ids) == {"t-0-": 1, "t-1-": 4}


def test_a_claim_that_meets_only_held_groups_says_that_there_may_be_more(world: World) -> None:
    fill(world, "t", 30)
    for n in range(25):
        world.partition.run(produce.configure(group_of(b"k%d" % n, b"t"), hold=True))
    owned = world.own(nonce="n")

    taken = [w.claim(owned, 10) for _ in range(3)]

    assert [(len(c.ids), c.taken) for c in taken] == [(0, 10), (0, 10), (5, 5)]


def test_cancelled_groups_of_a_tenant_leave_no_seat_behind(world: World) -> None:
    fill(world, "t", 3, jobs=5)
    w.enqueue(world, ["other"], b"other")
    for n in range(3):
        assert world.partition.cancel_group(group_of(b"k%d" % n, b"t")) == (5, 0)

    assert claimed(world, 10) == {"other": 1}
    assert snapshot(world)["tenants"] == {}


def test_bodies_that_do_not_fit_stay_in_the_lanes_of_their_tenant(world: World) -> None:
    for n in range(6):
        w.enqueue(world, [f"t-{n}"], group_of(b"k%d" % n, b"t"), payload=b'"%s"' % (b"x" * 1000))
    owned = world.own(nonce="n")

    assert len(w.claim(owned, 10, max_bytes=3500).ids) == 3
    assert len(w.claim(owned, 10).ids) == 3


def test_a_run_of_a_tenant_without_a_tenants_group_is_refused(world: World) -> None:
    body = w.tail(b"plain")
    runs: list[object] = [6, b"plain", 0, 1, "a", body]

    with pytest.raises(InvalidInputError):
        world.partition.run(produce.enqueue(runs, jobs=1, size_bytes=13 + len(body), **w.LIMITS))  # type: ignore[arg-type]
    assert snapshot(world)["jobs"] == {}


def test_an_audit_gives_a_tenant_the_seat_that_an_earlier_version_dropped(world: World) -> None:
    fill(world, "t", 3)
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).seats.tiers[2].clear()
    else:
        world.client.delete(world.partition.key + b":ring:2")

    assert claimed(world, 10) == {}
    fill(world, "u", 1)
    assert world.partition.audit().unseated == 1
    world.partition.audit(repair=True)
    assert world.partition.audit().clean
    assert claimed(world, 10) == {"t": 3, "u": 1}


def test_a_second_seat_of_a_tenant_is_dropped(server_world: World) -> None:
    fill(server_world, "t", 3, jobs=4)
    [seat] = server_world.client.lrange(server_world.partition.key + b":ring:2", 0, -1)
    server_world.client.rpush(server_world.partition.key + b":ring:2", seat, seat)

    assert claimed(server_world, 6) == {"t": 6}
    assert len(snapshot(server_world)["rings"][2]) == 1


def test_a_lane_of_a_tenant_that_sits_among_plain_ones_is_served(server_world: World) -> None:
    fill(server_world, "t", 1, jobs=4)
    base = server_world.partition.key
    [seat] = server_world.client.lrange(base + b":tr:2:t", 0, -1)
    server_world.client.delete(base + b":tr:2:t", base + b":ring:2")
    server_world.client.rpush(base + b":ring:2", seat)

    assert [claimed(server_world, 2)["t"] for _ in range(3)] == [2, 2, 0]


def test_a_foreign_value_in_place_of_a_tenants_ring_hinders_no_observation(
    server_world: World,
) -> None:
    fill(server_world, "t", 1)
    ring = server_world.partition.key + b":tr:2:t"
    server_world.client.delete(ring)
    server_world.client.set(ring, "not ours")
    server_world.damaged = True

    assert server_world.partition.observe().jobs == 1


def test_one_repair_restores_the_seat_and_the_counts_of_a_tenant(server_world: World) -> None:
    fill(server_world, "t", 3)
    base = server_world.partition.key
    server_world.client.delete(base + b":ring:2")
    server_world.client.hset(base + b":tn:t", "e2", 9)

    server_world.partition.audit(repair=True)
    assert server_world.partition.audit().clean
    assert claimed(server_world, 10) == {"t": 3}


def test_a_repair_does_not_count_what_runs_of_tenants_beyond_a_thousand(
    server_world: World,
) -> None:
    fill(server_world, "t", 6, jobs=200)
    owned = server_world.own()
    record = server_world.partition.key + b":tn:t"
    server_world.partition.run(tenants.configure(b"t", max_running=5000))
    while w.claim(owned, 200).ids:
        pass
    assert server_world.client.hget(record, "run") == b"1200"
    server_world.client.hset(record, "run", 1300)

    server_world.partition.audit(repair=True)
    assert server_world.client.hget(record, "run") == b"1300"
    server_world.damaged = True


def test_a_weighted_group_that_was_alone_has_a_whole_turn_when_another_comes(world: World) -> None:
    owned = world.own()
    old, new = group_of(b"old", b"t"), group_of(b"new", b"t")
    w.enqueue(world, w.names("old", 40), old)
    world.partition.run(produce.configure(old, weight=4))
    for _ in range(3):
        w.claim(owned, 1)
    w.enqueue(world, w.names("new", 40), new)

    begun = [w.claim(owned, 1).ids[0][:3] for _ in range(10)]

    assert begun == [*[b"old"] * 4, b"new"] * 2
