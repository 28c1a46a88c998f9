"""From the enqueue call to the handler's start: a task that notes when it began."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep

from benchmarks.rig import Rig
from queuepool import task


@task
def begin(t: float) -> None:
    """Append the milliseconds since `t`; CLOCK_MONOTONIC is one clock for all processes."""
    waited = (monotonic() - t) * 1000
    with Path(os.environ["BENCH_LATENCIES"]).open("a") as file:
        file.write(f"{waited}\n")


def measure(r: Rig, jobs: int, gap_s: float = 0.02) -> list[float]:
    """Return ms from call to start of `jobs` jobs, one every gap_s, with an idle consumer."""
    with tempfile.TemporaryDirectory(prefix="queuepool-bench-") as directory:
        path = Path(directory) / "latencies"
        environment = {
            **os.environ,
            "BENCH_LATENCIES": str(path),
            "QUEUEPOOL_URL": r.server.url,
            "QUEUEPOOL_PARTITIONS": "1",
            "CONSUMER_APP": "benchmarks.latency",
            "CONSUMER_METRICS_PORT": "-1",
            "CONSUMER_LOG_LEVEL": "WARNING",
        }
        process = subprocess.Popen([sys.executable, "-m", "consumer"], env=environment)
        try:
            while r.pool.partition(0).observe().owner is None:
                sleep(0.01)
            for _ in range(jobs + 20):
                sleep(gap_s)
                r.pool.enqueue("begin", {"t": monotonic()}, partition_key="idle")
            while r.pool.group("idle").status().left:
                sleep(0.01)
        finally:
            process.terminate()
            process.wait(timeout=60)
        return [float(line) for line in path.read_text().splitlines()][20:]
