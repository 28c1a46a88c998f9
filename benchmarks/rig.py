"""What the measures share: a fresh server, a pool, consumers in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from time import monotonic, sleep
from typing import Any

import redis

from queuepool import QueuePool
from queuepool.process.embedded import EmbeddedServer
from queuepool.verbs.scripts import names, script

PAD = "x" * 82  # makes a payload of 100 bytes of JSON
# Settings of a consumer that keeps all dead jobs: by default, it keeps the latest 100,000
ALL_DEAD_KEPT = {
    "CONSUMER_DEAD_KEEP_JOBS": "1000000000",
    "CONSUMER_DEAD_KEEP_BYTES": "1000000000000",
}


@dataclass(slots=True)
class Rig:
    """A server without persistence and a pool on it. worker_cpu_s: of consumers that ended.

    pids: of the server and of the consumers that run. roaming: run so many consumers, which share
    the partitions, instead of one for each.
    """

    server: EmbeddedServer
    pool: QueuePool
    worker_cpu_s: float = 0.0
    pids: list[int] = field(default_factory=list)
    roaming: int = 0
    _client: redis.Redis | None = field(default=None, repr=False)

    @property
    def client(self) -> redis.Redis:
        """Return a client of the server itself."""
        self._client = self._client or redis.Redis.from_url(self.server.url)
        return self._client

    def info(self, section: str) -> dict[str, Any]:
        """Return a section of the server's INFO."""
        found: Any = self.client.info(section)
        return dict(found)

    def used_memory(self) -> int:
        """Return the server's memory in bytes."""
        return int(self.info("memory")["used_memory"])

    def server_cpu_s(self) -> float:
        """Return the CPU seconds that the server has used."""
        cpu = self.info("cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])

    def script_us(self) -> float:
        """Return the server's CPU microseconds in scripts since the last reset."""
        return self.spent_us()[0]

    def spent_us(self) -> tuple[float, dict[str, float]]:
        """Return CPU microseconds since the last reset: in scripts, and of that by command."""
        found = self.info("commandstats")
        us = {n.removeprefix("cmdstat_"): float(stat["usec"]) for n, stat in found.items()}
        return us.get("evalsha", 0.0), {n: cost for n, cost in us.items() if n in _called()}

    def slow_script_us(self) -> float:
        """Return the p99.9 of the time of a script since the last reset, in microseconds."""
        return float(self.info("latencystats")["latency_percentiles_usec_evalsha"]["p99.9"])

    def reset_stats(self) -> None:
        """Let the server count from here on."""
        self.client.config_resetstat()

    @contextmanager
    def consumer(
        self, workers: int | None, *, app: str = "benchmarks.tasks", **more: str
    ) -> Iterator[None]:
        """Run a consumer process of each partition; yields once all are owned.

        workers: None where CONSUMER_POOLS says it. more: further settings, as variables.
        """
        partitions = self.pool.partitions()
        environment = {
            **os.environ,
            **more,
            "QUEUEPOOL_URL": self.server.url,
            "QUEUEPOOL_PARTITIONS": str(len(partitions)),
            "CONSUMER_APP": app,
            **({} if workers is None else {"CONSUMER_WORKERS": str(workers)}),
            "CONSUMER_METRICS_PORT": "-1",
            "CONSUMER_LOG_LEVEL": "WARNING",
        }
        command = [sys.executable, "-m", "consumer", "--partition"]
        wanted = ["auto"] * self.roaming or [str(partition.number) for partition in partitions]
        processes = [subprocess.Popen([*command, which], env=environment) for which in wanted]
        self.pids = [self.server.pid, *(process.pid for process in processes)]
        try:
            least = min(len(wanted), len(partitions))
            while sum(one.observe().owner is not None for one in partitions) < least:
                sleep(0.005)
            yield
        finally:
            self.pids = [self.server.pid]
            for process in processes:
                process.terminate()
            for process in processes:
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = 0  # it was waited for here, for its CPU time
                self.worker_cpu_s += usage.ru_utime + usage.ru_stime

    def drain_per_s(self, *keys: str) -> float:
        """Return the jobs a second that end until groups have ended."""
        groups = [self.pool.group(key) for key in keys]
        began, left = monotonic(), sum(group.status().left for group in groups)
        for group in groups:
            while group.status().left:
                sleep(0.01)
        return left / (monotonic() - began)

    def close(self) -> None:
        """Give the connection back."""
        if self._client is not None:
            self._client.close()


@contextmanager
def rig(partitions: int = 1, roaming: int = 0) -> Iterator[Rig]:
    """Yield a fresh rig."""
    with (
        EmbeddedServer(appendonly=False) as server,
        QueuePool(server.url, partitions=partitions) as pool,
    ):
        made = Rig(server, pool, roaming=roaming)
        try:
            yield made
        finally:
            made.close()


@cache
def _called() -> frozenset[str]:
    """Return the names of all commands that scripts call."""
    sources = b"".join(script(name).source for name in names())
    return frozenset(
        name.decode().lower() for name in re.findall(rb"redis\.call\('(\w+)'", sources)
    )


def quantile(values: list[float], q: float) -> float:
    """Return a quantile; 0.5 is the median."""
    ordered = sorted(values)
    return median(ordered) if q == 0.5 else ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def payloads(count: int) -> list[dict[str, object]]:
    """Return payloads of 100 bytes of JSON."""
    return [{"i": i, "pad": PAD} for i in range(count)]
