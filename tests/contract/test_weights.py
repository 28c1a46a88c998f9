"""Weights: a group of weight 3 has three turns for each turn of the other groups of its tier."""

from __future__ import annotations

from collections import Counter

import pytest

from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World

JOBS = 300


def weigh(world: World, group: str, weight: int) -> bool | None:
    """Set the weight of a group."""
    return world.partition.run(produce.configure(group.encode(), weight=weight))


def shares(world: World, limit: int, *, prefetch: bool = False) -> Counter[str]:
    """Claim while every group has jobs left; return how many were claimed of each."""
    owned, found = world.own(), Counter[str]()
    while found.total() + limit <= JOBS:
        starting = 0 if prefetch else limit
        claims = w.claim(owned, limit, starting=starting)
        assert claims.taken == limit
        found.update(job_id.decode()[0] for job_id in claims.ids)
    return found


@pytest.mark.parametrize("prefetch", [False, True], ids=["starting", "prefetching"])
@pytest.mark.parametrize("limit", [1, 3, 10, 50, 100])
def test_turns_follow_the_weights(world: World, limit: int, prefetch: bool) -> None:
    for name in "abc":
        w.enqueue(world, w.names(name, JOBS), name.encode())
    weigh(world, "b", 3)

    found = shares(world, limit, prefetch=prefetch)

    assert found["b"] == pytest.approx(found.total() * 3 / 5, rel=0.1)
    assert found["a"] == pytest.approx(found["c"], rel=0.15)


def test_a_weight_counts_beside_a_cap_and_not_above_it(world: World) -> None:
    owned = world.own()
    for name in "ab":
        w.enqueue(world, w.names(name, 100), name.encode())
    weigh(world, "a", 100)
    world.partition.run(produce.configure(b"a", max_running=5))

    claimed = Counter(job_id.decode()[0] for job_id in w.claim(owned, 40).ids)

    assert claimed == {"a": 5, "b": 35}


def test_a_weight_is_shown_and_ends_with_1(world: World) -> None:
    w.enqueue(world, ["a"])

    assert (weigh(world, "g", 7), weigh(world, "g", 7)) == (True, False)
    assert world.partition.group(b"g").weight == 7
    assert list(snapshot(world)["managed"]) == [b"g"]
    assert (weigh(world, "g", 1), weigh(world, "g", 1)) == (True, False)
    assert world.partition.group(b"g").weight == 1
    assert snapshot(world)["managed"] == {}


def test_heavy_groups_that_wait_for_nothing_take_no_turns_of_others(world: World) -> None:
    owned = world.own()
    for name in "abc":
        w.enqueue(world, w.names(name, 40), name.encode())
    weigh(world, "a", 100)
    world.partition.run(produce.configure(b"a", hold=True))

    claimed = Counter(job_id.decode()[0] for job_id in w.claim(owned, 40).ids)

    assert claimed == {"b": 20, "c": 20}


def test_a_planted_weight_is_met_as_1(server_world: World) -> None:
    owned, key = server_world.own(), server_world.partition.key
    for name in "ab":
        w.enqueue(server_world, w.names(name, 20), name.encode())
    weigh(server_world, "a", 3)
    server_world.client.hset(key + b":g:a", "weight", "-7x")

    claimed = Counter(job_id.decode()[0] for job_id in w.claim(owned, 20).ids)

    assert claimed == {"a": 10, "b": 10}
    server_world.client.hset(key + b":g:a", "weight", "3")
