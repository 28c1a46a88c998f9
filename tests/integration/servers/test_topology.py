"""One scenario, on one server, on two, on a Redis Cluster: only the configuration differs.

The scenario knows a pool, groups and consumers. Where partitions are is said by QUEUEPOOL_*
variables alone, and what comes out is the same to the last number.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from consumer.core.events import TurnFailed
from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import (
    AsyncQueuePool,
    Backoff,
    EnqueueStatus,
    Job,
    JobContext,
    JobDiedError,
    JobState,
    PermanentError,
    QueuePool,
    Registry,
    UnavailableError,
)
from queuepool.process.embedded import EmbeddedServer, find_server_binary
from queuepool.verbs.operator import verbs as operate
from tests.integration.servers.clusters import LocalCluster, local_cluster
from tests.waiting import wait_until

PARTITIONS = 4
GROUPS = 12
PER_GROUP = 100
Setting = Callable[[Mapping[str, str]], None]


class Tasks:
    """The application: what ran, how often."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.ran: Counter[str] = Counter()
        self._lock = threading.Lock()
        task = self.registry.task
        task(name="double")(self.double)
        task(name="flaky", backoff=Backoff(base_s=0.02, floor_s=0.0))(self.flaky)
        task(name="bad")(self.bad)

    def double(self, n: int, ctx: JobContext) -> int:
        self._note(ctx)
        return 2 * n

    async def flaky(self, n: int, ctx: JobContext) -> str:
        self._note(ctx)
        if ctx.attempt == 1:
            raise RuntimeError("once")
        return f"attempt {ctx.attempt}"

    def bad(self, n: int, ctx: JobContext) -> None:
        self._note(ctx)
        raise PermanentError("never")

    def _note(self, ctx: JobContext) -> None:
        with self._lock:
            self.ran[ctx.job_id] += 1


@contextmanager
def consumers(
    pool: QueuePool, registry: Registry, lease_s: float = 60.0
) -> Iterator[list[TurnFailed]]:
    """Run one consumer a partition; each must drain and end. Yields the turns without a reply."""
    failed: list[TurnFailed] = []

    def listen(event: object) -> None:
        if isinstance(event, TurnFailed):
            failed.append(event)

    running = [
        Consumer(
            pool,
            ConsumerSettings(partition=str(n), workers=4, lease_s=lease_s),
            registry=registry,
        )
        for n in range(PARTITIONS)
    ]
    for consumer in running:
        consumer.listen = listen
    threads = [threading.Thread(target=consumer.run) for consumer in running]
    for thread in threads:
        thread.start()
    try:
        yield failed
    finally:
        for consumer in running:
            consumer.stop()
        for thread in threads:
            thread.join(timeout=60)
        assert not any(thread.is_alive() for thread in threads)


def group_jobs(key: str) -> list[Job]:
    """Return the jobs of one group; one of them is delayed and of another tier."""
    jobs = [Job({"n": n}, key, f"{key}-{n}") for n in range(PER_GROUP)]
    jobs[50] = Job({"n": 50}, key, f"{key}-50", tier="low", delay_s=0.1)
    return jobs


def enqueue(pool: QueuePool, keys: list[str]) -> None:
    """Enqueue every group: in bulk, one by one, with asyncio, and a second time by mistake."""
    jobs = [job for key in keys for job in group_jobs(key)]
    first = pool.enqueue_many("double", jobs)
    again = pool.enqueue_many("double", jobs[:300])
    assert (first.accepted, again.duplicates) == (len(jobs), 300)
    for key in keys:
        for n in range(3):
            pool.enqueue("flaky", {"n": n}, partition_key=key, job_id=f"{key}-flaky-{n}")

    async def rest() -> None:
        async with AsyncQueuePool.from_env() as twin:
            for key in keys:
                found = await twin.enqueue_many("bad", [{"n": 1}, {"n": 2}], partition_key=key)
                assert found.accepted == 2
                assert (await twin.group(key).status()).total > 2

    asyncio.run(rest())


