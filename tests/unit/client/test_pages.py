"""Pages of jobs and batches: a token says from where the next one goes on, in every pool."""

from collections.abc import Callable
from typing import Any

import pytest

from queuepool import After, InvalidInputError, JobState, Registry
from queuepool.client.pages import LOOKED, batches_page, jobs_page, read_token, token_of
from queuepool.models.finding import JobFilter
from queuepool.testing import MemoryPool


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()

    @registry.task
    def work() -> None: ...

    @registry.task(pool="video")
    def encode() -> None: ...

    return MemoryPool(3, registry=registry)


def all_of(pool: MemoryPool, steps: Callable[[str], Any]) -> list[Any]:
    """Return what all pages have."""
    found, token = list[Any](), ""
    for _ in range(200):
        some, token = pool.carry_out(steps(token))
        found += some
        if not token:
            return found
    raise AssertionError("it never ends")


def found(pool: MemoryPool, size: int, **where: Any) -> list[str]:
    filter_ = JobFilter(**where)
    jobs = all_of(
        pool,
        lambda token: jobs_page(
            pool.config, filter_, token=token, size=size, partition=None, pool=None
        ),
    )
    return [job.job_id for job in jobs]


@pytest.mark.parametrize("size", [1, 2, 7, 500])
@pytest.mark.parametrize("newest", [True, False])
def test_each_job_of_each_pool_comes_once(pool: MemoryPool, size: int, newest: bool) -> None:
    ids = [
        pool.enqueue(task, {}, partition_key=f"k{n}", delay_s=60 + n).job_id
        for n in range(12)
        for task in ("work", "encode")
    ]

    assert sorted(found(pool, size, state=JobState.DELAYED, newest=newest)) == sorted(ids)
    assert sorted(found(pool, size)) == sorted(ids)
    of_task = found(pool, size, state=JobState.DELAYED, task="encode")
    assert len(of_task) == 12


def test_jobs_of_one_place_come_in_the_order_of_time(pool: MemoryPool) -> None:
    ids = [pool.enqueue("work", {}, partition_key="k", delay_s=60 + n).job_id for n in range(9)]

    assert found(pool, 2, state=JobState.DELAYED) == ids[::-1]
    assert found(pool, 2, state=JobState.DELAYED, newest=False) == ids


@pytest.mark.parametrize("size", [1, 2, 500])
def test_each_batch_comes_once(pool: MemoryPool, size: int) -> None:
    names = [
        pool.enqueue_many("work", [{}], partition_key=f"k{n}", then=After("work")).batch.name
        for n in range(9)
    ]

    lines = all_of(pool, lambda token: batches_page(pool.config, token=token, size=size))

    assert sorted(line.name for line in lines) == sorted(names)


def test_a_page_goes_on_when_its_pool_is_gone(pool: MemoryPool) -> None:
    job = pool.enqueue("work", {}, partition_key="k", delay_s=60)
    token = token_of((0, "gone"), b"0;1:x")

    page = jobs_page(pool.config, JobFilter(), token=token, size=LOOKED, partition=None, pool=None)
    found_, following = pool.carry_out(page)

    assert following == ""
    assert [one.job_id for one in found_] == [job.job_id] * (job.partition > 0)


@pytest.mark.parametrize("token", ["?", "MA==", "é", "A" * 2000, token_of((1, "a b"), b"")])
def test_another_text_is_no_token(token: str) -> None:
    with pytest.raises(InvalidInputError, match="unchanged"):
        read_token(token)


@pytest.mark.parametrize("size", [1, 4, 500])
def test_pages_of_a_spread_group_have_all_its_parts(pool: MemoryPool, size: int) -> None:
    rows = [dict[str, int]() for _ in range(30)]
    ids = [one.job_id for one in pool.enqueue_many("work", rows, partition_key="k", spread=8)]
    pool.enqueue("work", {}, partition_key="other")
    route = pool.producer.route("k")  # eight parts in three partitions
    where = JobFilter(state=JobState.READY, group=route.group)

    jobs = all_of(
        pool,
        lambda token: jobs_page(
            pool.config, where, token=token, size=size, partition=None, pool=None, route=route
        ),
    )

    assert sorted(job.job_id for job in jobs) == sorted(ids)
