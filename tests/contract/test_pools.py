"""A partition knows which pools it has; each is a keyspace of its own."""

from dataclasses import replace

import pytest

from queuepool.errors import InvalidInputError, MovedError
from queuepool.models.places import MAX_POOLS
from queuepool.partitions.partition import Partition
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.producer import pools
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World


def beside(world: World) -> Partition:
    """Return another pool of the partition."""
    key = world.partition.key.replace(b"}/", b"}~{video}/")
    assert key != world.partition.key
    return replace(world.partition, key=key, pool="video")


def test_to_look_adds_none(world: World) -> None:
    assert world.partition.pools() == ()
    assert world.partition.pools() == ()


def test_pools_are_added_once(world: World) -> None:
    assert world.partition.run(pools.add("video")) == ("video",)
    assert world.partition.run(pools.add("cpu")) == ("cpu", "video")
    assert world.partition.run(pools.add("video")) == ("cpu", "video")
    assert world.partition.pools() == ("cpu", "video")


def test_there_are_at_most_so_many(world: World) -> None:
    for n in range(MAX_POOLS):
        world.partition.run(pools.add(f"p{n}"))

    with pytest.raises(InvalidInputError, match="at most 15 pools besides the default one"):
        world.partition.run(pools.add("more"))

    assert len(world.partition.pools()) == MAX_POOLS
    assert "p3" in world.partition.run(pools.add("p3"))


def test_names_that_no_pool_may_have_are_not_told(server_world: World) -> None:
    server_world.client.hset(server_world.partition.key + b":pl", "\xff\n", "1")

    assert server_world.partition.run(pools.add("video")) == ("video",)


def test_a_pool_shares_nothing_with_another(world: World) -> None:
    video = beside(world)
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    video.run(
        produce.enqueue([2, b"g", 0, 1, b"a", w.tail(b"g")], [], jobs=1, size_bytes=40, **w.LIMITS)
    )

    assert len(w.claim(owned).ids) == 2
    assert (video.observe().backlog, video.observe().owner) == (1, None)
    assert (world.partition.observe().backlog, video.group(b"g").total) == (0, 1)


def test_who_routes_by_a_version_that_is_too_old_adds_none(world: World) -> None:
    world.partition.run(pools.add("cpu", 1))
    world.partition.run(lead.turn_away(5))

    for pool in ("video", "cpu"):
        with pytest.raises(MovedError) as raised:
            world.partition.run(pools.add(pool, 4))
        assert raised.value.version == 5
    assert world.partition.pools() == ("cpu",)

    assert world.partition.run(pools.add("video", 5)) == ("cpu", "video")
    assert world.partition.run(pools.probe()) == ("cpu", "video")
