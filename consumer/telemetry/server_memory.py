"""How full the server of the owned partition is, for the metrics: asked on a thread of its own.

Consumers ask, not coordinators: only their role may. A server that hangs delays neither the loop
nor a scrape. What is not known now is not shown, rather than shown as it was; a standby asks
nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from queuepool.client.pool import QueuePool
from queuepool.errors.hindrances import start_thread
from queuepool.routing.topology import NoPartitionError
from queuepool.servers import Memory

INTERVAL_S = 15.0
_log = logging.getLogger("consumer.memory")


class ServerMemory(Collector):
    """Asks every few seconds, from start() to stop(), and answers scrapes.

    partition: returns the owned one, or None.
    """

    def __init__(
        self,
        pool: QueuePool,
        partition: Callable[[], int | None],
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._pool, self._partition, self._interval_s = pool, partition, interval_s
        self._seen: tuple[str, Memory] | None = None
        self._trouble = False
        self._stopping = threading.Event()
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="consumer-memory", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to watch the server's memory")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()

    def look(self) -> None:
        """Ask once."""
        number = self._partition()
        try:
            self._seen = None if number is None else self._ask(number)
        except NoPartitionError:  # retired, or moved, until its owner notices
            self._seen = None
        except Exception as error:  # whatever it is, the next look starts over
            if not self._trouble:
                _log.warning("the server's memory cannot be read, so metrics omit it: %r", error)
            self._trouble, self._seen = True, None
        else:
            self._trouble = False

    def _ask(self, number: int) -> tuple[str, Memory]:
        partition, name = self._pool.partition(number), self._pool.config.topology.server_of(number)
        return name, partition.server.memory(partition.key)

    def collect(self) -> Iterator[Metric]:
        """Return the current samples."""
        seen = self._seen
        for name, text, place in (
            ("used", "Memory that the server of the partition uses.", 0),
            ("limit", "maxmemory of the server of the partition; 0: none.", 1),
        ):
            family = GaugeMetricFamily(
                f"queuepool_server_memory_{name}_bytes", text, labels=["server"]
            )
            if seen is not None:
                family.add_metric([seen[0]], seen[1][place])
            yield family

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.look()
            known = self._seen is not None
            self._stopping.wait(self._interval_s if known else min(1.0, self._interval_s))
