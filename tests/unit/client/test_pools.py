"""Which pool a job goes to, and where it is looked for."""

from __future__ import annotations

import asyncio

import pytest

from queuepool import InvalidInputError, Job, JobState, Registry
from queuepool.errors import UnavailableError
from queuepool.testing import MemoryPool, run_jobs

KEY = "album-7"


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()
    registry.task(name="plain")(lambda: "plain")
    registry.task(name="encode", pool="video")(lambda: "encoded")
    return MemoryPool(partitions=3, registry=registry)


def in_pools(pool: MemoryPool) -> dict[str, int]:
    """Return the ready jobs of each pool, of all partitions together."""
    found: dict[str, int] = {}
    for place in pool.places():
        found[place.pool] = found.get(place.pool, 0) + place.observe().backlog
    return {name: jobs for name, jobs in found.items() if jobs}


def test_a_job_goes_to_the_pool_of_its_task(pool: MemoryPool) -> None:
    pool.enqueue("plain", {}, partition_key=KEY)
    pool.enqueue("encode", {}, partition_key=KEY)

    assert in_pools(pool) == {"default": 1, "video": 1}


def test_the_job_decides_before_the_call_and_the_call_before_the_task(pool: MemoryPool) -> None:
    pool.enqueue("encode", {}, partition_key=KEY, pool="cpu")
    pool.enqueue("unknown", {}, partition_key=KEY, pool="cpu")
    pool.enqueue(Job({}, task="encode", pool="io"), partition_key=KEY, pool="cpu")
    pool.enqueue("encode", {}, partition_key=KEY, pool="default")

    assert in_pools(pool) == {"default": 1, "cpu": 2, "io": 1}


def test_one_bulk_call_may_fill_several_pools(pool: MemoryPool) -> None:
    jobs = [
        Job({}, task=task, partition_key=f"{KEY}-{n % 5}", pool="io" if n % 7 == 0 else None)
        for n, task in enumerate(["plain", "encode"] * 150)
    ]

    results = pool.enqueue_many(jobs)

    assert (results.accepted, in_pools(pool)) == (300, {"default": 128, "video": 129, "io": 43})
    assert [results[n].job_status().pool for n in (0, 1, 2)] == ["io", "video", None]
    done = run_jobs(pool)
    assert (done.done, in_pools(pool)) == (300, {})
    assert results[1].result() == "encoded"


def test_a_bulk_of_one_task_goes_to_its_pool(pool: MemoryPool) -> None:
    assert pool.enqueue_many("encode", [{}] * 250, partition_key=KEY).accepted == 250
    assert pool.enqueue_many("encode", [{}] * 250, partition_key=KEY, pool="cpu").accepted == 250
    assert in_pools(pool) == {"video": 250, "cpu": 250}


@pytest.mark.parametrize("name", ["", "Video", "a b", "}{", 7, "a" * 33])
def test_a_pool_that_cannot_be_is_refused(pool: MemoryPool, name: str) -> None:
    with pytest.raises(InvalidInputError, match="use a name of 1 to 32"):
        pool.enqueue("plain", {}, partition_key=KEY, pool=name)
    with pytest.raises(InvalidInputError, match="use a name of 1 to 32"):
        pool.enqueue_many("plain", [Job({}, pool=name)], partition_key=KEY)

    assert in_pools(pool) == {}


def test_a_job_is_found_in_whatever_pool_it_is(pool: MemoryPool) -> None:
    job = pool.enqueue("encode", {}, partition_key=KEY, pool="cpu", job_id="mine")

    assert pool.status("mine").pool == pool.status("mine", partition_key=KEY).pool == "cpu"
    assert job.job_status().pool == "cpu"
    assert pool.cancel("mine") is JobState.READY
    assert pool.cancel("none") is JobState.UNKNOWN
    assert pool.status("none").state is JobState.UNKNOWN


