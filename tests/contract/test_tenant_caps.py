"""A bounded tenant runs only so many jobs at once; what its jobs came to is told."""

from __future__ import annotations

import pytest

from queuepool.models import TenantStatus
from queuepool.routing.slots import group_of
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.gates import admit
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_hold import _take_tokens as take_tokens
from tests.contract.test_tenant_settings import counts, hold, status, weigh
from tests.contract.test_tenants import claimed, fill
from tests.contract.world import World


def bound(world: World, tenant: str, most: int) -> bool:
    return world.partition.run(tenants.configure(tenant.encode(), max_running=most))


def backlog(world: World) -> tuple[int, int]:
    """Return the backlog, and how many jobs are capped."""
    state = world.partition.observe()
    return state.backlog, state.capped


def test_a_bounded_tenant_runs_so_many_jobs_in_all_of_its_groups(world: World) -> None:
    fill(world, "t", 6, jobs=2)
    w.enqueue(world, ["t-critical"], group_of(b"k0", b"t"), tier=0)
    w.enqueue(world, w.names("other-", 3), b"other")

    assert (bound(world, "t", 4), bound(world, "t", 4)) == (True, False)
    assert backlog(world) == (7, 9)
    assert claimed(world, 100) == {"t": 4, "other": 3}
    assert (backlog(world), claimed(world, 100)) == ((0, 9), {})
    fill(world, "t", 9)
    assert (backlog(world), claimed(world, 100)) == ((0, 12), {})
    assert (bound(world, "t", 6), backlog(world)) == (True, (2, 10))
    assert claimed(world, 1) == claimed(world, 100) == {"t": 1}
    assert (bound(world, "t", 0), bound(world, "t", 0)) == (True, False)
    assert backlog(world) == (10, 0)
    assert claimed(world, 100) == {"t": 10}


def test_a_tenant_can_be_bounded_while_more_of_its_jobs_run(world: World) -> None:
    fill(world, "t", 5)
    owned = world.own(nonce="n")
    claims = w.claim(owned, 3)
    bound(world, "t", 2)

    assert (backlog(world), status(world, "t").running) == ((0, 2), 3)
    w.finish(owned, claims, 0)
    assert backlog(world) == (0, 2)
    w.finish(owned, claims, 1)
    assert backlog(world) == (1, 1)
    assert len(w.claim(owned, 100).ids) == 1


def test_what_waits_for_its_limits_stays_at_its_gate_while_its_tenant_has_no_room(
    world: World,
) -> None:
    group = group_of(b"k", b"t")
    w.enqueue(world, ["a", "b", "c"], group, limits=b"mail")
    bound(world, "t", 1)
    owned = world.own(nonce="n")
    assert owned.run(admit(owned.ownership, "mail", 1, most_waiting=9)).admitted == 1
    claims = w.claim(owned, 10)

    assert owned.run(admit(owned.ownership, "mail", 2, most_waiting=9)).admitted == 0
    w.finish(owned, claims)
    assert owned.run(admit(owned.ownership, "mail", 1, most_waiting=9)).admitted == 1
    assert w.claim(owned, 10).ids == [b"b"]


ENDS = ("finish", "finish_stray", "retry", "bury", "hand_back", "cancel", "takeover")


@pytest.mark.parametrize("how", ENDS)
def test_whatever_ends_a_run_makes_room(world: World, how: str) -> None:
    fill(world, "t", 4)
    bound(world, "t", 2)
    owned = world.own(nonce="n")
    claims = w.claim(owned, 100)
    assert (len(claims.ids), w.claim(owned, 100).ids) == (2, [])
    gone = claims.ids[:1]
    heir = owned

    if how == "finish":
        w.finish(owned, claims, 0)
    elif how == "finish_stray":
        owned.run(own.finish_stray(owned.ownership, [(gone[0], b"", 0, b"")]))
    elif how == "retry":
        w.retry(owned, gone)
    elif how == "bury":
        w.bury(owned, gone)
    elif how == "hand_back":
        owned.run(own.hand_back(owned.ownership, gone))
    elif how == "cancel":
        world.partition.cancel(gone[0].decode())
        owned.run(own.end_cancelled(owned.ownership, gone))
    else:
        world.advance(700)
        heir = world.own(nonce="heir")
        w.recover(heir)

    room = 2 if how == "takeover" else 1
    assert backlog(world)[0] == room
    assert len(w.claim(heir, 100).ids) == room
    assert status(world, "t").running == 2


