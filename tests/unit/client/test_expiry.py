"""Jobs that expire, as applications use them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queuepool import EnqueueStatus, InvalidInputError, Job, JobExpired, JobState, Registry
from queuepool.testing import MemoryPool, run_jobs

KEY = "news"


def test_a_job_that_did_not_start_in_time_never_does(pool: MemoryPool, registry: Registry) -> None:
    seen: list[int] = []

    @registry.task
    def see(n: int) -> None:
        seen.append(n)

    late = pool.enqueue(see.job(n=1), partition_key=KEY, expires_s=60)
    pool.enqueue(see.job(n=2), partition_key=KEY)
    pool.clock.advance(61)
    early = pool.enqueue(see.job(n=3).with_options(expires_s=0.5), partition_key=KEY, expires_s=60)

    assert run_jobs(pool).done == 2

    assert seen == [2, 3]
    assert late.status().state is JobState.EXPIRED
    with pytest.raises(JobExpired, match="did not start"):
        late.result()
    assert early.status().state is JobState.DONE
    group = pool.group(KEY).wait(show=False)
    assert (group.total, group.done, group.expired) == (3, 2, 1)


def test_rows_and_the_asyncio_pool_take_it_as_well(pool: MemoryPool) -> None:
    async def main() -> None:
        aio = pool.asyncio()
        rows: list[Any] = [{}, Job({}, expires_s=100)]
        results = await aio.enqueue_many("t", rows, partition_key=KEY, expires_s=10)
        assert [r.status for r in results] == [EnqueueStatus.ACCEPTED] * 2

    asyncio.run(main())

    now_ms = int(pool.clock() * 1000)
    expiry = pool.server.data(pool.partition(0).key).wishes.expire_ms
    assert sorted(ms - now_ms for ms in expiry.values()) == [10_000, 100_000]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 367 * 86_400, "1", True])
def test_what_is_no_time_is_refused(pool: MemoryPool, seconds: Any) -> None:
    with pytest.raises(InvalidInputError, match="expires_s"):
        pool.enqueue("t", {}, partition_key=KEY, expires_s=seconds)
    with pytest.raises(InvalidInputError, match="expires_s"):
        pool.enqueue_many("t", [Job({}, expires_s=seconds)], partition_key=KEY)

    assert pool.group(KEY).status().total == 0
