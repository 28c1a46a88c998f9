"""pool.limits: each limit at its home, whichever partition that is, sync and with asyncio."""

from __future__ import annotations

import asyncio

import pytest

from queuepool import InvalidInputError, Limit, LimitStatus
from queuepool.client.limits import UnknownLimitError, page_of_limits
from queuepool.routing.slots import home_of
from queuepool.testing import MemoryPool
from queuepool.verbs.limits import verbs as limit

NAMES = [f"account:{n}" for n in range(230)]


def filled(partitions: int = 7) -> MemoryPool:
    pool = MemoryPool(partitions)
    for name in NAMES:
        pool.limits.set(Limit(name, rate=5))
    return pool


def test_a_limit_is_kept_in_the_partition_of_its_name() -> None:
    pool = filled()

    for name in NAMES[:20]:
        number = home_of(name, 7)
        assert number == pool.producer.route(name).partition
        assert pool.partition(number).run(limit.find_limit(name)) is not None


def test_all_limits_are_listed_once_and_read_as_they_are_needed() -> None:
    pool = filled()

    listed = [status.name for status in pool.limits.list()]

    assert sorted(listed) == sorted(NAMES)
    assert listed == sorted(listed, key=lambda name: (home_of(name, 7), name))
    assert next(pool.limits.list()).name == listed[0]


@pytest.mark.parametrize("size", [1, 7, 50, 200])
def test_pages_of_any_size_make_up_the_list(size: int) -> None:
    pool = filled()
    found, token = list[LimitStatus](), ""
    while True:
        page, token = pool.limits.page(token, size)
        assert len(page) <= size
        found += page
        if not token:
            break

    assert found == list(pool.limits.list())


@pytest.mark.parametrize("token", ["x", "1", "-1.", "0.zz", "0.6", "9" * 40 + "."])
def test_a_token_of_another_origin_is_refused(token: str) -> None:
    pool = filled()

    with pytest.raises(InvalidInputError, match="next_page_token"):
        pool._network.do(page_of_limits(pool.config, token, 10))


def test_a_token_beyond_the_last_partition_is_the_end() -> None:
    pool = filled()

    assert pool._network.do(page_of_limits(pool.config, "900.", 10)) == ([], "")


def test_an_unknown_limit_is_told_by_its_name() -> None:
    limits = MemoryPool(3).limits

    assert limits.get("mial") is None
    for act in (limits.resume, limits.remove):
        with pytest.raises(UnknownLimitError, match="limit 'mial' is unknown"):
            act("mial")
    for act in (limits.pause, limits.resume, limits.remove):
        with pytest.raises(InvalidInputError, match="cannot be named"):
            act("no name")


def test_asyncio_does_the_same() -> None:
    pool = filled()

    async def use() -> list[str]:
        limits = pool.asyncio().limits
        assert await limits.set(Limit("more", concurrency=1))
        assert await limits.pause("more")
        paused = await limits.get("more")
        assert paused is not None
        assert paused.paused
        assert await limits.resume("more")
        assert await limits.remove("more")
        return [status.name async for status in limits.list()]

    assert sorted(asyncio.run(use())) == sorted(NAMES)


def test_jobs_that_wait_are_counted_in_all_pools_at_each_limit_that_they_name() -> None:
    pool = filled(3)
    for name in ("mail", "api"):
        pool.limits.set(Limit(name, rate=1))
    for n in range(12):  # spread over all partitions
        pool.enqueue("t", {"n": n}, partition_key=f"key {n}", limit="mail")
        pool.enqueue("t", {"n": n}, partition_key=f"key {n}", limit=("mail", "api"), pool="other")

    listed = {one.name: one for one in pool.limits.list()}

    assert (listed["mail"].parked, listed["api"].parked) == (24, 12)
    assert listed["mail"].parked_known
    assert listed[NAMES[0]].parked == 0
    assert pool.limits.get("api") == listed["api"]
    assert pool.limits.page()[0] == list(listed.values())[:100]
