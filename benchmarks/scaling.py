"""The reference run of scaling: one partition, 100,000 jobs of 120 ms, base 8, at most 64 workers.

    python -m benchmarks.scaling [--jobs 100000] [--ms 120] [--out benchmarks/results]

Real processes: a server, a coordinator, a consumer. The ideal is 64 workers from the first second
to the last: jobs x ms / 64. Writes the numbers (JSON) and, where matplotlib is installed, a chart;
prints one JSON object as its last line; fails when the run took more than 1 / 0.93 of the ideal
plus 2 s, when the peak was not the maximum, or when the workers did not come back to the base.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic

from benchmarks.machine import describe_machine
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.client.pool import QueuePool
from queuepool.models import PartitionState
from queuepool.partitions.partition import Partition

_KEY = "reference-bulk"
_SAMPLE_S = 0.25
_RETURN_S = 400.0  # hold 30 s, then decay with tau 60 s, from 64 to 8


@dataclass(slots=True)
class Run:
    """What happened; samples are (seconds since the enqueue, workers, backlog)."""

    jobs: int
    job_s: float
    base: int
    most: int
    enqueue_s: float = 0.0
    makespan_s: float = 0.0
    peak: int = 0
    returned_s: float | None = None
    commands: list[str] = field(default_factory=list)
    samples: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def ideal_s(self) -> float:
        """Return the makespan of the most workers from the first second to the last."""
        return self.jobs * self.job_s / self.most

    @property
    def passed(self) -> bool:
        """Return whether the run is within its goal, and the workers rose and came back."""
        in_time = self.makespan_s <= self.ideal_s / 0.93 + 2.0
        return in_time and self.peak == self.most and self.returned_s is not None


def run(
    jobs: int,
    ms: float,
    base: int,
    most: int,
    *,
    wait_return: bool,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run it on this machine, in about ideal + 3 minutes; environment is for the processes."""
    result = Run(jobs, ms / 1000, base, most)
    with tempfile.TemporaryDirectory(prefix="queuepool-scaling-") as directory:
        plan = LocalClusterSpec(
            app="benchmarks.tasks",
            partitions=1,
            log_dir=Path(directory),
            base_workers=base,
            max_workers=most,
            drain_s=5.0,
            environment=environment or {},
        )
        cluster = LocalProcesses(plan, lambda line: print(line, file=sys.stderr))
        try:
            cluster.start()
            with QueuePool(config=cluster.config) as pool:
                _measure(cluster, pool, result, wait_return=wait_return)
        finally:
            cluster.stop()
    return result


def _measure(cluster: LocalProcesses, pool: QueuePool, result: Run, *, wait_return: bool) -> None:
    partition, pause = pool.partition(0), threading.Event()
    while _workers(partition.observe()) < result.base:
        cluster.step()
        pause.wait(0.1)
    began = monotonic()
    pool.enqueue_many(
        "nap", ({"ms": result.job_s * 1000, "i": i} for i in range(result.jobs)), partition_key=_KEY
    )
    result.enqueue_s = monotonic() - began
    while result.makespan_s == 0.0:
        _sample(partition, began, result)
        if pool.group(_KEY).status().left == 0:
            result.makespan_s = monotonic() - began
        cluster.step()
        pause.wait(_SAMPLE_S)
    while wait_return and result.returned_s is None:
        workers = _sample(partition, began, result)
        after = monotonic() - began - result.makespan_s
        if workers <= result.base:
            result.returned_s = after
        elif after > _RETURN_S:
            break
        cluster.step()
        pause.wait(_SAMPLE_S)


def _sample(partition: Partition, began: float, result: Run) -> int:
    state = partition.observe()
    workers = _workers(state)
    result.samples.append((round(monotonic() - began, 2), workers, state.backlog))
    result.peak = max(result.peak, workers)
    if not result.commands or result.commands[-1] != state.last_command:
        result.commands.append(state.last_command)
    return workers


def _workers(state: PartitionState) -> int:
    return state.owner.workers if state.owner else 0


def chart(result: Run, path: Path) -> bool:
    """Draw workers and backlog over time; returns False where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9, 4))
    seconds = [s for s, _, _ in result.samples]
    axis.step(seconds, [w for _, w, _ in result.samples], where="post", color="tab:blue")
    axis.set_xlabel("seconds")
    axis.set_ylabel("workers", color="tab:blue")
    other = axis.twinx()
    other.plot(seconds, [b for _, _, b in result.samples], color="tab:orange")
    other.set_ylabel("backlog", color="tab:orange")
    axis.axvline(result.makespan_s, linestyle=":", color="grey")
    axis.set_title(
        f"{result.jobs:,} jobs of {result.job_s * 1000:g} ms: {result.makespan_s:.1f} s "
        f"(ideal {result.ideal_s:.1f} s)"
    )
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return True


def main(argv: list[str] | None = None) -> int:
    """Run, write, print; returns 0 when the goal was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--ms", type=float, default=120.0)
    parser.add_argument("--base", type=int, default=8)
    parser.add_argument("--max", type=int, default=64)
    parser.add_argument("--no-return", action="store_true", help="do not wait for the base")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    flags = parser.parse_args(argv)
    result = run(flags.jobs, flags.ms, flags.base, flags.max, wait_return=not flags.no_return)
    flags.out.mkdir(parents=True, exist_ok=True)
    drawn = chart(result, flags.out / "scaling.png")
    summary = {
        **{k: v for k, v in asdict(result).items() if k not in ("samples", "commands")},
        "ideal_s": result.ideal_s,
        "share_of_ideal": result.ideal_s / result.makespan_s,
        "commands_seen": len(result.commands),
        "passed": result.passed,
        "chart": drawn,
        "machine": describe_machine(),
    }
    document = {**summary, "samples": result.samples, "commands": result.commands}
    (flags.out / "scaling.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(summary))
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
