"""What the doctor looks at in a partition: the longest run, the largest lanes, the oldest holds."""

from __future__ import annotations

from collections import Counter

import pytest

from queuepool.models.doctor import Checkup, Held, Running, Waiting
from queuepool.models.limit_use import LimitUse
from queuepool.routing.slots import group_of
from queuepool.verbs import Verb
from queuepool.verbs.operator.checkups import checkup, figures
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.limit_uses import limit_uses_text
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World


def look(world: World) -> Checkup:
    return world.partition.run(checkup())


def test_an_empty_partition_shows_nothing(world: World) -> None:
    found = look(world)

    assert found == Checkup(now_ms=found.now_ms)


def test_the_job_that_has_run_longest_is_found_also_of_a_dead_owner(world: World) -> None:
    first = world.own(nonce="first")
    w.enqueue(world, ["old", "memory"])
    w.claim(first, starting=0)
    began_ms = look(world).now_ms
    first.run(own.start(first.ownership, [b"old"]))
    first.run(own.release(first.ownership, drain_lease_ms=60_000))
    world.advance(5)
    second = world.own(nonce="second")
    w.enqueue(world, ["young"])
    w.claim(second)

    found = look(world)

    assert found.running is not None
    assert found.running[0] == "old"
    age_ms = found.now_ms - found.running[1]
    assert 5_000 <= age_ms <= 5_000 + found.now_ms - began_ms


def test_jobs_in_the_memory_of_a_consumer_do_not_run(world: World) -> None:
    w.enqueue(world, ["waits"])
    w.claim(world.own(), starting=0)

    assert look(world).running is None


def test_the_two_largest_lanes_are_found_with_the_tiers_of_a_group_together(world: World) -> None:
    w.enqueue(world, w.names("a", 3), b"a")
    w.enqueue(world, w.names("b", 5), b"b")
    w.enqueue(world, w.names("c", 4), b"c", tier=0)
    w.enqueue(world, w.names("d", 4), b"c", tier=3)

    found = look(world)

    assert found.lanes == 4
    assert found.groups == (Waiting(b"c", 8), Waiting(b"b", 5))


def test_some_of_the_jobs_that_run_tell_their_group_and_slot_others_in_each_look(
    world: World,
) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 30), b"big")
    w.enqueue(world, w.names("b", 2), b"small")
    w.claim(owned, 32)

    first = dict[int, tuple[Running, ...]]()  # where a look begins depends on its millisecond
    for _ in range(100_000):
        found = look(world)
        first[found.now_ms % 23] = found.sample
        if len(first) == 23:
            break
        world.advance(0.001)

    assert {len(sample) for sample in first.values()} == {10}
    assert {one.slot for sample in first.values() for one in sample} == {7}
    met = Counter(one.group for sample in first.values() for one in sample)
    assert met == {b"big": 227, b"small": 3}


def test_jobs_that_wait_in_the_memory_of_a_consumer_take_no_worker_time(world: World) -> None:
    w.enqueue(world, ["runs", "waits"])
    w.claim(world.own(), 2, starting=1)

    assert len(look(world).sample) == 1


@pytest.mark.parametrize("largest", [b"a", b"b"])
def test_the_second_largest_is_found_whether_it_is_met_first_or_last(
    world: World, largest: bytes
) -> None:
    for group in (b"a", b"b"):
        w.enqueue(world, w.names(group.decode(), 5 if group == largest else 2), group)

    second = b"b" if largest == b"a" else b"a"
    assert look(world).groups == (Waiting(largest, 5), Waiting(second, 2))


def test_of_a_tenant_the_lane_next_in_turn_is_looked_at(world: World) -> None:
    names = [group_of(key, b"tenant") for key in (b"g", b"h")]
    w.enqueue(world, w.names("g", 3), names[0])
    w.enqueue(world, w.names("h", 9), names[1])

    found = look(world)

    assert found.groups == (Waiting(names[0], 3),)


def test_the_oldest_holds_are_found_and_end_with_a_release(world: World) -> None:
    tenant = group_of(b"g", b"acme")
    w.enqueue(world, ["x"], b"first")
    w.enqueue(world, ["y"], b"second")
    w.enqueue(world, ["z"], tenant)
    world.partition.run(produce.configure(b"first", hold=True))
    world.advance(60)
    world.partition.run(produce.configure(b"second", hold=True))
    world.partition.run(tenants.configure(b"acme", hold=True))

    found = look(world)

    assert found.held_group is not None
    assert found.held_group.name == b"first"
    assert 60_000 <= found.now_ms - found.held_group.since_ms < 120_000
    assert found.held_tenant == Held(b"acme", found.held_tenant.since_ms)  # type: ignore[union-attr]

    world.partition.run(produce.configure(b"first", hold=False))
    world.partition.run(produce.configure(b"second", hold=False))
    world.partition.run(tenants.configure(b"acme", hold=False))
    again = look(world)
    assert again.held_group is None
    assert again.held_tenant is None


def test_a_server_tells_of_itself(world: World) -> None:
    found = world.partition.run(figures("main"))

    assert found.name == "main"
    assert found.run_id
    assert not found.problem
    assert found.policy == "noeviction"
    assert found.evicted == found.behind == found.replicas == 0
    assert found.appendonly is not None
    assert world.in_memory or found.used > 100_000


def test_an_owner_tells_its_release_and_how_many_dead_jobs_it_keeps(world: World) -> None:
    owned = world.own()

    def renew(about: str) -> None:
        owned.run(
            own.renew(
                owned.ownership, lease_ms=60_000, beat=1, workers=1, busy=0, target=1,
                applied="0-0", about=about,
            )
        )  # fmt: skip

    def told() -> tuple[str, tuple[int, int] | None]:
        owner = world.partition.observe().owner
        assert owner is not None
        return owner.version, owner.dead_keep

    assert told() == ("", None)
    renew("1.2.3:100:9000")
    assert told() == ("1.2.3", (100, 9000))
    renew("1.2.3")
    assert told() == ("1.2.3", None)
    renew("")
    assert told() == ("", None)
    renew("1.2.3:100:9000")
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    world.own(nonce="other")
    assert told() == ("", None)  # of an earlier owner


def test_an_owner_tells_what_its_limits_let_through_and_not_for_its_successor(world: World) -> None:
    owned = world.own()
    use = LimitUse(
        name="mail:7", parked=12, granted_per_s=20.5, finished_total=30, service_s_total=15.25
    )

    def told(limits: str) -> tuple[LimitUse, ...]:
        owned.run(
            own.renew(
                owned.ownership, lease_ms=60_000, beat=1, workers=1, busy=0, target=1,
                applied="0-0", limits=limits,
            )
        )  # fmt: skip
        owner = world.partition.observe().owner
        assert owner is not None
        return owner.limits

    assert told("") == ()
    assert told(limit_uses_text([use])) == (use,)
    assert told("nonsense,7") == ()
    told(limit_uses_text([use]))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    world.own(nonce="other")
    owner = world.partition.observe().owner
    assert owner is not None
    assert owner.limits == ()


def test_a_coordinator_understands_an_owner_that_tells_nothing_of_limits(world: World) -> None:
    owned = world.own()
    verb = own.renew(
        owned.ownership, lease_ms=60_000, beat=1, workers=4, busy=2, target=4, applied="0-0"
    )

    owned.run(Verb("renew", verb.args[:11], verb.parse))  # as older releases send it

    owner = world.partition.observe().owner
    assert owner is not None
    assert (owner.workers, owner.limits) == (4, ())