def test_an_idle_consumer_is_woken_when_a_successor_makes_room(world: World) -> None:
    fill(world, "t", 3)
    bound(world, "t", 1)
    old = world.own(nonce="old")
    claims = w.claim(old, 100)
    old.run(own.release(old.ownership, drain_lease_ms=60_000))
    new = world.own(nonce="new")
    assert w.claim(new, 100).ids == []
    snapshot(world)["tokens"].clear()

    w.finish(old, claims)

    assert b"w" in snapshot(world)["tokens"]
    assert len(w.claim(new, 100).ids) == 1


@pytest.mark.parametrize("stray", [False, True])
def test_the_end_of_a_job_of_a_bounded_tenant_wakes_its_own_owner(
    world: World, stray: bool
) -> None:
    fill(world, "t", 2)
    bound(world, "t", 1)
    owned = world.own()
    claims = w.claim(owned, 100)
    assert w.claim(owned, 100).ids == []
    take_tokens(world)

    if stray:
        owned.run(own.finish_stray(owned.ownership, [(claims.ids[0], b"", 0, b"")]))
    else:
        w.finish(owned, claims)

    assert b"w" in snapshot(world)["tokens"]
    assert len(w.claim(owned, 100).ids) == 1


def test_a_bound_of_a_tenant_and_of_its_group_hold_together(world: World) -> None:
    fill(world, "t", 2, jobs=5)
    group = group_of(b"k0", b"t")
    world.partition.run(produce.configure(group, max_running=1))
    bound(world, "t", 3)

    assert backlog(world) == (3, 7)
    assert claimed(world, 100) == {"t": 3}
    bound(world, "t", 8)
    assert backlog(world)[0] == claimed(world, 100).total()
    assert status(world, "t").running == 6  # one of the one group, all of the other
    world.partition.run(produce.configure(group, hold=True))
    world.partition.run(produce.configure(group, max_running=0, hold=False))
    assert claimed(world, 100) == {"t": 2}


def test_a_bounded_tenant_can_be_held_too(world: World) -> None:
    fill(world, "t", 5)
    bound(world, "t", 3)
    hold(world, "t")

    assert (counts(world), backlog(world)) == ((0, 5), (0, 0))
    assert claimed(world, 10) == {}
    hold(world, "t", on=False)
    assert backlog(world) == (3, 2)
    hold(world, "t")
    bound(world, "t", 0)
    assert (counts(world), claimed(world, 10)) == ((0, 5), {})
    hold(world, "t", on=False)
    assert claimed(world, 10) == {"t": 5}


def test_jobs_of_a_bounded_tenant_that_are_cancelled_leave_its_room_to_others(world: World) -> None:
    fill(world, "t", 3, jobs=2)
    bound(world, "t", 2)
    world.partition.cancel("t-0-00000")
    world.partition.cancel_group(group_of(b"k1", b"t"))

    assert backlog(world) == (2, 1)
    owned, found = world.own(nonce="n"), list[bytes]()
    for _ in range(10):
        claims = w.claim(owned, 10)
        found += claims.ids
        if claims.taken < 10:  # otherwise it met marks, and there are more
            break
    assert (len(found), backlog(world)) == (2, (0, 1))


def test_a_weight_counts_beside_a_bound(world: World) -> None:
    fill(world, "t", 4, jobs=10)
    w.enqueue(world, w.names("other-", 40), b"other")
    weigh(world, "t", 3)
    bound(world, "t", 6)

    assert claimed(world, 4) == {"t": 3, "other": 1}
    assert claimed(world, 8)["t"] == 3
    assert claimed(world, 8) == {"other": 8}


def test_bodies_that_do_not_fit_leave_a_tenant_its_room(world: World) -> None:
    for name in ("t", "u"):
        for n in range(3):
            group = group_of(b"k%d" % n, name.encode())
            w.enqueue(world, [f"{name}-{n}"], group, payload=b"x" * 1000)
        bound(world, name, 2)
    owned, found = world.own(nonce="n"), list[bytes]()

    for _ in range(4):
        found += w.claim(owned, 10, max_bytes=1500).ids
    assert sorted(i.decode()[0] for i in found) == ["t", "t", "u", "u"]


