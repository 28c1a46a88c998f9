"""Groups whose keys are too long to be their names: found by the digests that lists show."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from queuepool import PoolConfig, QueuePool
from queuepool.errors import InvalidInputError
from queuepool.models.tenants import key_in
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import group_of
from queuepool.routing.topology import single
from queuepool.verbs.acl import ROLES
from tests.integration.client.conftest import MakePool

KEYS = ["z" * length for length in range(65, 77)]


@pytest.fixture
def pool(make_pool: MakePool, redis_url: str) -> Any:
    return make_pool(redis_url, 4)


def digest_of(key: str) -> bytes:
    return key_in(group_of(key.encode()))


@pytest.mark.parametrize("tenant", [None, "acme"])
@pytest.mark.parametrize("delay_s", [0, 60])
def test_every_group_is_reached_by_its_digest(pool: Any, tenant: str | None, delay_s: int) -> None:
    for key in KEYS:
        pool.enqueue("work", {}, partition_key=key, tenant=tenant, delay_s=delay_s)

    for key in KEYS:
        group = pool.group(digest_of(key), tenant=tenant)
        assert group.status().total == 1, key
        assert group.hold(), key
        assert pool.group(key, tenant=tenant).status().held_ms is not None
        assert group.release()
        assert group.cancel() == (1, 0)
        assert pool.group(key, tenant=tenant).status().cancelled == 1


def test_a_group_in_another_pool_and_one_whose_jobs_have_ended(pool: Any) -> None:
    for key in KEYS:
        pool.enqueue("work", {}, partition_key=key, pool="video")
        assert pool.group(digest_of(key)).status().ready == 1
        pool.group(key).cancel()
        assert pool.group(digest_of(key)).status().cancelled == 1


def test_a_spread_group_is_reached_whole(pool: Any) -> None:
    for key in KEYS:
        pool.enqueue_many("work", [{}] * 8, partition_key=key, spread=2)
        group = pool.group(digest_of(key))
        assert (group.status().total, group.status().spread) == (8, 2)
        assert group.cancel() == (8, 0)


def test_a_key_of_as_many_bytes_that_are_no_text_stays_a_key(pool: Any) -> None:
    for number in range(8):
        key = bytes([255, number]) * 8
        with pytest.raises(InvalidInputError):
            pool.group(key).hold()
        pool.enqueue("work", {}, partition_key=key)
        assert pool.group(key).status().total == 1


def test_jobs_are_found_by_the_digest_of_their_group(redis_url: str, stage: str) -> None:
    config = PoolConfig(topology=single(redis_url, 4), keyspace=Keyspace(stage))
    with QueuePool(config=config) as pool:
        for key in KEYS:
            pool.enqueue("work", {}, partition_key=key, job_id=f"job-{len(key)}", delay_s=60)
            pool.enqueue_many("work", [{}] * 6, partition_key=key, spread=2)

        for key in KEYS:
            digest, job_id = digest_of(key), f"job-{len(key)}"
            assert pool.group(digest).partition.number == pool.group(key).partition.number
            assert pool.inspect.count("delayed", partition_key=digest) == 1
            assert pool.inspect.count("ready", partition_key=digest) == 6
            assert pool.status(job_id, partition_key=digest).state == "delayed"
            assert pool.inspect.run(job_id, partition_key=digest) == "delayed"
            pool.cancel(job_id, partition_key=digest)
            assert pool.status(job_id).state == "cancelled"


def test_a_producer_that_may_not_look_for_jobs_reaches_its_groups_all_the_same(
    make_pool: MakePool, redis_url: str, stage: str
) -> None:
    user, rules = f"app-{stage}", ROLES["producer"].rules(Keyspace(stage, "main"))
    with redis.Redis.from_url(redis_url) as admin:
        admin.execute_command("ACL", "SETUSER", user, "on", ">secret", *rules)
        try:
            pool = make_pool(redis_url.replace("//", f"//{user}:secret@"), 4)
            for key in KEYS:
                pool.enqueue("work", {}, partition_key=key)
                assert pool.group(digest_of(key)).status().total == 1
        finally:
            admin.execute_command("ACL", "DELUSER", user)
