"""A consumer in a thread, over servers in memory that can be away."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import Registry
from queuepool.client.pool import QueuePool
from queuepool.errors import LocalError, UnavailableError
from queuepool.routing.topology import Topology
from queuepool.settings.config import PoolConfig
from queuepool.testing import MemoryServer


class Running:
    """A consumer in a thread."""

    def __init__(
        self,
        pool: QueuePool,
        registry: Registry,
        candidates: Sequence[int] | None = None,
        **settings: Any,
    ) -> None:
        self.reported: list[object] = []
        self.error: BaseException | None = None
        values = {"workers": 4, "lease_s": 2, **settings}
        self.consumer = Consumer(
            pool,
            ConsumerSettings(**values),
            registry=registry,
            listen=self.reported.append,
            candidates=candidates,
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.consumer.run()
        except BaseException as error:
            self.error = error

    def has(self, kind: type) -> bool:
        return any(isinstance(event, kind) for event in self.reported)

    def stop(self) -> None:
        self.consumer.stop()
        self.ends()

    def ends(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


class Flaky(MemoryServer):
    """A server whose answers are lost while `away` is set."""

    away, tries = False, 0
    no_bells = 0  # so many are refused
    without = ""  # what gets no answer, by its script

    def run(self, key: bytes, verbs: Any) -> list[Any]:
        if self.without and any(verb.script.startswith(self.without) for verb in verbs):
            if len(verbs) == 1:  # armed, maybe: its answer comes by the bell
                return [UnavailableError(f"no answer to {self.without}")]
            raise UnavailableError(f"no answer to {self.without}")
        if self.away:
            self.tries += 1
            raise UnavailableError("away")
        return super().run(key, verbs)

    def doorbell(self, key: bytes) -> Any:
        if self.no_bells:
            self.no_bells -= 1
            raise LocalError("memory", "this process has too many open files")
        return super().doorbell(key)


Start = Callable[..., Running]


def over(
    servers: Mapping[str, MemoryServer], partitions: Sequence[str], registry: Registry
) -> QueuePool:
    """Return a pool of these servers; partitions: the server of each."""
    topology = Topology(dict.fromkeys(servers, "memory:"), tuple(partitions))
    config = PoolConfig(topology=topology, retry_for_s=0.0)
    return QueuePool(config=config, registry=registry, servers=servers)


def lapse(pool: QueuePool, number: int = 0) -> None:
    """End the lease of a partition's owner."""
    partition = pool.partition(number)
    assert isinstance(partition.server, MemoryServer)
    owner = partition.server.data(partition.key).owner
    assert owner is not None
    owner.expires = 0


def done(pool: QueuePool) -> int:
    return pool.partition(0).observe().counters.get("done", 0)