def test_what_jobs_of_a_tenant_came_to_is_told_for_a_day(world: World) -> None:
    fill(world, "t", 6)
    owned = world.own(nonce="n")
    claims = w.claim(owned, 4)
    w.finish(owned, claims, 0, 1)
    w.bury(owned, claims.ids[2:3])
    world.partition.cancel("t-5-00000")
    world.partition.cancel_group(group_of(b"k4", b"t"))

    assert status(world, "t") == TenantStatus(
        ready=0, groups=2, running=1, done=2, died=1, cancelled=2
    )
    claims = w.claim(owned, 4)
    assert status(world, "t").groups == 0
    if world.in_memory:
        world.advance(86_401)
        assert status(world, "t") == TenantStatus(ready=0, groups=0, running=1)
    else:
        key = world.partition.key + b":tt:t"
        assert 86_000_000 < world.client.pttl(key) <= 86_400_000


def test_a_job_that_comes_too_late_counts_for_its_tenant(world: World) -> None:
    w.enqueue(world, ["late", "later"], group_of(b"k", b"t"), expires_ms=1000)
    world.advance(2)

    assert w.claim(world.own()).ids == []
    assert status(world, "t").expired == 2


def test_a_bounded_tenant_whose_lane_sits_among_plain_ones_is_counted(server_world: World) -> None:
    world, base = server_world, server_world.partition.key
    fill(world, "t", 1, jobs=4)
    bound(world, "t", 9)
    [seat] = world.client.lrange(base + b":tr:2:t", 0, -1)
    world.client.delete(base + b":tr:2:t", base + b":ring:2")
    world.client.rpush(base + b":ring:2", seat)

    assert claimed(world, 3) == {"t": 3}
    assert backlog(world) == (1, 0)


def test_a_stray_that_ends_counts_for_its_tenant(world: World) -> None:
    fill(world, "t", 2)
    owned = world.own(nonce="n")
    claims = w.claim(owned, 1)

    owned.run(own.finish_stray(owned.ownership, [(i, b"", 0, b"") for i in claims.ids]))

    assert status(world, "t").done == 1


def test_a_recount_corrects_the_running_jobs_of_a_bounded_tenant(server_world: World) -> None:
    world, record = server_world, server_world.partition.key + b":tn:t"
    fill(world, "t", 5)
    bound(world, "t", 2)
    owned = world.own(nonce="n")
    claims = w.claim(owned, 10)
    assert w.claim(owned, 10).ids == []
    world.client.hset(record, "run", 9)
    w.finish(owned, claims)

    assert w.claim(owned, 10).ids == []
    assert not world.partition.audit().clean
    world.partition.audit(repair=True)
    assert world.partition.audit().clean
    assert len(w.claim(owned, 10).ids) == 2


@pytest.mark.parametrize("field", ["c2", "apart", "state"])
def test_a_recount_corrects_what_a_bounded_tenant_may_start(
    server_world: World, field: str
) -> None:
    world, record = server_world, server_world.partition.key + b":tn:t"
    fill(world, "t", 5)
    bound(world, "t", 2)
    world.client.hset(record, field, "held" if field == "state" else 4)

    assert not world.partition.audit().clean
    world.partition.audit(repair=True)
    assert world.partition.audit().clean
    assert backlog(world) == (2, 3)


def test_nothing_but_totals_is_kept_of_a_tenant_whose_jobs_ended(server_world: World) -> None:
    fill(server_world, "t", 3)
    bound(server_world, "t", 2)
    bound(server_world, "t", 0)
    owned = server_world.own(nonce="n")
    w.finish(owned, w.claim(owned, 10))

    assert server_world.client.keys("*:t[nr]:*") == server_world.client.keys("*:mt") == []


def test_the_tenants_with_the_most_ready_jobs_are_told(world: World) -> None:
    for name, jobs in (("a", 2), ("b", 5), ("c", 3), ("d", 5)):
        fill(world, name, 1, jobs=jobs)
    w.enqueue(world, w.names("plain-", 9), b"plain")
    hold(world, "c")
    bound(world, "d", 1)
    fill(world, "none", 1)
    world.partition.cancel("none-0-00000")
    assert claimed(world, 100)["d"] == 1
    for name, jobs in (("a", 2), ("b", 2)):
        w.enqueue(world, w.names(f"{name}-later-", jobs), group_of(b"later", name.encode()))

    found = world.partition.run(tenants.largest(3))

    told = [(one.name, one.ready, one.running, one.held_ms is not None) for one in found]
    assert told == [("d", 4, 1, False), ("c", 3, 0, True), ("a", 2, 2, False)]
    assert len(world.partition.run(tenants.largest(20))) == 4


def test_a_claim_asks_for_no_more_of_a_tenant_that_has_no_room_left(world: World) -> None:
    fill(world, "t", 3)
    bound(world, "t", 1)

    claims = w.claim(world.own(), 10)

    assert (len(claims.ids), claims.taken) == (1, 1)
