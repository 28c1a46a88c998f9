"""A Queue Pool without a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from queuepool.client.async_pool import AsyncQueuePool
from queuepool.client.pool import QueuePool
from queuepool.routing.topology import Topology
from queuepool.settings.config import PoolConfig
from queuepool.tasks.registry import Registry, default_registry
from queuepool.testing.clock import FakeClock
from queuepool.testing.server import AsyncMemoryServer, MemoryServer

_SERVER = "memory"


class MemoryPool(QueuePool):
    """A QueuePool whose jobs live in this process. Everything that applications use works on it.

    clock: the pool's idea of time; `pool.clock.advance(seconds)` makes delays and retries due.
    limits: other fields of PoolConfig, such as max_depth.
    """

    def __init__(
        self,
        partitions: int = 1,
        *,
        registry: Registry = default_registry,
        clock: FakeClock | None = None,
        **limits: Any,
    ) -> None:
        self.clock = clock or FakeClock()
        self.server = MemoryServer(self.clock)
        topology = Topology({_SERVER: "memory:"}, (_SERVER,) * partitions)
        config = PoolConfig(topology=topology, **({"retry_for_s": 0.0} | limits))
        super().__init__(config=config, registry=registry, servers={_SERVER: self.server})

    def asyncio(self) -> AsyncQueuePool:
        """Return the asyncio twin of this pool, over the same jobs."""
        return AsyncQueuePool(
            config=replace(self.config),
            registry=self.producer.registry,
            servers={_SERVER: AsyncMemoryServer(self.server)},
        )
