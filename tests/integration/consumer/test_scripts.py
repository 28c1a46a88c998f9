"""Scripts reach a server when a consumer starts: later, each could fill a slow link for seconds."""

from __future__ import annotations

import redis

from queuepool.client.pool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.verbs.scripts import script
from tests.conftest import ServerFactory
from tests.integration.consumer.conftest import StartConsumer


def test_what_records_ends_is_loaded_before_the_first_job(
    server_factory: ServerFactory, stage: str, consume: StartConsumer
) -> None:
    server = server_factory()
    config = PoolConfig(topology=single(server.url, 1), keyspace=Keyspace(stage))
    with QueuePool(config=config) as pool, redis.Redis.from_url(server.url) as client:
        consume(url=server.url).owns(pool.partition(0))

        names = ("claim", "finish", "finish_stray", "retry")
        assert client.script_exists(*(script(n).sha for n in names)) == [True] * len(names)
