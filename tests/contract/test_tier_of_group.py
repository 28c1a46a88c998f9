"""A group that changes its tier: its waiting jobs have their turns there, in their order."""

from __future__ import annotations

import pytest

from queuepool.models import Tier
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_gates import admit
from tests.contract.world import STRICT, World

OWN = produce.OWN_TIERS


def move(world: World, tier: int, group: bytes = b"g") -> bool | None:
    """Set the tier of a group, also of what it has at gates."""
    changed = world.partition.run(produce.configure(group, tier=tier))
    cursor = world.partition.run(produce.tier_at_gates(group))
    while cursor:
        cursor = world.partition.run(produce.tier_at_gates(group, cursor))
    return changed


def claimed(owned: OwnedPartition, limit: int) -> list[str]:
    """Claim strictly by tier; return the ids."""
    return [i.decode() for i in w.claim(owned, limit, weights=STRICT).ids]


def ids(prefix: str, n: int) -> list[str]:
    """Return short ids."""
    return [f"{prefix}{i}" for i in range(n)]


def test_a_waiting_group_has_its_turns_in_its_new_tier_and_in_its_order(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("a", 5), b"a")
    w.enqueue(world, ids("g", 5))

    assert move(world, Tier.CRITICAL) is True
    assert world.partition.observe().ready == (5, 0, 5, 0)
    assert claimed(owned, 7) == [*ids("g", 5), *ids("a", 2)]


def test_a_group_stays_in_its_new_tier_when_a_claim_takes_a_part_of_it(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("a", 40), b"a", tier=Tier.HIGH)
    w.enqueue(world, ids("g", 40))
    move(world, Tier.CRITICAL)

    assert [*claimed(owned, 20), *claimed(owned, 20)] == ids("g", 40)


@pytest.mark.parametrize("before", [0, 1])
def test_a_group_that_moves_down_yields_to_others(world: World, before: int) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 4), tier=before)
    w.enqueue(world, ids("a", 4), b"a")

    move(world, Tier.LOW)

    assert claimed(owned, 6) == [*ids("a", 4), *ids("g", 2)]


def test_jobs_enqueued_later_follow_and_its_own_tiers_come_back(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 2))
    move(world, Tier.CRITICAL)
    w.enqueue(world, ["g2", "g3"])
    w.enqueue(world, ["late"], delay_ms=1000)
    w.enqueue(world, ids("a", 2), b"a", tier=1)
    world.advance(2)
    w.promote(owned)

    assert claimed(owned, 5) == ["g0", "g1", "g2", "g3", "late"]
    w.enqueue(world, ["g4"])
    assert move(world, OWN) is True
    assert claimed(owned, 5) == ["a0", "a1", "g4"]


def test_jobs_of_a_group_that_had_none_are_at_once_in_its_tier(world: World) -> None:
    owned = world.own()
    world.partition.run(produce.configure(b"g", tier=Tier.CRITICAL, keep_ms=60_000))

    w.enqueue(world, ["a"], b"a", tier=1)
    w.enqueue(world, ["g"])
    assert claimed(owned, 2) == ["g", "a"]

    w.enqueue(world, ["a0"], b"a", tier=1, limits=b"mail")
    w.enqueue(world, ["g0"], limits=b"mail")
    assert admit(owned, 1) == 1
    assert claimed(owned, 1) == ["g0"]


def test_the_tier_is_shown_and_setting_it_again_changes_nothing(world: World) -> None:
    w.enqueue(world, ["g0"])

    assert world.partition.group(b"g").tier is None
    assert (move(world, 1), move(world, 1), move(world, 3)) == (True, False, True)
    assert world.partition.group(b"g").tier is Tier.LOW
    assert (move(world, OWN), move(world, OWN)) == (True, False)
    assert world.partition.group(b"g").tier is None
    assert move(world, 1, b"unknown") is None


def test_a_group_that_goes_back_and_forth_has_one_turn(world: World) -> None:
    owned = world.own()
    for name in "ag":
        w.enqueue(world, ids(name, 40), name.encode())
    for tier in (0, 2, 3, 2, 0, 2):
        move(world, tier)

    found = claimed(owned, 40)

    assert sum(i.startswith("g") for i in found) <= 24  # of 27, were it two
    assert world.partition.audit(repair=False).clean


def test_seats_from_before_are_gone_when_a_claim_meets_them(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 3))
    for tier in (0, 1, 3):
        move(world, tier)
    assert sum(map(len, snapshot(world)["rings"])) == 4

    w.finish(owned, w.claim(owned, 10))

    assert claimed(owned, 10) == []
    assert sum(map(len, snapshot(world)["rings"])) == 0


def test_a_claim_that_meets_only_marks_of_a_group_drops_its_seats_from_before(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 6))
    move(world, Tier.CRITICAL)
    for job_id in ids("g", 6):
        world.partition.run(produce.cancel(job_id))
    world.advance(3600)

    w.claim(owned, 2, weights=STRICT)  # it looks at no other ring
    w.claim(owned, 2, weights=(1, 1, 1, 1))
    assert list(map(len, snapshot(world)["rings"])) == [1, 0, 0, 0]

    w.claim(owned, 4)
    assert sum(map(len, snapshot(world)["rings"])) == 0


def test_a_group_is_remembered_while_seats_from_before_may_be_left(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 2))
    move(world, Tier.CRITICAL)
    w.finish(owned, w.claim(owned, 2, weights=STRICT))  # it looks at no other ring
    world.advance(3600)

    w.enqueue(world, ids("n", 2))

    assert world.partition.group(b"g").tier is Tier.CRITICAL
    assert list(map(len, snapshot(world)["rings"])) == [1, 0, 1, 0]  # the other one does not count


