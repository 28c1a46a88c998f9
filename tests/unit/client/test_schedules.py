"""pool.schedules, sync and asyncio, on a pool in memory."""

from __future__ import annotations

import asyncio

import pytest

from queuepool import InvalidInputError, Registry, Schedule
from queuepool.client.schedules import Schedules, UnknownScheduleError, job_of
from queuepool.testing import MemoryPool

registry = Registry()


@registry.task(tier="high", unique=("account",), limit="mail:{account}", pool="video")
def report(account: str, pages: int = 1) -> str:
    return account * pages


@registry.task
def plain(x: int) -> int:
    return x


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(registry=registry)


def only(schedules: Schedules) -> Schedule:
    (status,) = schedules.list()
    assert status.schedule is not None
    return status.schedule


def test_it_is_set_once_however_often_an_application_starts(pool: MemoryPool) -> None:
    nightly = Schedule("nightly", plain, {"x": 1}, cron="0 3 * * *")

    assert [pool.schedules.set(nightly) for _ in range(3)] == [True, False, False]
    assert pool.schedules.set(Schedule("nightly", plain, {"x": 2}, cron="0 3 * * *"))
    assert only(pool.schedules).payload == {"x": 2}


def test_what_the_task_declares_is_stored_for_who_fires_it(pool: MemoryPool) -> None:
    pool.schedules.set(Schedule("s", report, {"account": "7"}, every="1h"))

    stored = only(pool.schedules)
    assert (stored.tier, stored.pool, stored.limit) == ("high", "video", ("mail:7",))
    assert stored.unique == b'["report",{"account":"7"}]'
    elsewhere = MemoryPool(registry=Registry()).producer
    here = job_of(pool.producer, Schedule("s", report, {"account": "7"}, every=60), "s:1")
    there = job_of(elsewhere, stored, "s:1")
    assert (there.runs, there.wishes, there.pool) == (here.runs, here.wishes, here.pool)


def test_what_enqueue_refuses_is_refused_when_it_is_set(pool: MemoryPool) -> None:
    for wrong in (
        Schedule("s", plain, {"y": 1}, every=60),
        Schedule("s", "unknown", {"x": float("nan")}, every=60),
        Schedule("s", "unknown", {"x": object()}, every=60),
        Schedule("s", plain, {"x": 1}, every=60, tier="top"),
        Schedule("s", plain, {"x": 1}, every=60, partition_key="k" * 10_000),
        Schedule("s", "unknown", {"x": "x" * 5000}, every=60),
        Schedule("s", "unknown", {"x": 1}, every=60, unique_until="start"),
        Schedule("s", plain, {"x": 1}, every=60, timezone="Europe/Berlin"),
    ):
        with pytest.raises(InvalidInputError):
            pool.schedules.set(wrong)
    assert pool.schedules.list() == []


def test_it_is_paused_resumed_and_removed(pool: MemoryPool) -> None:
    pool.schedules.set(Schedule("s", plain, {"x": 1}, every=60))

    assert (pool.schedules.pause("s"), pool.schedules.pause("s")) == (True, False)
    status = pool.schedules.get("s")
    assert status is not None
    assert status.paused_ms > 0
    assert (pool.schedules.resume("s"), pool.schedules.resume("s")) == (True, False)
    assert (pool.schedules.remove("s"), pool.schedules.remove("s")) == (True, False)
    assert pool.schedules.get("s") is None


def test_an_unknown_name_says_so(pool: MemoryPool) -> None:
    for use in (pool.schedules.pause, pool.schedules.resume, pool.schedules.run):
        with pytest.raises(UnknownScheduleError, match="no schedule 'none'"):
            use("none")
    with pytest.raises(InvalidInputError, match="cannot be named"):
        pool.schedules.get("a b")


def test_run_enqueues_its_job_now(pool: MemoryPool) -> None:
    pool.schedules.set(Schedule("s", plain, {"x": 1}, every=60, partition_key="k"))
    pool.schedules.pause("s")

    first, second = pool.schedules.run("s"), pool.schedules.run("s")

    assert first.status == second.status == "accepted"
    assert first.job_id.startswith("s:run-")
    assert first.job_id != second.job_id
    assert pool.status(first.job_id, partition_key="k").task == "plain"


def test_the_methods_for_asyncio_are_the_same(pool: MemoryPool) -> None:
    async def use() -> None:
        async with pool.asyncio() as twin:
            schedules = twin.schedules
            assert await schedules.set(Schedule("s", plain, {"x": 1}, every=60))
            assert not await schedules.set(Schedule("s", plain, {"x": 1}, every=60))
            assert [each.name for each in await schedules.list()] == ["s"]
            assert await schedules.pause("s")
            assert await schedules.resume("s")
            assert (await schedules.run("s")).status == "accepted"
            assert await schedules.get("s") is not None
            assert await schedules.remove("s")

    asyncio.run(use())