def test_a_group_is_the_sum_of_its_pools(pool: MemoryPool) -> None:
    for name in ("default", "video", "video", "cpu"):
        pool.enqueue("plain", {}, partition_key=KEY, pool=name)
    group = pool.group(KEY)

    assert (group.status().total, group.status().ready) == (4, 4)
    assert group.hold()
    assert run_jobs(pool).done == 0
    assert (group.status().held_ms is not None, group.release()) == (True, True)
    assert group.configure(serial=True)
    assert group.status().serial
    pool.enqueue("plain", {}, partition_key=KEY, pool="video", delay_s=600)
    run_jobs(pool)
    assert (group.status().done, group.status().left, group.status().finished_ms) == (4, 1, None)
    assert group.cancel() == (1, 0)
    ended = group.wait(timeout_s=5, show=False)
    assert (ended.total, ended.done, ended.cancelled) == (5, 4, 1)


def test_a_group_has_ended_only_if_no_job_came_while_its_pools_were_read(pool: MemoryPool) -> None:
    pool.enqueue("plain", {}, partition_key=KEY, pool="video")
    run_jobs(pool)
    group, readings = pool.group(KEY), list[int]()
    original = pool.server.run

    def run(key: bytes, verbs: object) -> object:
        replies = original(key, verbs)  # type: ignore[arg-type]
        if b"{video}" in key:
            readings.append(1)
            if len(readings) == 1:  # after the default pool was read
                pool.enqueue("plain", {}, partition_key=KEY)
        return replies

    pool.server.run = run  # type: ignore[method-assign,assignment]

    status = None

    def on_progress(seen: object) -> None:
        nonlocal status
        status = seen
        run_jobs(pool)

    ended = group.wait(timeout_s=5, show=False, on_progress=on_progress)

    assert (ended.total, ended.done) == (2, 2)


def test_a_hold_is_of_one_pool_or_of_all(pool: MemoryPool) -> None:
    pool.enqueue("plain", {}, partition_key=KEY)
    pool.enqueue("encode", {}, partition_key=KEY)

    assert pool.hold(pool="video") == 1
    assert run_jobs(pool).done == 1
    assert pool.hold() == 3
    assert (pool.release(pool="video"), run_jobs(pool).done, pool.release()) == (1, 1, 3)
    with pytest.raises(InvalidInputError, match="known pools: default, video"):
        pool.hold(pool="vidoe")


def test_a_partition_is_told_of_a_pool_once(pool: MemoryPool) -> None:
    asked: list[str] = []
    original = pool.server.run_many

    def run_many(calls: object) -> object:
        asked.extend(verb.script for _key, verb in calls)  # type: ignore[attr-defined]
        return original(calls)  # type: ignore[arg-type]

    pool.server.run_many = run_many  # type: ignore[method-assign,assignment]
    for _ in range(3):
        pool.enqueue("encode", {}, partition_key=KEY)
        pool.enqueue("plain", {}, partition_key=KEY)

    assert asked.count("pools") == 1
    assert asked.count("enqueue") == 6


def test_a_job_is_not_enqueued_before_its_pool_is_known(pool: MemoryPool) -> None:
    original = pool.server.run_many

    def run_many(calls: object) -> object:
        if any(verb.script == "pools" for _key, verb in calls):  # type: ignore[attr-defined]
            raise UnavailableError("gone")
        return original(calls)  # type: ignore[arg-type]

    pool.server.run_many = run_many  # type: ignore[method-assign,assignment]
    with pytest.raises(UnavailableError):
        pool.enqueue("encode", {}, partition_key=KEY)

    pool.server.run_many = original  # type: ignore[method-assign]
    assert in_pools(pool) == {}


def test_the_asyncio_pool_does_the_same(pool: MemoryPool) -> None:
    async def main() -> None:
        twin = pool.asyncio()
        job = await twin.enqueue("encode", {}, partition_key=KEY)
        await twin.enqueue_many("plain", [{}] * 3, partition_key=KEY, pool="io")
        assert (await job.job_status()).pool == "video"
        assert (await twin.group(KEY).status()).total == 4
        assert await twin.hold(pool="io") == 1
        assert await twin.release() == 1

    asyncio.run(main())

    assert in_pools(pool) == {"video": 1, "io": 3}
