"""Whatever happens to the server, a consumer continues by itself, with the same process id."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from queuepool.client.pool import QueuePool
from queuepool.client.results import EnqueueResults
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.conftest import ServerFactory
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos


@pytest.fixture
def server(server_factory: ServerFactory, tmp_path: Path) -> EmbeddedServer:
    """A server of the test's own, that keeps all it acknowledged over a kill."""
    return server_factory(tmp_path / "data", extra_args=("--appendfsync", "always"))


@pytest.fixture
def own_pool(server: EmbeddedServer, stage: str) -> Iterator[QueuePool]:
    config = PoolConfig(
        topology=single(server.url, 1), keyspace=Keyspace(stage), timeout_s=1.0, retry_for_s=59.0
    )
    with QueuePool(config=config) as made:
        yield made


def test_a_killed_server_that_comes_back_with_its_data_costs_no_job(
    server: EmbeddedServer, own_pool: QueuePool, consume: StartConsumer, records: Records
) -> None:
    partition = own_pool.partition(0)
    process = consume(url=server.url, lease_s=2)
    for kills in (1, 2):
        own_pool.enqueue_many("work", [{"ms": 20}] * 400, partition_key="g")
        wait_until(lambda kills=kills: done(partition) > 400 * kills - 300)  # type: ignore[misc]
        server.kill()
        ran = len(records.runs())
        wait_until(lambda kills=kills: process.log.count("Retrying") >= kills)  # type: ignore[misc]
        server.start()
        own_pool.enqueue("work", partition_key="g")
        wait_until(lambda ran=ran: len(records.runs()) > ran)  # type: ignore[misc]
        wait_until(lambda kills=kills: process.log.count("responds again") >= kills)  # type: ignore[misc]

    state = drained(partition, 802)

    assert process.is_running()
    assert state.counters["done"] == 802
    assert set(records.begun().values()) == {1}
    assert "forgot" not in process.log


def test_killed_connections_and_flushed_scripts_are_not_even_noticed_by_jobs(
    server: EmbeddedServer, own_pool: QueuePool, consume: StartConsumer, records: Records
) -> None:
    partition = own_pool.partition(0)
    process = consume(url=server.url)
    own_pool.enqueue_many("work", ({"ms": 10} for _ in range(800)), partition_key="g")
    with redis.Redis.from_url(server.url) as admin:
        for hit in range(1, 8):
            wait_until(lambda hit=hit: done(partition) > 60 * hit)  # type: ignore[misc]
            admin.client_kill_filter(_type="normal", skipme=True)
            if hit % 2:
                admin.script_flush()

    state = drained(partition, 800)

    assert process.is_running()
    assert state.counters["done"] == 800
    assert set(records.begun().values()) == {1}


def test_a_stalled_server_doubles_nothing(
    server: EmbeddedServer, own_pool: QueuePool, consume: StartConsumer, records: Records
) -> None:
    # For longer than clients wait, so calls are repeated while the first ones still happen.
    partition = own_pool.partition(0)
    process = consume(url=server.url, lease_s=6)  # an answer is awaited for 2 s
    own_pool.enqueue_many("work", ({"ms": 10} for _ in range(500)), partition_key="g")
    wait_until(lambda: done(partition) > 50)
    results: list[EnqueueResults] = []

    def produce() -> None:
        items = ({"ms": 1} for _ in range(1000))
        results.append(own_pool.enqueue_many("work", items, partition_key="h"))

    producer = threading.Thread(target=produce)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        producer.start()
        process.says("Retrying")
        process.popen.poll()
        threading.Event().wait(3.0)  # this is the fault itself
    finally:
        os.kill(server.pid, signal.SIGCONT)
    producer.join(90)

    state = drained(partition, 1500)
    assert process.is_running()
    assert state.counters["done"] == state.counters["enqueued"] == 1500
    assert len(results[0]) == 1000
    assert set(records.begun().values()) == {1}
    assert len(records.begun()) == 1500
    assert partition.audit().clean


def test_an_idle_consumer_hears_again_after_the_server_was_restarted(
    server: EmbeddedServer, own_pool: QueuePool, consume: StartConsumer
) -> None:
    partition = own_pool.partition(0)
    process = consume(url=server.url, poll_s=10)
    process.owns(partition)
    server.kill()
    process.says("Retrying")
    server.start()
    process.says("responds again")

    for n in range(3):
        own_pool.enqueue("work", partition_key="g")
        wait_until(lambda n=n: done(partition) == n + 1, 9.0)  # type: ignore[misc]
    assert process.is_running()


def test_health_fails_while_the_server_is_away_and_recovers_with_it(
    server: EmbeddedServer, own_pool: QueuePool, consume: StartConsumer
) -> None:
    process = consume(url=server.url, stall_s=2)
    process.owns(own_pool.partition(0))
    wait_until(lambda: process.get("/healthz") == (200, "ok\n"))

    server.kill()
    wait_until(lambda: process.get("/healthz")[0] == 503)
    assert "no successful turn" in process.get("/healthz")[1]
    server.start()

    wait_until(lambda: process.get("/healthz")[0] == 200)
    assert process.is_running()
