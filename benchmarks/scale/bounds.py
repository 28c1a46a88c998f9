"""What bounds the rows that miss a goal: the CPU time of both sides for a job, and of imports.

Run: `python -m benchmarks.scale.bounds [--scale 0.1] [--write]`.

Each load runs on a fresh server without persistence. `all` is the time from its beginning to its
end. The client is the process that enqueues, or the consumer. Of the server's CPU time, `commands`
and `Lua` are what it counts in scripts; the rest is I/O. As a server runs one script after the
other, and a client one thread of Python, no load takes less than the larger of the two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from time import monotonic, process_time, sleep

from benchmarks.machine import describe_machine
from benchmarks.rig import PAD, Rig, rig
from benchmarks.scale.processes import Seen, coordinating, cycles
from benchmarks.scale.shapes import empty_list, fill_list, group_of, in_turn, wait_until_drained
from queuepool import Tier
from tools.tables import markdown, write

_LOADS = ("load", "all, us each", "client", "server", "of that commands", "Lua", "I/O")
_IMPORTS = ("imports, each with those above it", "CPU, ms", "memory of its own, MB", "modules")
_MODULES = {
    "an interpreter": "sys",
    "asyncio, with TLS": "asyncio,ssl",
    "the Redis client": "redis,redis.asyncio",
    "pydantic, with its settings": "pydantic_settings",
    "the Prometheus client": "prometheus_client",
    "queuepool's consumer": "consumer.__main__",
}
_IMPORTING = """
import sys, time
from importlib import import_module
for name in sys.argv[1].split(","):
    import_module(name)
used, modules = time.process_time(), len(sys.modules)
from pathlib import Path
kb = [int(line.split()[1]) for line in Path("/proc/self/smaps_rollup").read_text().splitlines()
      if line.startswith("Private")]
print(used * 1000, sum(kb) / 1024, modules)
"""
_CYCLES, _FIRST = 8, 3  # the first cycles read what others have read already


@dataclass(frozen=True, slots=True)
class Spent:
    """Microseconds of each job."""

    all_us: float
    client_us: float
    server_us: float
    commands_us: float
    lua_us: float

    def cells(self) -> list[str]:
        """Return it as cells of a table."""
        io_us = max(0.0, self.server_us - self.commands_us - self.lua_us)
        return [f"{figure:,.1f}" for figure in (*astuple(self), io_us)]


@contextmanager
def measured(
    r: Rig, jobs: int, spent: list[Spent], cpu_s: Callable[[], float] = process_time
) -> Iterator[None]:
    """Measure a block in which so many jobs pass; append what they spent.

    cpu_s: returns the CPU seconds of the client until now.
    """
    r.reset_stats()
    began, used_s, served_s = monotonic(), cpu_s(), r.server_cpu_s()
    yield
    times_s = monotonic() - began, cpu_s() - used_s, r.server_cpu_s() - served_s
    scripts_us, inside = r.spent_us()
    commands_us = sum(inside.values()) if scripts_us else 0.0
    counted_us = commands_us, scripts_us - commands_us
    spent.append(Spent(*(s / jobs * 1e6 for s in times_s), *(us / jobs for us in counted_us)))


def grouped(jobs: int, groups: int) -> Iterator[tuple[str, Spent]]:
    """Measure jobs of so many groups in turn, on their way in and out."""
    spent: list[Spent] = []
    with rig() as r:
        with measured(r, jobs, spent):
            rows = in_turn(jobs, groups)
            r.pool.enqueue_many("noop", rows, partition_key=group_of, results="failures")
        _drain(r, jobs, spent)
    what = f"{groups:,} group{'s' if groups > 1 else ''}"
    yield from zip((f"enqueue, {what}", f"drain, {what}"), spent, strict=True)


def together(jobs: int) -> Iterator[tuple[str, Spent]]:
    """Measure jobs that are due together, until all have ended."""
    spent: list[Spent] = []
    with rig() as r:
        rows = ({"i": i, "pad": PAD} for i in range(jobs))
        r.pool.enqueue_many("noop", rows, partition_key="bulk", tier=Tier.LOW, delay_s=0.2)
        sleep(0.3)
        _drain(r, jobs, spent)
    yield f"promotion and drain of {jobs:,} jobs due together", spent[0]


def large(kilobytes: int, jobs: int) -> Iterator[tuple[str, Spent]]:
    """Measure the drain of large payloads, by a consumer and from a plain list."""
    row = {"pad": "x" * (1_000 * kilobytes - 10)}
    spent: list[Spent] = []
    with rig() as r:
        fill_list(r, json.dumps(row).encode(), jobs)
        with measured(r, jobs, spent):
            empty_list(r)
        r.pool.enqueue_many("noop", (row for _ in range(jobs)), partition_key="bulk")
        _drain(r, jobs, spent)
    yield f"a plain list, payloads of {kilobytes} kB", spent[0]
    yield f"drain, payloads of {kilobytes} kB", spent[1]


def cycled(partitions: int) -> Iterator[tuple[str, Spent]]:
    """Measure cycles of a coordinator; a job is here a partition in a cycle."""
    spent: list[Spent] = []
    with rig(partitions) as r:
        rows = ({"i": i} for i in range(2 * partitions))
        r.pool.enqueue_many("noop", rows, partition_key=lambda row: f"key-{row['i']}")
        with coordinating(r.server.url, partitions) as (seen, url):
            while (begun := cycles(url)[0]) < _FIRST:
                sleep(1)
            with measured(r, _CYCLES * partitions, spent, seen.cpu_s):
                while cycles(url)[0] < begun + _CYCLES:
                    sleep(0.5)
    yield f"a cycle, for each of {partitions:,} partitions", spent[0]


def _drain(r: Rig, jobs: int, spent: list[Spent]) -> None:
    with r.consumer(8):
        consumer = Seen(r.pids[1], Path())
        with measured(r, jobs, spent, consumer.cpu_s):
            wait_until_drained(r)


def imports() -> Iterator[list[str]]:
    """Measure fresh processes that import ever more of what a consumer needs."""
    names = ""
    for what, more in _MODULES.items():
        names = f"{names},{more}".lstrip(",")
        done = subprocess.run(
            [sys.executable, "-c", _IMPORTING, names], check=True, capture_output=True, text=True
        )
        cpu_ms, private_mb, modules = map(float, done.stdout.split())
        yield [what, f"{cpu_ms:,.0f}", f"{private_mb:,.1f}", f"{modules:,.0f}"]


def loads(scale: float) -> Iterator[tuple[str, Spent]]:
    """Measure every load, at a share of the usual sizes."""
    crowd = max(2_000, int(200_000 * scale))
    for groups in (1, crowd):
        yield from grouped(crowd, groups)
    yield from together(crowd)
    for kilobytes, most in ((1, 100_000), (10, 20_000), (100, 4_000)):
        yield from large(kilobytes, max(200, int(most * scale)))
    yield from cycled(max(10, int(4_000 * scale)))


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.bounds")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual sizes")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    flags = parser.parse_args(argv)
    rows = []
    for load, spent in loads(flags.scale):
        rows.append([load, *spent.cells()])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    tables = f"{markdown(_LOADS, rows)}\n\n{markdown(_IMPORTS, imports())}"
    print(tables)
    if flags.write:
        machine = f"Machine: {json.dumps(describe_machine())}."
        write("bounds", f"{tables}\n\n{machine}", "performance.md")


if __name__ == "__main__":
    main()
