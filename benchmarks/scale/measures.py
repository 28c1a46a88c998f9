"""The rows of `make bench-scale`, each measured on processes of its own."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from statistics import median
from time import monotonic, sleep

from benchmarks.rig import ALL_DEAD_KEPT, rig
from benchmarks.scale import crowds, deciding, remedies, shapes, watching
from benchmarks.scale.processes import Seen, coordinating, cycles, fetched, lost_decisions, running
from benchmarks.scale.rows import Row

_CYCLES, _FIRST = 15, 3  # the first cycles read what others have read already
_REUSED_S = 3.0


def coordinator(scale: float) -> Iterator[Row]:
    """Measure /metrics and the cycle of a coordinator of many partitions that all have work."""
    for partitions in (1_000, 4_000):
        count = max(10, int(partitions * scale))
        with rig(count) as r:
            rows = ({"i": i} for i in range(2 * count))
            r.pool.enqueue_many("noop", rows, partition_key=lambda row: f"key-{row['i']}")
            with coordinating(r.server.url, count) as (seen, url):
                while (begun := cycles(url))[0] < _FIRST:
                    sleep(1)
                cpu_s = seen.cpu_s() + r.server_cpu_s()
                while (now := cycles(url))[0] < begun[0] + _CYCLES:
                    sleep(1)
                cpu_s = seen.cpu_s() + r.server_cpu_s() - cpu_s
                sleep(_REUSED_S)  # or an earlier answer would be given again
                asked = monotonic()
                page = fetched(url)
                taken_s = monotonic() - asked
                lost = lost_decisions(seen.text())
            what = f"{count:,} partitions"
            yield Row(f"/metrics, {what}", len(page) / 1e6, 0.3, "MB")
            yield Row(f"a scrape of /metrics, {what}", taken_s * 1000, 250, "ms")
            did = now[0] - begun[0]
            cycle_ms = (now[1] - begun[1]) / did * 1000
            yield Row(f"a cycle of the coordinator, {what}", cycle_ms, 400, "ms")
            what_cpu = f"CPU of a cycle, the server's included, {what}"
            yield Row(what_cpu, cpu_s / did * 1000, 400, "ms")
            yield Row(f"decisions lost, {what}", lost, 0, "")


def consumer(scale: float) -> Iterator[Row]:
    """Measure an idle consumer: its start and its memory."""
    cpu_s, private_mb = [], []
    with rig(1) as r:
        for _ in range(max(1, int(5 * scale))):
            told = {"QUEUEPOOL_URL": r.server.url, "QUEUEPOOL_PARTITIONS": "1"}
            with running("consumer", "--app", "benchmarks.tasks", **told) as seen:
                seen.says("owns partition 0")
                cpu_s.append(seen.cpu_s())
                private_mb.append(seen.private_mb())
    yield Row("CPU of a consumer until it owns its partition", median(cpu_s), 0.4, "s")
    yield Row("memory of its own of an idle consumer", median(private_mb), 25, "MB")


def consumers(scale: float) -> Iterator[Row]:
    """Measure several consumers that one command starts: their start and their memory."""
    count = max(2, int(8 * scale))
    with rig(count) as r:
        told = {"QUEUEPOOL_URL": r.server.url, "QUEUEPOOL_PARTITIONS": str(count)}
        words = ["consumer", "--app", "benchmarks.tasks", "--processes", str(count)]
        with running(*words, **told) as seen:
            seen.says(f"(?s)(owns partition.*){{{count}}}")
            pids = map(int, re.findall(r"runs as process (\d+)", seen.text()))
            each = [Seen(pid, seen.log) for pid in pids]
            cpu_s = seen.cpu_with_ended_s() + sum(one.cpu_s() for one in each)
            private_mb = [one.private_mb() for one in each]
    what = f"of {count} consumers of one command"
    yield Row(f"CPU for each {what} until all own a partition", cpu_s / count, 0.4, "s")
    yield Row(f"memory of its own of each {what}", median(private_mb), 25, "MB")


_PRODUCER = """
import sys
from queuepool import QueuePool
from benchmarks.scale.measures import peak_mb
jobs, results = int(sys.argv[1]), sys.argv[2]
with QueuePool.from_env() as pool:
    def enqueue(count):
        rows = ({"i": i} for i in range(count))
        return pool.enqueue_many("noop", rows, partition_key="bulk", results=results)
    enqueue(20_000)
    before = peak_mb()
    kept = enqueue(jobs)
    assert kept.accepted == jobs
    print((peak_mb() - before) * 2**20 / jobs)