def scenario() -> dict[str, int]:
    """Run everything that an application and its operators do; return what was counted."""
    tasks, keys = Tasks(), [f"bulk-{n}" for n in range(GROUPS)]
    with QueuePool.from_env(registry=tasks.registry) as pool:
        enqueue(pool, keys)
        with consumers(pool, tasks.registry) as failed:
            groups = [pool.group(key).wait(timeout_s=60) for key in keys]
            assert pool.result("bulk-3-7", partition_key="bulk-3") == 14
            assert pool.result("bulk-3-flaky-1", partition_key="bulk-3") == "attempt 2"
            owners = [p.observe().owner for p in pool.partitions()]
        assert all(owners)
        for key in keys:
            assert pool.status(f"{key}-50", partition_key=key).state is JobState.DONE
        dead = [job for p in pool.partitions() for job in p.dead()]
        for job in dead[:3]:
            with pytest.raises(JobDiedError, match="never"):
                pool.result(job.job_id, partition_key=job.group)
        states = [p.observe() for p in pool.partitions()]
        assert all(p.audit().clean for p in pool.partitions())
        assert all(state.counters["enqueued"] for state in states), "a partition had no work"
        assert {name: n for name, n in tasks.ran.items() if n != 1} == {
            f"{key}-flaky-{n}": 2 for key in keys for n in range(3)
        }
        names = ("enqueued", "done", "retried", "died", "duplicate", "recovered", "fenced")
        counted = {name: sum(s.counters.get(name, 0) for s in states) for name in names}
        if failed:
            # The machine stood still: what such a turn claimed goes back, and its rest is fenced.
            assert counted["retried"] >= EXPECTED["retried"]
            counted |= {name: EXPECTED[name] for name in ("retried", "fenced")}
        return counted | {
            "ran": sum(tasks.ran.values()),
            "left": sum(s.jobs for s in states) - len(dead),
            "dead": len(dead),
            "groups done": sum(g.done for g in groups),
        }


GOOD = GROUPS * (PER_GROUP + 3)
EXPECTED = {
    "enqueued": GOOD + GROUPS * 2,
    "done": GOOD,
    "retried": GROUPS * 3,
    "died": GROUPS * 2,
    "duplicate": 300,
    "recovered": 0,
    "fenced": 0,
    "ran": GOOD + GROUPS * 3 + GROUPS * 2,
    "left": 0,
    "dead": GROUPS * 2,
    "groups done": GOOD,
}


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch, stage: str) -> Setting:
    """Set QUEUEPOOL_* variables: all that any of these tests changes."""

    def put(values: Mapping[str, str]) -> None:
        for name, value in {"PARTITIONS": str(PARTITIONS), "STAGE": stage, **values}.items():
            monkeypatch.setenv(f"QUEUEPOOL_{name}", value)

    return put


