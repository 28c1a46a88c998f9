"""A pool of asyncio belongs to one event loop, in which its connections are."""

import asyncio
import gc
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from queuepool import AsyncQueuePool, InvalidInputError
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.testing import MemoryPool

REFUSED = "one AsyncQueuePool per event loop"


@pytest.fixture
def pool(redis_url: str, stage: str) -> AsyncQueuePool:
    return AsyncQueuePool(
        config=PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage=stage))
    )


async def add(pool: AsyncQueuePool, n: int = 1) -> int:
    """Enqueue jobs; returns how many."""
    for _ in range(n):
        await pool.enqueue("t", {}, partition_key="k")
    return n


@pytest.mark.filterwarnings("error")
def test_a_second_event_loop_is_refused(pool: AsyncQueuePool) -> None:
    async def end() -> None:
        await pool.close()

    with asyncio.Runner() as first:
        assert first.run(add(pool)) == 1
        for _ in range(2):
            with pytest.raises(InvalidInputError, match=REFUSED):
                asyncio.run(add(pool))
            with pytest.raises(InvalidInputError, match=REFUSED):
                asyncio.run(end())
        assert first.run(add(pool)) == 1
        first.run(end())
    gc.collect()


@pytest.mark.filterwarnings("error")
def test_of_loops_at_the_same_time_one_has_the_pool(pool: AsyncQueuePool) -> None:
    ready = Barrier(4)

    def use(_n: int) -> int:
        async def all_of_them() -> int:
            ready.wait(10)
            try:
                added = await add(pool, 20)
            except InvalidInputError as error:
                assert REFUSED in str(error)  # noqa: PT017 - the thread that has it raises nothing
                added = 0
            ready.wait(10)  # closed, it would be free for the next
            if added:
                await pool.close()
            return added

        return asyncio.run(all_of_them())

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(use, range(4))) == [0, 0, 0, 20]


@pytest.mark.filterwarnings("error")
def test_a_closed_pool_may_be_used_in_another_loop(pool: AsyncQueuePool) -> None:
    async def use() -> int:
        async with pool:
            return await add(pool)

    assert [asyncio.run(use()) for _ in range(3)] == [1, 1, 1]


@pytest.mark.filterwarnings("error")
def test_a_pool_outlives_an_event_loop_that_was_closed(pool: AsyncQueuePool) -> None:
    async def all_at_once() -> int:
        return sum(await asyncio.gather(*(add(pool) for _ in range(5))))

    assert [asyncio.run(all_at_once()) for _ in range(3)] == [5, 5, 5]
    asyncio.run(pool.close())
    assert asyncio.run(add(pool)) == 1
    asyncio.run(pool.close())
    gc.collect()


@pytest.mark.usefixtures("unraisable_is_dropped")  # what each cut-off call ends with
def test_calls_that_a_closed_loop_cut_off_leave_nothing_open(pool: AsyncQueuePool) -> None:
    opened = len(list(Path("/proc/self/fd").iterdir()))
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it would tell of each call that is cut off
    loop.run_until_complete(add(pool))
    calls = [loop.create_task(add(pool)) for _ in range(3)]
    loop.call_soon(loop.stop)
    loop.run_forever()  # one round: what they begin, without any reply
    assert not any(call.done() for call in calls)
    loop.close()

    assert asyncio.run(add(pool)) == 1
    calls.clear()
    gc.collect()
    assert asyncio.run(add(pool)) == 1
    asyncio.run(pool.close())
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def test_a_forked_child_has_an_event_loop_of_its_own(pool: AsyncQueuePool) -> None:
    with asyncio.Runner() as runner:
        runner.run(add(pool))
        child = os.fork()
        if not child:
            code = 1
            try:
                code = asyncio.run(add(pool)) - 1
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        runner.run(pool.close())


def test_the_memory_has_no_event_loop() -> None:
    pool = MemoryPool().asyncio()

    assert [asyncio.run(add(pool)) for _ in range(3)] == [1, 1, 1]