"""


def peak_mb() -> float:
    """Return the largest memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def producer(scale: float) -> Iterator[Row]:
    """Measure how the memory of a producer grows with the jobs of one call."""
    jobs = max(20_000, int(1_000_000 * scale))
    for results, goal in (("all", 60.0), ("failures", 1.0)):
        with rig(1) as r:
            environment = os.environ | {"QUEUEPOOL_URL": r.server.url, "QUEUEPOOL_PARTITIONS": "1"}
            done = subprocess.run(
                [sys.executable, "-c", _PRODUCER, str(jobs), results],
                env=environment, check=True, capture_output=True, text=True,
            )  # fmt: skip
        what = f'a producer\'s memory for each of {jobs:,} jobs, results="{results}"'
        yield Row(what, max(0.0, float(done.stdout)), goal, "bytes")


def dead(scale: float) -> Iterator[Row]:
    """Measure `dead list --json`: CPU and memory, for few jobs and for many."""
    many = max(2_000, int(300_000 * scale))
    sizes = {}
    with rig(1) as r:
        rows = ({"i": i} for i in range(many))
        r.pool.enqueue_many("fails", rows, partition_key="bulk", max_attempts=1)
        with r.consumer(8, **ALL_DEAD_KEPT):
            r.drain_per_s("bulk")
        for limit in (1_000, many):
            command = [sys.executable, "-m", "queuepool", "dead", "list", "--json"]
            process = subprocess.Popen(
                [*command, "--limit", str(limit)], stdout=subprocess.DEVNULL,
                env=os.environ | {"QUEUEPOOL_URL": r.server.url, "QUEUEPOOL_PARTITIONS": "1"},
            )  # fmt: skip
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            sizes[limit] = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    taken_s = (sizes[many][0] - sizes[1_000][0]) / (many - 1_000) * 1e6
    grown_mb = sizes[many][1] - sizes[1_000][1]
    yield Row(f"dead list --json, growth of memory over {many:,} jobs", grown_mb, 5, "MB")
    yield Row("dead list --json, CPU for each job", taken_s, 60, "us")


def up(scale: float) -> Iterator[Row]:
    """Measure `queuepool up --partitions 16` until the first job has run."""
    count = max(2, int(16 * scale))
    command = [sys.executable, "-c", _UP, str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    yield Row(f"`up --partitions {count}` to the first job", float(done.stdout), 3, "s")


_UP = """
import os, subprocess, sys, tempfile, time
from pathlib import Path
from queuepool import QueuePool
here = os.getcwd()
with tempfile.TemporaryDirectory() as name:
    os.chdir(name)
    os.environ["PYTHONPATH"] = here
    began = time.monotonic()
    words = ["up", "--app", "benchmarks.tasks", "--partitions", sys.argv[1]]
    with open("log", "w") as log:
        up = subprocess.Popen([sys.executable, "-m", "queuepool", *words], stdout=log, stderr=log)
    try:
        pool = None
        while pool is None:
            try:
                pool = QueuePool.from_env()
                job = pool.enqueue("noop", {"i": 1}, partition_key="first")
            except Exception:
                pool = None
                assert up.poll() is None, Path("log").read_text()
                time.sleep(0.05)
        job.job.result(timeout_s=120)
        print(time.monotonic() - began)
    finally:
        up.terminate()
        up.wait()
"""

MEASURES: dict[str, Callable[[float], Iterator[Row]]] = {
    "coordinator": coordinator,
    "deciding": deciding.deciding,
    "consumer": consumer,
    "consumers": consumers,
    "up": up,
    "producer": producer,
    "dead": dead,
    "changes": remedies.changes,
    "due": crowds.due,
    "bury": crowds.bury,
    "cancel": crowds.cancel,
    "groups": shapes.groups,
    "calls": shapes.calls,
    "first_waits": shapes.first_waits,
    "large": shapes.large,
    "beside": shapes.beside,
    "loaded": shapes.loaded,
    "page": watching.page,
}