@pytest.fixture(scope="module")
def cluster(
    engine_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    """A cluster that tests share; each has a stage of its own on it."""
    with local_cluster(engine_binary, tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def fragile_cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster whose nodes a test may kill."""
    with local_cluster(find_server_binary(), tmp_path) as made:
        yield made


def test_on_one_server(configure: Setting, engine_url: str) -> None:
    configure({"URL": engine_url})

    assert scenario() == EXPECTED


def test_on_two_servers(configure: Setting, engine_binary: Path, stage: str) -> None:
    with EmbeddedServer(binary=engine_binary) as first, EmbeddedServer(binary=engine_binary) as big:
        configure(
            {
                "SERVERS": f'{{"main": "{first.url}", "big": "{big.url}"}}',
                "PLACEMENT": "0-1=main,2=big,3=main",
            }
        )

        assert scenario() == EXPECTED

        places = []
        for server in (first, big):
            with redis.Redis.from_url(server.url) as client:
                keys = [key.decode() for key in client.keys("*")]
            places.append({n for n in range(PARTITIONS) for k in keys if f"partition_{n}" in k})
        assert places == [{0, 1, 3}, {2}]


def test_on_a_redis_cluster(configure: Setting, cluster: LocalCluster) -> None:
    configure({"URL": cluster.url})

    assert scenario() == EXPECTED

    holding = [client.dbsize() > 0 for client in cluster.clients]
    assert sum(holding) >= 2, "the partitions of this test are all on one node"


def container_url() -> Iterator[str]:
    """Yield the URL of a server in a container; skip if none is available."""
    instead = (
        "test_on_one_server, test_on_two_servers and test_on_a_redis_cluster ran the same scenario "
        "on servers of this machine: the bundled one, and redis-server where it is installed"
    )
    docker = pytest.importorskip("docker", reason=f"testcontainers is not installed; {instead}")
    containers = pytest.importorskip("testcontainers.redis", reason=f"not installed; {instead}")
    try:
        docker.from_env(timeout=5).ping()
    except docker.errors.DockerException:
        pytest.skip(f"no container engine answers here; {instead}")
    with containers.RedisContainer("redis:7-alpine") as container:
        host, port = container.get_container_host_ip(), container.get_exposed_port(6379)
        yield f"redis://{host}:{port}/0"


def test_on_a_server_in_a_container(configure: Setting) -> None:
    for url in container_url():
        configure({"URL": url})

        assert scenario() == EXPECTED


# -- a cluster that changes ------------------------------------------------------------------------


def keys_of(pool: QueuePool) -> list[str]:
    """Return a partition key for each partition."""
    found: dict[int, str] = {}
    for n in range(1_000):
        found.setdefault(pool.producer.route(f"key-{n}").partition, f"key-{n}")
    return [found[n] for n in range(PARTITIONS)]


def test_a_node_that_restarts_is_waited_for(
    configure: Setting, fragile_cluster: LocalCluster
) -> None:
    configure({"URL": fragile_cluster.url, "RETRY_FOR_S": "30", "TIMEOUT_S": "2"})
    tasks = Tasks()
    with QueuePool.from_env(registry=tasks.registry) as pool:
        keys = keys_of(pool)
        node = fragile_cluster.nodes[fragile_cluster.place_of(pool.partition(0).key)]

        def jobs() -> Iterator[Job]:
            for n in range(3_000):
                if n == 1_000:
                    node.kill()
                    threading.Timer(0.5, node.start).start()
                yield Job({"n": n}, partition_key=keys[n % PARTITIONS], job_id=f"job-{n}")

        with consumers(pool, tasks.registry, lease_s=60.0):
            results = pool.enqueue_many("double", jobs())
            groups = [pool.group(key).wait(timeout_s=60) for key in keys]

        assert results.accepted + results.duplicates == len(results) == 3_000
        assert sum(group.done for group in groups) == len(tasks.ran) == 3_000
        assert set(tasks.ran.values()) == {1}
        assert all(p.audit().clean for p in pool.partitions())


def test_the_node_in_the_url_may_be_away_once_the_others_are_known(
    configure: Setting, fragile_cluster: LocalCluster
) -> None:
    configure({"URL": fragile_cluster.url, "RETRY_FOR_S": "5", "TIMEOUT_S": "1"})
    with QueuePool.from_env() as pool:
        keys = keys_of(pool)
        places = [fragile_cluster.place_of(p.key) for p in pool.partitions()]
        there = next(n for n in range(PARTITIONS) if places[n] != 0)
        pool.enqueue("double", {"n": 1}, partition_key=keys[there])
        fragile_cluster.nodes[0].kill()
        gone = [n for n in range(PARTITIONS) if places[n] == 0]

        for n in gone:  # makes the pool doubt its map
            with pytest.raises(UnavailableError):
                pool.partition(n).observe()
        for _ in range(3):
            enqueued = pool.enqueue("double", {"n": 1}, partition_key=keys[there])
            assert enqueued.status is EnqueueStatus.ACCEPTED
        fragile_cluster.nodes[0].start()
        fragile_cluster.wait_until_whole()
        for n in gone:
            assert pool.enqueue("double", {"n": 1}, partition_key=keys[n]).partition == n


def test_a_partition_that_moved_is_found_again(configure: Setting, cluster: LocalCluster) -> None:
    configure({"URL": cluster.url})
    with QueuePool.from_env() as pool:
        keys = keys_of(pool)
        number = 1
        partition = pool.partition(number)

        assert pool.enqueue("double", {"n": 1}, partition_key=keys[number]).partition == number
        place = cluster.move(partition.key)
        assert pool.enqueue("double", {"n": 1}, partition_key=keys[number]).partition == number
        assert cluster.clients[place].exists(partition.key + b":j")
        cluster.move(partition.key)
        many = pool.enqueue_many("double", [{"n": 1}] * 900, partition_key=keys[number])
        assert many.accepted == 900
        cluster.move(partition.key)
        assert pool.group(keys[number]).status().total == 0

        observe = [(p.key, operate.observe(p.number)) for p in pool.partitions()]
        server = partition.server
        cluster.move(partition.key)
        replies = server.run_many(observe)  # what the coordinator does
        assert isinstance(replies[number], UnavailableError)
        assert not any(isinstance(reply, Exception) for reply in server.run_many(observe))

        async def twin() -> None:
            async with AsyncQueuePool.from_env() as other:
                await other.group(keys[number]).status()
                cluster.move(partition.key)
                found = await other.enqueue("double", {"n": 1}, partition_key=keys[number])
                assert found.status is EnqueueStatus.ACCEPTED

        asyncio.run(twin())


def test_an_idle_owner_hears_of_work_where_its_partition_moved_to(
    configure: Setting, cluster: LocalCluster
) -> None:
    configure({"URL": cluster.url})
    with QueuePool.from_env() as pool:
        (key,) = (k for n, k in enumerate(keys_of(pool)) if n == 1)
        partition = pool.partition(1)
        bell = partition.server.doorbell(partition.key)
        try:
            assert bell.wait(0.05) is None
            cluster.move(partition.key)
            pool.enqueue("double", {"n": 1}, partition_key=key)

            wait_until(lambda: bell.wait(0.5) == b"w", message="the token of the new job")
            ringing = threading.Timer(0.1, bell.ring)
            ringing.start()
            bell.wait(10.0)
            ringing.join()
        finally:
            bell.close()
            bell.close()
