"""`queuepool audit` of what a producer of an earlier release writes, which knows no holds."""

from __future__ import annotations

import redis

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from tests.shell import Shell

KEY = "held"


def add_as_earlier_releases_did(pool: QueuePool, redis_url: str) -> None:
    """Add a second job to the group of a first one: counted as ready, and not as held."""
    partition = pool.partition(pool.producer.route(KEY).partition)
    base = partition.key
    with redis.Redis.from_url(redis_url) as server:
        [(_, body)] = server.hgetall(base + b":j").items()
        [group] = server.keys(base + b":g:*")
        [lane] = server.keys(base + b":q:*")
        server.hset(base + b":j", "older", body)
        server.rpush(lane, "older")
        for name in ("total", "left"):
            server.hincrby(group, name, 1)
        tier = lane.removeprefix(base + b":q:").split(b":")[0].decode()
        for name, more in ((f"r{tier}", 1), ("enqueued", 1), ("bytes", len(body))):
            server.hincrby(base + b":c", name, more)


def test_jobs_of_an_earlier_release_in_a_held_group_are_explained(
    shell: Shell, pool: QueuePool, redis_url: str
) -> None:
    pool.enqueue("note", {}, partition_key=KEY)
    assert pool.group(KEY).hold()
    assert shell.run("audit") == Exit.OK
    add_as_earlier_releases_did(pool, redis_url)

    assert shell.run("audit") == Exit.FAILED
    assert "1 miscounted" in shell.out
    assert "producers of an earlier release" in shell.err

    pool.group(KEY).release()
    assert shell.run("audit") == Exit.OK, shell.out


def test_other_findings_are_still_to_be_reported(
    shell: Shell, pool: QueuePool, redis_url: str
) -> None:
    job = pool.enqueue("note", {}, partition_key=KEY)
    base = pool.partition(job.partition).key
    with redis.Redis.from_url(redis_url) as server:
        assert server.delete(*server.keys(base + b":q:*")) == 1

    assert shell.run("audit") == Exit.FAILED
    assert shell.err.endswith("Please report how it happened.\n")
