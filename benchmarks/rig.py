"""What the measures share: a fresh server, a pool, a consumer in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import monotonic, sleep
from typing import Any

from queuepool import QueuePool
from queuepool.embedded import EmbeddedServer

PAD = "x" * 82  # makes a payload of 100 bytes of JSON


@dataclass(frozen=True, slots=True)
class Rig:
    """A server without persistence and a pool of one partition on it."""

    server: EmbeddedServer
    pool: QueuePool

    def used_memory(self) -> int:
        """Return the server's memory in bytes."""
        return int(self.pool.servers["main"].info()["used_memory"])

    def script_us(self, script: str) -> float:
        """Return the server's CPU microseconds in scripts since the last reset."""
        import redis

        with redis.Redis.from_url(self.server.url) as client:
            stats: Any = client.info("commandstats")
            client.config_resetstat()
        return float(stats.get(f"cmdstat_{script}", {}).get("usec", 0.0))

    @contextmanager
    def consumer(self, workers: int) -> Iterator[None]:
        """Run one consumer process on the partition; yields once it owns it."""
        environment = {
            **os.environ,
            "QUEUEPOOL_URL": self.server.url,
            "QUEUEPOOL_PARTITIONS": "1",
            "CONSUMER_APP": "benchmarks.tasks",
            "CONSUMER_WORKERS": str(workers),
            "CONSUMER_METRICS_PORT": "-1",
            "CONSUMER_LOG_LEVEL": "WARNING",
        }
        process = subprocess.Popen([sys.executable, "-m", "consumer"], env=environment)
        try:
            partition = self.pool.partition(0)
            while partition.observe().owner is None:
                sleep(0.005)
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)

    def drain_s(self, key: str) -> float:
        """Return the seconds until a group has ended."""
        began, group = monotonic(), self.pool.group(key)
        while group.status().left:
            sleep(0.01)
        return monotonic() - began


@contextmanager
def rig() -> Iterator[Rig]:
    """Yield a fresh rig."""
    with EmbeddedServer(appendonly=False) as server, QueuePool(server.url, partitions=1) as pool:
        yield Rig(server, pool)


def quantile(values: list[float], q: float) -> float:
    """Return a quantile; 0.5 is the median."""
    ordered = sorted(values)
    return median(ordered) if q == 0.5 else ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def payloads(count: int) -> list[dict[str, object]]:
    """Return payloads of 100 bytes of JSON."""
    return [{"i": i, "pad": PAD} for i in range(count)]
