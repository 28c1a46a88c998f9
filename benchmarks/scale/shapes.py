"""Loads of other shapes: many groups, large payloads, and small jobs beside millions of others."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep

from benchmarks import starts
from benchmarks.rig import PAD, Rig, quantile, rig
from benchmarks.scale.rows import Row

_GAP_S = 0.05
_BESIDE_S = 20.0
_FASTEST_PER_S = 60_000.0  # of jobs that do nothing, so that some are left
_WORKERS = 8
_MANY = 4_900_000  # as a partition takes five million


def groups(scale: float) -> Iterator[Row]:
    """Measure as many groups as jobs, and one group of all of them."""
    jobs = max(20_000, int(1_000_000 * scale))
    enqueued_s, drained_s, sizes = {}, {}, {}
    for many in (False, True):
        with rig() as r:
            began, empty = monotonic(), r.used_memory()
            r.pool.enqueue_many(
                "noop", _rows(jobs), results="failures",
                partition_key=(lambda row: f"group-{row['i']}") if many else "one",
            )  # fmt: skip
            enqueued_s[many] = monotonic() - began
            sizes[many] = r.used_memory() - empty
            drained_s[many] = _drained_s(r)
    what = f"{jobs:,} groups of a job, against one group of {jobs:,}"
    yield Row(f"enqueue of {what}", enqueued_s[True] / enqueued_s[False], 2.5, "times")
    yield Row(f"drain of {what}", drained_s[True] / drained_s[False], 2, "times")
    yield Row(
        f"memory of a group, {jobs:,} groups", (sizes[True] - sizes[False]) / jobs, 300, "bytes"
    )


def calls(scale: float) -> Iterator[Row]:
    """Measure enqueue calls whose jobs belong to as many groups as there are, in turn."""
    jobs = max(40_000, int(400_000 * scale))
    cost_us = {}
    for count in (1, max(10_000, int(200_000 * scale))):
        with rig() as r:
            r.pool.enqueue_many(
                "noop", in_turn(count, count), partition_key=group_of, results="failures"
            )
            r.reset_stats()
            r.pool.enqueue_many(
                "noop", in_turn(jobs, count), partition_key=group_of, results="failures"
            )
            cost_us[count] = r.script_us() / jobs
    few, many = cost_us.values()
    what = (
        f"an enqueued job's time on the server, jobs of {count:,} groups in turn, against one group"
    )
    yield Row(what, many / few, 2.5, "times")


def first_waits(scale: float) -> Iterator[Row]:
    """Measure after how many rounds the last of many groups starts its first job."""
    count, each = max(100, int(1_000 * scale)), 20
    with rig() as r, tempfile.TemporaryDirectory(prefix="queuepool-bench-") as directory:
        path = Path(directory) / "order"
        for number in range(count):
            rows = [{"group": number}] * each
            r.pool.enqueue_many("mark", rows, partition_key=f"group-{number}")
        with r.consumer(_WORKERS, app="benchmarks.starts", BENCH_LATENCIES=str(path)):
            wait_until_drained(r)
        first: dict[str, int] = {}
        for place, group in enumerate(path.read_text().split()):
            first.setdefault(group, place)
    yield Row(
        f"rounds until {count:,} groups of jobs of 0 ms have begun",
        max(first.values()) / count,
        3,
        "",
    )


def large(scale: float) -> Iterator[Row]:
    """Measure the drain of large payloads, against a client that takes them from a plain list."""
    for kilobytes, most in ((1, 200_000), (10, 40_000), (100, 4_000)):
        jobs = max(400, int(most * scale))
        row = {"pad": "x" * (1_000 * kilobytes - 10)}
        with rig() as r:
            plain_s = _plain_s(r, json.dumps(row).encode(), jobs)
            r.pool.enqueue_many("noop", (row for _ in range(jobs)), partition_key="bulk")
            ours_s = _drained_s(r)
        yield Row(
            f"drain of payloads of {kilobytes} kB, against a plain list",
            ours_s / plain_s,
            2.5,
            "times",
        )


def beside(scale: float) -> Iterator[Row]:
    """Measure the starts of small jobs of another group while a huge one drains."""
    for job_ms in (0.0, 5.0, 50.0):
        per_s = min(_FASTEST_PER_S, _WORKERS / (job_ms / 1000) if job_ms else _FASTEST_PER_S)
        jobs = max(int(_MANY * scale), int(per_s * 1.5 * _BESIDE_S))
        with rig() as r, tempfile.TemporaryDirectory(prefix="queuepool-bench-") as directory:
            name = "nap" if job_ms else "noop"
            rows = ({"ms": job_ms} for _ in range(jobs))
            r.pool.enqueue_many(name, rows, partition_key="bulk", results="failures")
            path = Path(directory) / "latencies"
            app = "benchmarks.tasks,benchmarks.starts"
            with r.consumer(_WORKERS, app=app, BENCH_LATENCIES=str(path)):
                until_s = monotonic() + _BESIDE_S
                while monotonic() < until_s:
                    r.pool.enqueue("begin", {"t": monotonic()}, partition_key="small")
                    sleep(_GAP_S)
                left = r.pool.group("bulk").status().left
            waits = [float(line) for line in path.read_text().splitlines()][20:]
        if not left:
            raise RuntimeError(f"all {jobs:,} jobs had ended: measure with more")
        what = f"p99 of a small job's start beside {jobs:,} jobs of {job_ms:g} ms"
        yield Row(what, quantile(waits, 0.99), 3 * job_ms + 5, "ms")


def loaded(scale: float) -> Iterator[Row]:
    """Measure the starts of jobs of 10 ms that keep 8 workers busy for four fifths of the time."""
    jobs = max(500, int(40_000 * scale))
    with rig() as r:
        waits = starts.measure(
            r, jobs, gap_s=starts.exponential(0.8 * _WORKERS / 0.01), ms=10.0, workers=_WORKERS
        )
    yield Row(
        "p99 of a job's start at 80 % load of 8 workers, jobs of 10 ms",
        quantile(waits, 0.99),
        14,
        "ms",
    )


def _rows(count: int) -> Iterator[dict[str, object]]:
    return ({"i": i, "pad": PAD} for i in range(count))


def in_turn(jobs: int, count: int) -> Iterator[dict[str, object]]:
    """Yield the payloads of jobs that belong to so many groups in turn."""
    return ({"g": i % count, "pad": PAD} for i in range(jobs))


def group_of(row: Mapping[str, object]) -> str:
    """Return the partition key of one of them."""
    return f"group-{row['g']}"


def _drained_s(r: Rig) -> float:
    """Return the seconds from the first claim on in which a consumer drains the partition."""
    with r.consumer(_WORKERS):
        began = monotonic()
        wait_until_drained(r)
        return monotonic() - began


def wait_until_drained(r: Rig) -> None:
    """Return when the partition has no job that waits, is delayed or runs."""
    partition = r.pool.partitions()[0]
    while (seen := partition.observe()).backlog or seen.in_flight or seen.delayed:
        sleep(0.01)


def _plain_s(r: Rig, body: bytes, jobs: int) -> float:
    """Return the seconds in which a client takes bodies from a list, 100 with a call."""
    fill_list(r, body, jobs)
    began = monotonic()
    empty_list(r)
    return monotonic() - began


def fill_list(r: Rig, body: bytes, jobs: int) -> None:
    """Put bodies into a plain list."""
    for _ in range(jobs // 100):
        r.client.rpush("plain", *[body] * 100)


def empty_list(r: Rig) -> None:
    """Take all bodies from it, 100 with a call."""
    while r.client.rpop("plain", 100):
        pass
