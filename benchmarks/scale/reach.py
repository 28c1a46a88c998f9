"""How far the design goes, on paper: `python -m benchmarks.scale.reach --write`, for docs/scale.md.

Each figure follows from measured ones in docs/performance.md, by one of two formulas:

    a part carries at most   1 / its cost of one thing
    a load needs             rate x cost / SHARE   of that part, rounded up

The cost is what the part spends while nothing else is in its way, so what it carries is an upper
bound. One partition of the load is simulated with the default policy, which is the part that no
division tells.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coordinator.policy import Limits, make_policy
from coordinator.simulator.scenario import Flow, Scenario, Stream
from coordinator.simulator.scorecard import Score, Scorecard
from tools.tables import DOCS, markdown, write

RATE = 1_000_000  # jobs a second, of the load
PARTITIONS = 4_000
SHARE = 0.6  # of a part is planned with: the rest is for peaks, and for parts that are away
CYCLE_S = 1.0
JOB_S = 0.02  # of the simulated partition
SERVER_GB = 64
_MEASURED = re.compile(r"^\| (?P<name>[^|]+?) \| (?P<figure>-?\d[\d.,e+]*)[ |]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One part. cost_us: of one thing, microseconds of the part; rate: of such things, a second."""

    part: str
    thing: str
    cost_us: float
    source: str
    rate: float

    @property
    def most(self) -> float:
        """Return how many things a second one part carries at most."""
        return 1e6 / self.cost_us

    @property
    def needed(self) -> int:
        """Return how many parts the load needs."""
        return math.ceil(self.rate * self.cost_us / 1e6 / SHARE)

    def cells(self) -> list[str]:
        """Return it as cells of a table."""
        most = float(f"{self.most:.2g}")
        return [
            self.part,
            self.thing,
            f"{self.cost_us:,.3g} us ({self.source})",
            f"{most:,.0f} a second",
            f"{self.needed:,}",
        ]


def figures(page: str) -> dict[str, float]:
    """Return what the tables of a page say, by the first cell of each row: the first number."""
    return {
        found["name"]: float(found["figure"].replace(",", "")) for found in _MEASURED.finditer(page)
    }


def rows(measured: Mapping[str, float]) -> Iterator[Row]:
    """Yield each part of the load. Raises KeyError for a figure that was not measured."""
    drained = measured["server_cpu_s_per_10k_jobs"] * 100
    enqueued = 1e6 / measured["enqueue_many_per_s"]
    told = "`server_cpu_s_per_10k_jobs`, and at most a job of `enqueue_many_per_s`"
    yield Row("server", "job, from enqueue to end", drained + enqueued, told, RATE)
    worked = measured["worker_cpu_s_per_10k_jobs"] * 100
    told = "`worker_cpu_s_per_10k_jobs`"
    yield Row("consumer process", "job that does nothing", worked, told, RATE)
    yield Row("producer process, in bulk", "job", enqueued, "`enqueue_many_per_s`", RATE)
    yield Row("producer thread, one by one", "job", measured["enqueue_us"], "`enqueue_us`", RATE)
    looked = measured["cycle_ms[partitions=1000]"]  # ms for 1,000 partitions: us for one
    told = "`cycle_ms[partitions=1000]`, the server's share included"
    yield Row("coordinator", "look at a partition", looked, told, PARTITIONS / CYCLE_S)


def memory(measured: Mapping[str, float]) -> list[list[str]]:
    """Return rows about memory."""
    queued = measured["bytes_per_queued_job"]
    own_mb = measured["memory of its own of an idle consumer"]
    held = SERVER_GB * 1e9 * SHARE / queued
    servers = next(row for row in rows(measured) if row.part == "server").needed
    return [
        ["a queued job of 120 bytes", f"{queued:,.0f} bytes", f"a server of {SERVER_GB} GB, filled "
         f"by {SHARE:.0%}: {held / 1e6:,.0f} million jobs"],
        ["a backlog while every consumer is away", f"{RATE * queued / 1e9:,.2f} GB a second",
         f"{servers} such servers are full after {held * servers / RATE / 60:,.0f} minutes"],
        ["an idle consumer", f"{own_mb:,.1f} MB", f"one for each of {PARTITIONS:,} partitions: "
         f"{own_mb * PARTITIONS / 1000:,.0f} GB"],
    ]  # fmt: skip


def one_partition() -> Score:
    """Simulate ten minutes of one partition of the load; return how the default policy did."""
    flow = Flow(from_s=0.0, until_s=600.0, per_s=RATE / PARTITIONS)
    stream = Stream(name="share", arrivals=(flow,), service_s=JOB_S, cv=1.0, lanes=50)
    scenario = Scenario(
        name="one partition", streams=(stream,), bounds=Limits(min_workers=1, max_workers=64),
        reports_s=1.0, until_s=600.0,
    )  # fmt: skip
    return Scorecard(scenario).score(make_policy("sized"), "sized")[0]


def text(measured: Mapping[str, float]) -> str:
    """Return the tables, and what the simulation says."""
    heads = ["part", "what", "costs it", "one carries at most", f"needed at {SHARE:.0%}"]
    score = one_partition()
    return "\n\n".join(
        [
            markdown(heads, (row.cells() for row in rows(measured))),
            markdown(["memory", "costs", "so"], memory(measured)),
            f"Each partition gets {RATE / PARTITIONS:,.0f} jobs a second. With jobs of "
            f"{JOB_S * 1000:.0f} ms on average, exponentially spread, `sized` and 1 to 64 workers, "
            f"the simulator says: the wait is {score.wait_p50_s * 1000:.0f} ms in the median and "
            f"{score.wait_p99_s * 1000:.0f} ms at p99, for {score.cost:.2f} times the cost of an "
            f"oracle, with {score.peak} workers at most.",
        ]
    )


def main(argv: list[str] | None = None) -> int:
    """Print what docs/scale.md says, or write it there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.reach")
    parser.add_argument("--write", action="store_true", help="put it into docs/scale.md")
    made = text(figures((DOCS / "performance.md").read_text()))
    if parser.parse_args(argv).write:
        write("reach", made, "scale.md")
    print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
