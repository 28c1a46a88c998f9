"""How many jobs wait for a limit, where not all of them can be counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis

from queuepool import Job, Limit, PoolConfig, QueuePool
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import build


def test_beyond_the_gates_that_are_read_a_count_is_a_lower_bound(pool: QueuePool) -> None:
    pool.limits.set(Limit("mail", rate=1))
    jobs = [Job({"n": n}, limit=("mail", f"account:{n}")) for n in range(2_600)]
    pool.enqueue_many("t", jobs, partition_key="k")

    found = pool.limits.get("mail")

    assert found is not None
    assert not found.parked_known
    assert 1_000 <= found.parked < 2_600


def test_a_server_that_is_away_hides_its_own_jobs_only(
    redis_url: str, stage: str, server_factory: Callable[..., EmbeddedServer], tmp_path: Path
) -> None:
    second = server_factory(tmp_path / "second")
    placement = "0-1=b,2=a" if home_of("mail", 3) == 2 else "0-1=a,2=b"  # the limit's home stays
    topology = build({"a": redis_url, "b": second.url}, 3, placement)
    config = PoolConfig(topology=topology, keyspace=Keyspace(stage), retry_for_s=1.0)
    with QueuePool(config=config) as pool:
        pool.limits.set(Limit("mail", rate=1))
        for n in range(30):
            pool.enqueue("t", {"n": n}, partition_key=f"key {n}", limit="mail")
        whole = pool.limits.get("mail")
        second.stop()

        found = pool.limits.get("mail")

    assert whole is not None
    assert (whole.parked, whole.parked_known) == (30, True)
    assert found is not None
    assert not found.parked_known
    assert 0 < found.parked < 30


@pytest.mark.parametrize("planted", ["-5", "x", "1e400", "0.5"])
def test_a_count_that_somebody_wrote_by_hand_is_never_negative(
    planted: str, pool: QueuePool, redis_url: str
) -> None:
    pool.limits.set(Limit("mail", rate=1))
    pool.enqueue_many("t", [{}] * 3, partition_key="k", limit=("api", "mail"))
    with Redis.from_url(redis_url) as server:
        server.hset(pool.partition(0).key + b":gt", "mail", planted)

    found = pool.limits.get("mail")

    assert found is not None
    assert (found.parked, found.parked_known) == (3, True)


def test_where_gates_cannot_be_read_more_jobs_may_wait(pool: QueuePool, redis_url: str) -> None:
    pool.limits.set(Limit("mail", rate=1))
    pool.enqueue_many("t", [{}] * 3, partition_key="k", limit="mail")
    with Redis.from_url(redis_url) as server:
        server.delete(pool.partition(0).key + b":gt")
        server.set(pool.partition(0).key + b":gt", "no hash")

    found = pool.limits.get("mail")

    assert found is not None
    assert (found.parked, found.parked_known) == (0, False)
