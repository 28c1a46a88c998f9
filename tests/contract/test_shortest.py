"""The order `shortest`: of a tier, the lane with the fewest jobs comes first, but none starves."""

from __future__ import annotations

from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World


def claimed(owned: OwnedPartition, limit: int, *, wait_ms: int = 60_000, age_ms: int = 0) -> str:
    """Claim in this order; return the first letters of the ids."""
    claims = w.claim(owned, limit, shortest_ms=wait_ms, age_ms=age_ms)
    return "".join(job_id.decode()[0] for job_id in claims.ids)


def fill(world: World, **jobs: int) -> None:
    """Enqueue so many jobs of groups, each named by a letter."""
    for name, n in jobs.items():
        w.enqueue(world, w.names(name, n), name.encode())


def test_the_group_with_the_fewest_jobs_comes_first_and_is_ended(world: World) -> None:
    owned = world.own()
    fill(world, a=30, b=4, c=9)

    assert [claimed(owned, 5) for _ in range(4)] == ["bbbbc", "ccccc", "cccaa", "aaaaa"]


def test_a_short_group_that_comes_later_overtakes(world: World) -> None:
    owned = world.own()
    fill(world, a=200)
    assert claimed(owned, 5) == "aaaaa"
    fill(world, b=6)

    assert (claimed(owned, 4), claimed(owned, 4)) == ("bbbb", "bbaa")


def test_a_new_group_is_seen_behind_any_number_of_long_ones(world: World) -> None:
    owned = world.own()
    for n in range(300):
        w.enqueue(world, w.names(f"a{n}-", 3), b"a%d" % n)
    fill(world, b=2)

    assert claimed(owned, 3) == "bba"


def test_a_group_that_waited_too_long_comes_first_once(world: World) -> None:
    owned = world.own()
    fill(world, a=30)
    world.advance(61)
    fill(world, b=30, c=3)

    assert [claimed(owned, 4, wait_ms=60_000) for _ in range(3)] == ["aaaa", "ccca", "aaaa"]
    world.advance(61)
    assert {claimed(owned, 4, wait_ms=60_000)[0] for _ in range(2)} == {"a", "b"}


def test_tiers_keep_their_shares_and_lanes_that_may_not_run_leave(world: World) -> None:
    owned = world.own()
    fill(world, a=3, b=20)
    w.enqueue(world, w.names("x", 40), b"x", tier=0)
    world.partition.run(produce.configure(b"a", hold=True))

    found = claimed(owned, 8)

    assert sorted(found) == sorted("xxxxxxbb")
    world.partition.run(produce.configure(b"a", hold=False))
    assert sorted(claimed(owned, 8)) == sorted("xxxxxxaa")


def test_a_tenant_counts_with_all_of_its_jobs(world: World) -> None:
    owned = world.own()
    for n in range(5):
        w.enqueue(world, w.names(f"t{n}", 3), group_of(b"k%d" % n, b"tenant"))
    fill(world, a=10, b=20)

    assert claimed(owned, 26) == "a" * 10 + "t" * 15 + "b"


def test_seats_stay_where_they_belong(world: World) -> None:
    owned = world.own()
    fill(world, a=20, b=15, c=10, d=5)
    for limit in (1, 7, 3, 200):
        claims = w.claim(owned, limit, shortest_ms=5)
        assert world.partition.audit().clean
        w.finish(owned, claims)

    assert world.partition.observe().jobs == 0


def test_a_foreign_value_in_place_of_a_lane_stops_no_other(server_world: World) -> None:
    owned = server_world.own()
    fill(server_world, a=2, b=1)
    server_world.client.set(server_world.partition.key + b":q:2:a", "not ours")

    assert claimed(owned, 5) == "b"
    server_world.damaged = True
