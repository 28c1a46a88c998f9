"""A bulk call while slots leave: no chunk overtakes one ahead of it that was turned away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from queuepool import PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import SLOTS, slot_of
from queuepool.routing.topology import single
from queuepool.routing.views import TABLE, table_text
from queuepool.verbs.leader import verbs as lead

STAYS, LEAVES = [
    key for key in map("import-{}".format, range(99)) if slot_of(key.encode()) % 4 == 1
][:2]
_FROM, _TO = 1, 6


@pytest.fixture
def config(redis_url: str, stage: str) -> PoolConfig:
    return PoolConfig(topology=single(redis_url, 4), keyspace=Keyspace(stage))


@pytest.fixture
def stale(config: PoolConfig, redis_url: str) -> Iterator[QueuePool]:
    """A pool that has used the first route, and does not know that a slot has left."""
    with QueuePool(config=config) as leader, QueuePool(config=config) as made:
        for pool in (leader, made):
            pool.enqueue("t", {}, partition_key="first")
        losing, slot = leader.partition(_FROM), slot_of(LEAVES.encode())
        table = [slot % 4 for slot in range(SLOTS)]
        table[slot] = _TO
        fields = {"version": 3, "partitions": 8, "layout": TABLE, "slots": table_text(table)}
        losing.run(lead.turn_away(2, moves=True, told=0, since=1))
        with redis.Redis.from_url(redis_url) as client:
            client.hset(config.keyspace.system() + b":route", mapping=fields)
        losing.run(lead.turn_away(3, told=2, closing=[slot]))
        yield made


def _waiting(config: PoolConfig, redis_url: str, partition: int, group: str) -> list[str]:
    lane = config.keyspace.partition(partition) + b":q:2:" + group.encode()
    with redis.Redis.from_url(redis_url) as client:
        return [job_id.decode() for job_id in client.lrange(lane, 0, -1)]


def _rows(leaving: range) -> Iterator[dict[str, str]]:
    for n in range(1200):
        yield {"key": LEAVES if n in leaving else STAYS}


@pytest.mark.parametrize("leaving", [range(10, 11), range(250, 251), range(200, 400)])
def test_jobs_behind_a_chunk_that_is_turned_away_wait_for_it(
    stale: QueuePool, config: PoolConfig, redis_url: str, leaving: range
) -> None:
    results = stale.enqueue_many("t", _rows(leaving), partition_key=lambda row: row["key"])

    assert results.accepted == 1200
    ids = [result.job_id for result in results]
    assert _waiting(config, redis_url, _FROM, STAYS) == [
        i for n, i in enumerate(ids) if n not in leaving
    ]
    assert _waiting(config, redis_url, _TO, LEAVES) == [ids[n] for n in leaving]


def test_a_group_that_stays_is_not_turned_away_because_it_comes_in_many_chunks(
    stale: QueuePool, config: PoolConfig
) -> None:
    results = stale.enqueue_many("t", ({} for _ in range(1200)), partition_key=STAYS)

    assert results.accepted == 1200
    assert stale.config.topology.view.version == 1, "it made no detour"
