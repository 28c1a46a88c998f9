"""A tenant that is held starts nothing; one of weight 3 has three turns for each of others."""

from __future__ import annotations

from collections import Counter

import pytest

from queuepool.models import TenantStatus
from queuepool.routing.slots import group_of
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_tenants import claimed, fill
from tests.contract.world import World


def hold(world: World, tenant: str, *, on: bool = True) -> bool:
    return world.partition.run(tenants.configure(tenant.encode(), hold=on))


def weigh(world: World, tenant: str, weight: int) -> bool:
    return world.partition.run(tenants.configure(tenant.encode(), weight=weight))


def status(world: World, tenant: str) -> TenantStatus:
    return world.partition.run(tenants.find(tenant.encode()))


def counts(world: World) -> tuple[int, int]:
    """Return the backlog, and how many jobs are held."""
    state = world.partition.observe()
    return state.backlog, state.held


def test_a_held_tenant_starts_nothing_and_is_no_backlog(world: World) -> None:
    fill(world, "t", 3, jobs=2)
    fill(world, "t", 1, tier=0)
    w.enqueue(world, ["other"], b"other")

    assert (hold(world, "t"), hold(world, "t")) == (True, False)
    assert counts(world) == (1, 6)
    fill(world, "t", 5, jobs=1)
    assert counts(world) == (1, 8)
    assert claimed(world, 100) == {"other": 1}
    assert claimed(world, 100) == {}
    fill(world, "t", 6, jobs=1)
    assert counts(world) == (0, 9)
    assert (hold(world, "t", on=False), hold(world, "t", on=False)) == (True, False)
    assert counts(world) == (9, 0)
    assert claimed(world, 100) == {"t": 9}


def test_a_held_tenant_gets_back_what_was_claimed_and_waits_with_it(world: World) -> None:
    fill(world, "t", 4)
    owned = world.own(nonce="n")
    claims = w.claim(owned, 2)
    hold(world, "t")

    w.retry(owned, claims.ids[:1])
    w.promote(owned)
    world.advance(700)
    heir = world.own(nonce="heir")
    w.recover(heir)

    assert w.claim(heir, 10).ids == []
    assert counts(world) == (0, 4)
    hold(world, "t", on=False)
    assert len(w.claim(heir, 10).ids) == 4


def test_jobs_of_a_held_tenant_can_be_cancelled(world: World) -> None:
    fill(world, "t", 2, jobs=3)
    hold(world, "t")
    world.partition.cancel("t-0-00001")
    world.partition.cancel_group(group_of(b"k1", b"t"))

    assert counts(world) == (0, 2)
    hold(world, "t", on=False)
    assert claimed(world, 10) == {"t": 2}


def test_holds_of_a_tenant_and_of_its_group_end_apart(world: World) -> None:
    fill(world, "t", 2, jobs=3)
    group = group_of(b"k0", b"t")
    world.partition.run(produce.configure(group, hold=True))
    hold(world, "t")
    assert (claimed(world, 10), counts(world)) == ({}, (0, 6))

    world.partition.run(produce.configure(group, hold=False))
    assert (claimed(world, 10), counts(world)) == ({}, (0, 6))
    world.partition.run(produce.configure(group, max_running=1))
    assert counts(world)[0] == 0
    hold(world, "t", on=False)
    assert claimed(world, 10) == {"t": 4}


def test_a_tenant_can_be_held_before_it_has_jobs(world: World) -> None:
    hold(world, "t")
    fill(world, "t", 2)

    assert (claimed(world, 10), counts(world)) == ({}, (0, 2))
    assert status(world, "t").held_ms is not None
    hold(world, "t", on=False)
    assert claimed(world, 10) == {"t": 2}


@pytest.mark.parametrize("prefetch", [False, True], ids=["starting", "prefetching"])
@pytest.mark.parametrize("limit", [1, 3, 10, 50])
def test_turns_follow_the_weights_of_tenants(world: World, limit: int, prefetch: bool) -> None:
    for name in "ab":
        fill(world, name, 4, jobs=75)
    w.enqueue(world, w.names("c-", 300), b"c")
    weigh(world, "b", 3)
    owned, found = world.own(nonce="n"), Counter[str]()

    while found.total() + limit <= 300:
        claims = w.claim(owned, limit, starting=0 if prefetch else limit)
        found.update(i.decode()[0] for i in claims.ids)

    assert found["b"] == pytest.approx(found.total() * 3 / 5, rel=0.1)
    assert found["a"] == pytest.approx(found["c"], rel=0.15)


def test_a_tenant_that_gets_another_weight_is_owed_no_rest_of_its_turn(world: World) -> None:
    for name in "ab":
        fill(world, name, 1, jobs=100)
    weigh(world, "a", 50)
    claimed(world, 4)  # of 50 that follow each other

    weigh(world, "a", 2)

    assert claimed(world, 30) == {"a": 20, "b": 10}


def test_what_a_tenant_has_is_told(world: World) -> None:
    fill(world, "t", 3, jobs=2)
    fill(world, "t", 1, tier=1)

    assert status(world, "t") == TenantStatus(ready=6, groups=3)
    assert (weigh(world, "t", 5), weigh(world, "t", 5)) == (True, False)
    assert status(world, "t").weight == 5
    assert (weigh(world, "t", 1), weigh(world, "t", 1)) == (True, False)
    assert claimed(world, 10) == {"t": 6}
    assert status(world, "t") == TenantStatus(ready=0, groups=0, running=6)
    assert status(world, "nobody") == TenantStatus(ready=0, groups=0)
    assert snapshot(world)["bounds"] == {}


def test_nothing_is_kept_of_a_tenant_without_jobs_and_settings(server_world: World) -> None:
    fill(server_world, "t", 3)
    hold(server_world, "t")
    hold(server_world, "t", on=False)
    owned = server_world.own(nonce="n")
    w.finish(owned, w.claim(owned, 10))

    assert server_world.client.keys("*:t[nr]:*") == server_world.client.keys("*:mt") == []


def test_a_recount_corrects_the_jobs_of_a_tenant(server_world: World) -> None:
    fill(server_world, "t", 3)
    fill(server_world, "u", 2)
    hold(server_world, "u")
    key = server_world.partition.key
    server_world.client.hset(key + b":tn:t", "e2", 77)
    server_world.client.hset(key + b":tn:u", "e2", "x")

    assert not server_world.partition.audit().clean
    server_world.partition.audit(repair=True)
    assert server_world.partition.audit().clean
    hold(server_world, "u", on=False)
    assert claimed(server_world, 10) == {"t": 3, "u": 2}
