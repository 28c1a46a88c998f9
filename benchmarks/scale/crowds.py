"""Many jobs at once in one partition: due together, dead, or cancelled; and what others wait.

Others are fresh jobs of tier high in a group of their own, one every _GAP_S. A row about their
waits compares two runs, with a fresh server and consumer each: beside the crowd as it is usually,
and beside the crowd while it is promoted or cancelled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from benchmarks.rig import ALL_DEAD_KEPT, PAD, Rig, quantile, rig
from benchmarks.scale.rows import Row
from queuepool import Tier

_GAP_S = 0.01
_WARM_UP = 20
_APP = "benchmarks.tasks,benchmarks.starts"
_LATER = (Tier.CRITICAL, Tier.HIGH)
_PAYLOAD_BYTES = 100
_USUAL_S = 4.0
_DELAY_S = 0.2
_CANCEL = """
from time import monotonic
from queuepool import QueuePool
with QueuePool.from_env() as pool:
    group = pool.group("bulk")
    group.status()  # connected
    began = monotonic()
    group.cancel()
    print(monotonic() - began)
"""


class Others:
    """Fresh jobs, and their waits beside what happens meanwhile."""

    def __init__(self, r: Rig, path: Path) -> None:
        self._r, self._path = r, path
        self._due_s = monotonic()

    def come(self) -> None:
        """Enqueue the next one when it is time."""
        self._due_s = max(self._due_s + _GAP_S, monotonic() - _GAP_S)
        sleep(max(0.0, self._due_s - monotonic()))
        payload = {"t": monotonic()}
        self._r.pool.enqueue("begin", payload, partition_key="others", tier=Tier.HIGH)

    def waits_ms(self, during: Callable[[], bool]) -> list[float]:
        """Return the waits of those that come while this holds, after the first few."""
        for _ in range(_WARM_UP):
            self.come()
        skipped = self._count()
        while during():
            self.come()
        lines = self._path.read_text().splitlines()
        return [float(line) for line in lines[skipped:]]

    def _count(self) -> int:
        return len(self._path.read_text().splitlines()) if self._path.exists() else 0


@contextmanager
def others(r: Rig) -> Iterator[Others]:
    """Run a consumer of eight workers, for the crowd and for others."""
    with tempfile.TemporaryDirectory(prefix="queuepool-bench-") as directory:
        path = Path(directory) / "latencies"
        with r.consumer(8, app=_APP, BENCH_LATENCIES=str(path)):
            yield Others(r, path)


def _rows(jobs: int) -> Iterator[dict[str, object]]:
    return ({"i": i, "pad": PAD} for i in range(jobs))


def _against(what: str, now: list[float], usual: list[float]) -> Iterator[Row]:
    for name, q in (("p50", 0.5), ("p99", 0.99)):
        yield Row(f"{name} of {what}", quantile(now, q) / quantile(usual, q), 2, "times")


def due(scale: float) -> Iterator[Row]:
    """Measure jobs that are due together, and a critical and a high one that are due after them."""
    jobs = max(20_000, int(200_000 * scale))
    with rig(1) as r:
        r.pool.enqueue_many("noop", _rows(jobs), partition_key="bulk", tier=Tier.LOW)
        partition = r.pool.partitions()[0]
        with others(r) as seen:
            usual = seen.waits_ms(lambda: partition.observe().ready[Tier.LOW] > 0)
    promoted_s, ended_s, waits = _promoted(jobs)
    yield Row(f"promotion of {jobs:,} jobs due together, each", promoted_s / jobs * 1e6, 20, "us")
    for tier in _LATER:
        what = f"a delayed {tier.name.lower()} job that is due after them, of tier low, to its end"
        yield Row(what, ended_s[tier], 0.5, "s")
    yield from _against("a fresh high job's wait, against as many ready ones", waits, usual)


def _promoted(jobs: int) -> tuple[float, dict[Tier, float], list[float]]:
    # Seconds until all are promoted, and until the ends of the later ones; waits of others.
    ended_s: dict[Tier, float] = {}
    with rig(1) as r:
        r.pool.enqueue_many(
            "noop", _rows(jobs), partition_key="bulk", tier=Tier.LOW, delay_s=_DELAY_S
        )
        for tier in _LATER:
            r.pool.enqueue("noop", {}, partition_key=tier.name, tier=tier, delay_s=_DELAY_S)
        sleep(1.5 * _DELAY_S)
        partition = r.pool.partitions()[0]
        with others(r) as seen:
            began = monotonic()

            def during() -> bool:
                for tier in _LATER:
                    if tier not in ended_s and not r.pool.group(tier.name).status().left:
                        ended_s[tier] = monotonic() - began
                return partition.observe().delayed > 0

            waits = seen.waits_ms(during)
            promoted_s = monotonic() - began
            while len(ended_s) < len(_LATER):
                during()
    return promoted_s, ended_s, waits


def bury(scale: float) -> Iterator[Row]:
    """Measure jobs that die at their first attempt: the time, and the memory of a dead one."""
    jobs = max(5_000, int(200_000 * scale))
    with rig(1) as r:
        empty = r.used_memory()
        r.pool.enqueue_many("fails", _rows(jobs), partition_key="bulk")
        with r.consumer(8, **ALL_DEAD_KEPT):
            each_us = 1e6 / r.drain_per_s("bulk")
        size = (r.used_memory() - empty) / jobs - _PAYLOAD_BYTES
    yield Row(f"{jobs:,} jobs that die, each", each_us, 1e6 / 15_000, "us")
    yield Row("memory of a dead job beyond its payload", size, 700, "bytes")


def cancel(scale: float) -> Iterator[Row]:
    """Measure the cancel of a large group, beside the waits of another."""
    jobs = max(50_000, int(2_000_000 * scale))
    with rig(1) as r:
        rows = ({"ms": 5, "i": i} for i in range(jobs))
        r.pool.enqueue_many("nap", rows, partition_key="bulk", results="failures")
        with others(r) as seen:
            until_s = monotonic() + _USUAL_S
            usual = seen.waits_ms(lambda: monotonic() < until_s)
            left = r.pool.group("bulk").status().left
            canceller = subprocess.Popen(
                [sys.executable, "-c", _CANCEL],
                env=os.environ | {"QUEUEPOOL_URL": r.server.url, "QUEUEPOOL_PARTITIONS": "1"},
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            waits = seen.waits_ms(lambda: canceller.poll() is None)
            taken_s = float(canceller.communicate()[0])
    yield Row(f"cancel of {left:,} jobs of a group, each", taken_s / left * 1e6, 7.5, "us")
    yield from _against("a fresh job's wait beside it, against before", waits, usual)
