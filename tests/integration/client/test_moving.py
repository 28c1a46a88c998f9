"""A route that changes on a real server: stale pools find their way within their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import redis

from queuepool import AsyncQueuePool, PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import SLOTS, slot_of
from queuepool.routing.topology import single
from queuepool.routing.views import TABLE, table_text
from queuepool.verbs.leader import verbs as lead

KEY = "import-42"  # of partition 1 of 4


@pytest.fixture
def config(redis_url: str, stage: str) -> PoolConfig:
    return PoolConfig(topology=single(redis_url, 4), keyspace=Keyspace(stage))


@pytest.fixture
def pool(config: PoolConfig) -> Iterator[QueuePool]:
    """A pool that has used the first route."""
    with QueuePool(config=config) as made:
        assert made.enqueue("t", {}, partition_key=KEY).partition == 1
        yield made


def move(pool: QueuePool, redis_url: str, to: int, version: int) -> None:
    """Do what a leader will do, for jobs of one key, whose partition it tells."""
    table = [slot % 4 for slot in range(SLOTS)]
    losing = pool.group(KEY).partition
    table[slot_of(KEY.encode())] = to
    fields = {"version": version, "partitions": 8, "layout": TABLE, "slots": table_text(table)}
    with redis.Redis.from_url(redis_url) as client:
        client.hset(pool.config.keyspace.system() + b":route", mapping=fields)
    assert losing.run(lead.turn_away(version)) == version


def test_a_stale_pool_finds_its_way_in_bulk_and_alone(
    pool: QueuePool, config: PoolConfig, redis_url: str
) -> None:
    def rows() -> Iterator[dict[str, int]]:
        for n in range(2000):
            if n == 700:
                move(pool, redis_url, 6, 2)
            yield {"n": n}

    results = pool.enqueue_many("t", rows(), partition_key=KEY)

    assert results.accepted == 2000
    places = [result.partition for result in results]
    assert places == sorted(places), "the order of a group is kept"
    assert set(places) == {1, 6}
    assert pool.enqueue("t", {}, partition_key=KEY).partition == 6
    assert pool.group(KEY).status().total == places.count(6) + 1
    with QueuePool(config=config) as later:
        assert later.enqueue("t", {}, partition_key=KEY).partition == 6
        assert len(later.partitions()) == 8


def test_an_asyncio_pool_does_as_well(pool: QueuePool, config: PoolConfig, redis_url: str) -> None:
    async def run() -> None:
        async with AsyncQueuePool(config=config) as aio:
            job = await aio.enqueue("t", {}, partition_key=KEY)
            move(pool, redis_url, 5, 2)
            assert (await aio.enqueue("t", {}, partition_key=KEY)).partition == 5
            assert (await aio.cancel(job.job_id)) == "ready", "what stayed is found where it is"
            assert (await aio.group(KEY).status()).total == 1

    asyncio.run(run())


def test_the_first_job_of_a_pool_does_not_go_where_its_slot_was(
    pool: QueuePool, config: PoolConfig, redis_url: str
) -> None:
    with QueuePool(config=config) as leader:
        leader.enqueue("t", {}, partition_key=KEY)
        move(leader, redis_url, 6, 2)  # tells the pools that there are: only the default one

    job = pool.enqueue("t", {}, partition_key=KEY, pool="video")

    assert job.partition == 6
    assert pool.enqueue_many("t", [{}] * 500, partition_key=KEY, pool="video")[0].partition == 6
    assert [place.name for place in pool.places(1)] == ["1"]


def test_the_first_chunk_of_a_bulk_of_a_pool_goes_where_its_slot_is(
    pool: QueuePool, config: PoolConfig, redis_url: str
) -> None:
    with QueuePool(config=config) as leader:
        leader.enqueue("t", {}, partition_key=KEY)
        move(leader, redis_url, 6, 2)

    async def add() -> int:
        async with AsyncQueuePool(config=config) as informed:
            return (await informed.enqueue("t", {}, partition_key=KEY, pool="gpu")).partition

    results = pool.enqueue_many(
        "t", [{"n": n} for n in range(900)], partition_key=KEY, pool="video"
    )

    assert {result.partition for result in results} == {6}
    assert results.accepted == 900
    assert asyncio.run(add()) == 6
