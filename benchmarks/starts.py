"""When jobs start: a task that notes how long after its enqueue call it began."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from queuepool import task

if TYPE_CHECKING:
    from benchmarks.rig import Rig

_WARM_UP = 20


@cache
def _file() -> int:
    return os.open(os.environ["BENCH_LATENCIES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


@task
def begin(t: float, ms: float = 0.0, key: str = "") -> None:
    """Note the milliseconds since `t`; CLOCK_MONOTONIC is one clock for all processes."""
    waited = (monotonic() - t) * 1000
    os.write(_file(), f"{waited} {key}\n".encode())
    if ms:
        sleep(ms / 1000)


@task
def mark(group: int) -> None:
    """Note which group has a turn."""
    os.write(_file(), f"{group}\n".encode())


def exponential(per_s: float) -> Callable[[], float]:
    """Return gaps between arrivals at random, `per_s` of them a second; the same in every run."""
    chance = random.Random(1)
    return lambda: chance.expovariate(per_s)


def measure(
    r: Rig,
    jobs: int,
    *,
    gap_s: Callable[[], float],
    ms: float = 0.0,
    workers: int = 8,
    keys: Sequence[str] = ("one",),
    batch: int = 1,
) -> list[float]:
    """Return ms from call to start of `jobs` jobs, of which `batch` arrive at once.

    gap_s: the seconds from one arrival to the next. keys: they take turns.
    """
    found = by_key(r, jobs, gap_s=gap_s, ms=ms, workers=workers, keys=keys, batch=batch)
    return [waited for _, waited in found]


def by_key(
    r: Rig,
    jobs: int,
    *,
    gap_s: Callable[[], float],
    ms: float,
    workers: int,
    keys: Sequence[str],
    batch: int,
) -> list[tuple[str, float]]:
    """Return the key and the ms from call to start of each job; see `measure`."""
    with tempfile.TemporaryDirectory(prefix="queuepool-bench-") as directory:
        path = Path(directory) / "latencies"
        with r.consumer(workers, app="benchmarks.starts", BENCH_LATENCIES=str(path)):
            due = monotonic()
            for n in range(-(-(jobs + _WARM_UP) // batch)):
                due += gap_s()
                sleep(max(0.0, due - monotonic()))
                key = keys[n % len(keys)]
                job = {"t": monotonic(), "ms": ms, "key": key}
                if batch == 1:
                    r.pool.enqueue("begin", job, partition_key=key)
                else:
                    r.pool.enqueue_many("begin", [job] * batch, partition_key=key)
            r.drain_per_s(*keys)
        lines = [line.partition(" ") for line in path.read_text().splitlines()][_WARM_UP:]
        return [(key, float(waited)) for waited, _, key in lines]
