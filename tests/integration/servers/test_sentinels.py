"""A server behind three sentinels: after a failover everybody finds the new primary."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import AsyncQueuePool, EnqueueStatus, QueuePool, UnavailableError
from queuepool.process.embedded import EmbeddedServer
from queuepool.process.embedded.ports import HOST, pick_port
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.servers.sync import Server
from queuepool.settings.config import PoolConfig
from tests.conftest import ServerFactory
from tests.integration.consumer.processes import ConsumerProcess, Records, done
from tests.replicas import PROMPT, replica_arguments, wait_until_replicating
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos


def _port(server: EmbeddedServer) -> int:
    return int(server.url.rpartition(":")[2].partition("/")[0])


class Watched:
    """A primary, its replica, and the sentinels that watch them."""

    def __init__(
        self, servers: Sequence[EmbeddedServer], binary: Path, folder: Path, stack: ExitStack
    ) -> None:
        self.primary, self.replica = servers
        self.ports = [pick_port() for _ in range(3)]
        for n, port in enumerate(self.ports):
            config = folder / f"sentinel-{n}.conf"
            config.write_text(
                f"port {port}\nbind {HOST}\ndir {folder}\n"
                f"sentinel monitor main {HOST} {_port(self.primary)} 2\n"
                "sentinel down-after-milliseconds main 500\n"
                "sentinel failover-timeout main 3000\n"
            )
            log = stack.enter_context((folder / f"sentinel-{n}.log").open("w"))
            process = subprocess.Popen([str(binary), str(config), "--sentinel"], stdout=log)
            stack.callback(process.wait, 10)
            stack.callback(process.kill)
        wait_until(lambda: all(map(self._is_ready, self.ports)), 20, "three sentinels")

    @property
    def url(self) -> str:
        """The URL that names them."""
        return f"redis+sentinel://{','.join(f'{HOST}:{port}' for port in self.ports)}/main"

    def fail_over(self) -> None:
        """End the primary; return when the sentinels have made the replica the primary."""
        self.primary.kill()
        wait_until(lambda: self._primary() == _port(self.replica), 20, "a failover")

    def _primary(self) -> int:
        reply: Any = self._ask(self.ports[0], "GET-MASTER-ADDR-BY-NAME", "main")
        return int(reply[1])

    def _is_ready(self, port: int) -> bool:
        try:
            replicas: Any = self._ask(port, "REPLICAS", "main")
            others: Any = self._ask(port, "SENTINELS", "main")
        except redis.RedisError:
            return False
        return len(replicas) == 1 and len(others) == 2

    def _ask(self, port: int, *words: str) -> Any:
        with redis.Redis(port=port, host=HOST) as client:
            return client.execute_command("SENTINEL", *words)


@pytest.fixture
def watched(
    server_factory: ServerFactory, engine_binary: Path, tmp_path: Path
) -> Iterator[Watched]:
    primary = server_factory(binary=engine_binary, extra_args=PROMPT)
    follows = replica_arguments(_port(primary))
    replica = server_factory(binary=engine_binary, extra_args=follows)
    wait_until_replicating(primary)
    with ExitStack() as stack:
        yield Watched((primary, replica), engine_binary, tmp_path, stack)


def test_jobs_go_on_after_a_failover(watched: Watched, stage: str, tmp_path: Path) -> None:
    config = PoolConfig(topology=single(watched.url, 1), keyspace=Keyspace(stage))
    consumer = ConsumerProcess(watched.url, stage, tmp_path)
    try:
        with QueuePool(config=config) as pool:
            consumer.owns(pool.partition(0))
            pool.enqueue_many("work", ({"ms": 1} for _ in range(300)), partition_key="g")
            wait_until(lambda: done(pool.partition(0)) == 300)
            wait_until_replicating(watched.primary)

            watched.fail_over()

            accepted = pool.enqueue_many("work", ({"ms": 1} for _ in range(300)), partition_key="g")
            wait_until(lambda: _done(pool) >= 600, 30)
            assert len(accepted) == 300
        assert max(Records(tmp_path).begun().values()) == 1
        assert len(Records(tmp_path).begun()) == 600
    finally:
        consumer.kill()


def test_asyncio_finds_the_new_primary_too(watched: Watched, stage: str) -> None:
    async def enqueue(times: int) -> int:
        config = PoolConfig(topology=single(watched.url, 1), keyspace=Keyspace(stage))
        async with AsyncQueuePool(config=config) as pool:
            await pool.enqueue("work", {}, partition_key="g")
            if times > 1:
                await asyncio.to_thread(watched.fail_over)
                await pool.enqueue("work", {}, partition_key="g")
            return (await pool.group("g").status()).total

    assert asyncio.run(enqueue(2)) >= 1


def test_one_sentinel_that_answers_is_enough(watched: Watched, stage: str) -> None:
    away = f"{HOST}:{pick_port()}"
    url = f"redis+sentinel://{away},{HOST}:{watched.ports[1]}/main"
    with QueuePool(config=PoolConfig(topology=single(url, 1), keyspace=Keyspace(stage))) as pool:
        assert pool.enqueue("work", {}, partition_key="g").status is EnqueueStatus.ACCEPTED


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis+sentinel://{sentinel}/other", "does not know 'other'"),
        ("redis+sentinel://{away}/main", "no sentinel knows the primary of 'main'"),
    ],
)
def test_who_finds_no_primary_is_told_why(watched: Watched, url: str, message: str) -> None:
    places = {"sentinel": f"{HOST}:{watched.ports[0]}", "away": f"{HOST}:{pick_port()}"}
    server = Server(url.format(**places))

    with pytest.raises(UnavailableError, match=message):
        server.ask("PING")


def _done(pool: QueuePool) -> int:
    try:
        return done(pool.partition(0))
    except UnavailableError:
        return 0
