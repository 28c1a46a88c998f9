"""Threads and tasks that are struck during a call: no connection is lost, no reply goes astray."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queuepool import AsyncQueuePool, EnqueueStatus, JobTimeoutError, PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.servers.aio import AsyncServer
from queuepool.servers.sync import Server
from queuepool.verbs.producer import verbs as produce
from tests.integration.client.conftest import run_all
from tests.striking import Striker, Struck, struck_at
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("unraisable_is_dropped")
OURS_AND_THE_CLIENTS = ("/queuepool/servers/", "/redis/")
JOBS = 12


class Known:
    """Jobs whose groups are their ids: whose reply it is can be seen in it."""

    def __init__(self, url: str, stage: str) -> None:
        config = PoolConfig(topology=single(url, 1), keyspace=Keyspace(stage=stage))
        self.pool = QueuePool(config=config)
        self.key = config.keyspace.partition(0)
        for n in range(JOBS):
            self.pool.enqueue("t", {}, partition_key=f"job-{n}", job_id=f"job-{n}")

    def check(self, server: Server, n: int) -> None:
        """Ask for one job, and get that one."""
        (reply,) = server.run(self.key, [self.verb(n)])
        assert self.verb(n).read(reply).group == f"job-{n % JOBS}".encode()

    def verb(self, n: int) -> Any:
        return produce.status(f"job-{n % JOBS}", 0)


@pytest.fixture
def known(redis_url: str, stage: str) -> Iterator[Known]:
    made = Known(redis_url, stage)
    yield made
    made.pool.close()


def usable_at_once(server: Server, limit: int) -> None:
    """Borrow every connection that there may be; each answers."""
    links = [server.borrow() for _ in range(limit)]
    for link in links:
        link.send(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n")
    assert [link.read() for link in links] == [b"hi"] * limit
    for link in links:
        server.connections.give_back(link)


def struck_everywhere(
    act: Callable[[], object], after: Callable[[int], object], *, stride: int = 7
) -> int:
    """Strike an action at every so many-th step; returns how often it was struck."""
    step = struck = 0
    while True:
        try:
            reached, _ = struck_at(step, act, files=OURS_AND_THE_CLIENTS)
        except Struck:
            struck += 1
        else:
            if not reached:
                return struck
        after(step)
        step += stride


@pytest.mark.parametrize("fresh", [True, False], ids=["new connection", "used connection"])
def test_wherever_a_call_is_struck_every_connection_is_usable(
    redis_url: str, known: Known, fresh: bool
) -> None:
    server = Server(redis_url, max_connections=3)

    def act() -> None:
        if fresh:  # no one holds one, so each call makes one
            for link in [server.borrow() for _ in range(3)]:
                link.drop()
        known.check(server, 1)

    stride = 29 if fresh else 7  # to connect takes thousands of steps
    struck = struck_everywhere(act, lambda step: known.check(server, step), stride=stride)

    assert struck > 30
    usable_at_once(server, 3)
    server.close()


def test_wherever_a_pipe_is_struck_its_replies_are_read_by_nobody_else(
    redis_url: str, known: Known
) -> None:
    server = Server(redis_url, max_connections=2)

    def act() -> None:
        stream = server.stream(known.key, 4)
        try:
            for n in range(3):
                stream.push(known.verb(n))
            for n in range(3):
                assert known.verb(n).read(stream.pull()).group == f"job-{n}".encode()
        finally:
            stream.close()

    struck = struck_everywhere(act, lambda step: known.check(server, step))

    assert struck > 30
    usable_at_once(server, 2)
    server.close()


@pytest.mark.parametrize("fresh", [True, False], ids=["new connection", "used connection"])
def test_exceptions_whose_tracebacks_are_kept_keep_no_connection(
    redis_url: str, known: Known, fresh: bool
) -> None:
    server, kept = Server(redis_url, max_connections=2), []

    for step in range(0, 400, 3):
        if fresh:
            server.borrow().drop()
        try:
            struck_at(
                step,
                lambda: known.check(server, 1),
                files=("/servers/sync.py", "/servers/connections.py"),
            )
        except Struck as error:
            kept.append(error)
        known.check(server, step)

    assert len(kept) > 50
    usable_at_once(server, 2)
    server.close()


def test_a_call_that_is_answered_while_others_close_the_server_reads_its_own(
    redis_url: str, known: Known
) -> None:
    # A connection that was closed under a stream is not made again: its replies would be shifted.
    server = Server(redis_url, max_connections=2)
    stream = server.stream(known.key, 4)
    stream.push(known.verb(0))
    server.close()

    with pytest.raises(Exception, match=r"may or may not|closed"):
        stream.push(known.verb(1))
    with pytest.raises(Exception, match="may or may not"):
        stream.pull()


class Work:
    """What a thread of an application does, over and over, struck now and then."""

    def __init__(self, pool: QueuePool, striker: Striker, number: int) -> None:
        self.pool, self.striker, self.name = pool, striker, f"worker-{number}"
        self.random = random.Random(number)
        self.acknowledged: list[str] = []
        self.told: list[tuple[set[str], set[str]]] = []
        self.odd: list[BaseException] = []
        self.rounds = 0

    def run(self, over: threading.Event) -> None:
        mine = self.pool.enqueue("t", {}, partition_key=self.name, job_id=self.name)
        while not over.is_set():
            try:
                with self.striker.exposed():
                    self._once(mine.job_id)
            except JobTimeoutError as error:
                results = getattr(error, "results", None) or ()
                ids = [
                    {r.job_id for r in results if r.status == s} for s in ("accepted", "unknown")
                ]
                self.told.append((ids[0], ids[1]))
            except BaseException as error:  # nothing else may come out
                self.odd.append(error)
                return
            self.rounds += 1

    def _once(self, mine: str) -> None:
        chance = self.random.random()
        if chance < 0.5:
            self.acknowledged.append(self.pool.enqueue("t", {}, partition_key="g").job_id)
        elif chance < 0.7:
            results = self.pool.enqueue_many("t", [{}] * 450, partition_key="g")
            self.acknowledged += [r.job_id for r in results if r.status is EnqueueStatus.ACCEPTED]
        elif chance < 0.85:
            status = self.pool.status(mine, partition_key=self.name)
            if (status.group, status.state) != (self.name.encode(), "ready"):
                raise AssertionError(f"{self.name} was told of {status}")
        else:
            group = self.pool.group(self.name).status()
            if group.total != 1:
                raise AssertionError(f"{self.name} was told of {group}")


@pytest.mark.timeout(300)
def test_threads_under_fire_lose_no_job_and_no_connection(redis_url: str, stage: str) -> None:
    config = PoolConfig(topology=single(redis_url, 1), keyspace=Keyspace(stage=stage))
    striker = Striker(JobTimeoutError, seed=7)
    with QueuePool(config=config) as pool:
        work = [Work(pool, striker, n) for n in range(8)]
        over = threading.Event()
        threads = [threading.Thread(target=w.run, args=(over,), daemon=True) for w in work]
        firing = threading.Thread(target=striker.run, daemon=True)
        for thread in (*threads, firing):
            thread.start()
        try:
            enough = int(os.environ.get("QUEUEPOOL_TEST_STRIKES", "300"))
            wait_until(lambda: sum(len(w.told) for w in work) >= enough or _dead(threads), 100.0)
        finally:
            over.set()
            striker.stop()
            for thread in (*threads, firing):
                thread.join(timeout=30)

        assert [e for w in work for e in w.odd] == []
        assert not any(thread.is_alive() for thread in threads)
        server = pool.partition(0).server
        assert isinstance(server, Server)
        usable_at_once(server, 64)
        there = run_all(pool.partition(0))
    acknowledged = {job_id for w in work for job_id in w.acknowledged}
    assert len(there) == len(set(there))
    assert acknowledged <= set(there)
    for accepted in (ids for w in work for ids, _unknown in w.told):
        assert accepted <= set(there)


def _dead(threads: list[threading.Thread]) -> bool:
    return not all(thread.is_alive() for thread in threads)


# -- asyncio ---------------------------------------------------------------------------------------


def test_tasks_that_are_cancelled_lose_no_connection_and_mix_up_no_reply(
    redis_url: str, known: Known
) -> None:
    limit, chance = 4, random.Random(3)

    async def ask(server: AsyncServer, n: int) -> None:
        (reply,) = await server.run(known.key, [known.verb(n)])
        assert known.verb(n).read(reply).group == f"job-{n % JOBS}".encode()

    async def torment(server: AsyncServer, n: int) -> bool:
        task = asyncio.create_task(ask(server, n))
        for _ in range(chance.randrange(3)):  # once, twice while it tidies up, or not at all
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        if result is None:
            return False
        assert isinstance(result, asyncio.CancelledError), result
        return True

    async def act() -> int:
        server = AsyncServer(redis_url, max_connections=limit)
        cancelled = 0
        for _ in range(100):
            found = await asyncio.gather(*(torment(server, n) for n in range(2 * limit)))
            cancelled += sum(found)
            async with asyncio.timeout(60):
                await asyncio.gather(*(ask(server, n) for n in range(limit)))
        await server.close()
        return cancelled

    assert asyncio.run(act()) > 100


def test_a_cancelled_enqueue_of_the_asyncio_pool_tells_its_id(redis_url: str, stage: str) -> None:
    config = PoolConfig(topology=single(redis_url, 1), keyspace=Keyspace(stage=stage))

    async def act() -> tuple[str, str]:
        async with AsyncQueuePool(config=config) as pool:
            await pool.enqueue("t", {}, partition_key="k")
            task = asyncio.create_task(pool.enqueue("t", {}, partition_key="k"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            (known,) = caught.value.results  # type: ignore[attr-defined]
            again = await pool.enqueue("t", {}, partition_key="k", job_id=known.job_id)
            total = (await pool.group("k").status()).total
            assert total == 2
            return known.status, again.status

    known, again = asyncio.run(act())

    assert known == "unknown"
    assert again in ("accepted", "duplicate")