def test_a_group_that_moves_after_its_end_is_remembered_as_long(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 2))
    for job_id in ids("g", 2):
        world.partition.run(produce.cancel(job_id))
    move(world, Tier.CRITICAL)
    world.advance(3600)

    assert world.partition.group(b"g").tier is Tier.CRITICAL
    w.claim(owned)
    world.advance(86_400)
    assert world.partition.group(b"g").total == 0


def test_lanes_of_several_tiers_of_a_group_meet_in_one(world: World) -> None:
    owned = world.own()
    for tier in range(4):
        w.enqueue(world, ids(f"g{tier}", 2), tier=tier)
    w.enqueue(world, ["a"], b"a", tier=1)

    move(world, Tier.HIGH)

    assert world.partition.observe().ready == (0, 9, 0, 0)
    assert len(claimed(owned, 9)) == 9


@pytest.mark.parametrize("bound", ["hold", "max", "serial"])
def test_a_group_that_may_not_run_keeps_its_tier_for_later(world: World, bound: str) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 4))
    setting: dict[str, bool] = {bound: True}
    most = 1 if bound == "max" else None
    world.partition.run(
        produce.configure(
            b"g", hold=setting.get("hold"), max_running=most, serial=setting.get("serial")
        )
    )
    first = w.claim(owned, 4)
    w.enqueue(world, ids("a", 4), b"a", tier=1)

    move(world, Tier.CRITICAL)
    if bound == "hold":
        world.partition.run(produce.configure(b"g", hold=False))
    w.finish(owned, first)

    order = claimed(owned, 2)
    assert order[0] == ("g0" if bound == "hold" else "g1")
    assert order[1] == ("g1" if bound == "hold" else "a0")


def test_a_retry_a_return_and_a_recovery_go_to_the_new_tier(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 6))
    first = w.claim(owned, 6)
    move(world, Tier.CRITICAL)
    w.enqueue(world, ids("a", 6), b"a", tier=1)
    w.retry(owned, first.ids[:1])
    owned.run(own.hand_back(owned.ownership, first.ids[1:3]))
    w.promote(owned)

    assert claimed(owned, 4) == ["g1", "g2", "g0", "a0"]


def test_dead_jobs_that_are_replayed_go_to_the_tier_of_their_group(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["g0"])
    w.bury(owned, w.claim(owned, 1).ids)
    move(world, Tier.CRITICAL)
    w.enqueue(world, ["a"], b"a", tier=1)

    world.partition.run(operate.replay(["g0"]))

    assert claimed(owned, 2) == ["g0", "a"]


def test_parked_jobs_wait_in_the_new_tier_at_their_gates(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("a", 9), b"a", limits=b"mail")
    w.enqueue(world, ids("g", 9), tier=3, limits=b"mail")

    move(world, Tier.CRITICAL)
    admit(owned, 8)

    found = claimed(owned, 8)
    assert [i for i in found if i.startswith("g")] == [f"g{n}" for n in range(6)]
    assert world.partition.audit(repair=False).clean


def test_limits_hold_for_what_a_claim_leaves_when_it_meets_a_seat_from_before(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 3), limits=b"mail")
    admit(owned, 3)
    move(world, Tier.CRITICAL)

    first, second = w.claim(owned, 2, weights=(1, 1, 1, 1)), w.claim(owned, 1)

    assert first.limits == [b"g0", b"mail", b"g1", b"mail"]
    assert second.limits == [b"g2", b"mail"]


def test_parked_jobs_of_two_tiers_meet_older_ones_first(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids("g", 450), tier=3, limits=b"mail")
    world.partition.run(produce.configure(b"g", tier=0))
    w.enqueue(world, ids("late", 2), tier=3, limits=b"mail")

    move(world, Tier.CRITICAL)
    admit(owned, 200)
    found = claimed(owned, 200)
    w.finish(owned, w.claim(owned, 1))
    admit(owned, 200)
    found += claimed(owned, 200)
    admit(owned, 200)
    found += claimed(owned, 200)

    assert found == [*ids("g", 450), "late0", "late1"]
    assert world.partition.audit(repair=False).clean


def test_a_group_of_a_tenant_moves_within_its_tenant(world: World) -> None:
    owned, group = world.own(), group_of(b"g", b"acme")
    w.enqueue(world, ids("g", 3), group)
    w.enqueue(world, ids("o", 3), group_of(b"o", b"acme"))
    w.enqueue(world, ids("a", 3), b"a", tier=1)

    move(world, Tier.CRITICAL, group)

    assert world.partition.observe().ready == (3, 3, 3, 0)
    assert claimed(owned, 9) == [*ids("g", 3), *ids("a", 3), *ids("o", 3)]
    assert world.partition.audit(repair=False).clean


def test_a_seat_that_is_lost_is_given_again_in_the_tier_of_its_group(world: World) -> None:
    if world.client is None:
        pytest.skip("needs a server, to damage")
    world.damaged, owned = True, world.own()
    w.enqueue(world, ids("g", 3))
    w.enqueue(world, ["a"], b"a", tier=1)
    move(world, Tier.CRITICAL)
    world.client.delete(world.partition.key + b":ring:0")

    assert world.partition.audit(repair=True).unseated == 1

    assert claimed(owned, 4) == ["g0", "g1", "g2", "a"]


def test_a_group_whose_tier_changed_at_an_absurd_time_keeps_its_turns(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"])
    move(server_world, Tier.HIGH)
    server_world.client.hset(server_world.partition.key + b":g:g", "moved", 2**44)
    assert w.drain(owned) == ["a"]

    w.enqueue(server_world, ["b"])

    assert w.drain(owned) == ["b"]
