"""Run the demo: start a cluster, load it, watch it, count."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queuepool.cli.arguments import add_json, positive
from queuepool.cli.commands.demo import tasks
from queuepool.cli.commands.demo.ledger import Ledger, percentile
from queuepool.cli.commands.demo.load import PARTITIONS, Load, plan_actions
from queuepool.cli.commands.demo.show import Show, summary_text
from queuepool.cli.commands.up import Interrupts, unready
from queuepool.cli.display import output
from queuepool.cli.display.view import ClusterView
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.sources import ServerSource
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.client.pool import QueuePool
from queuepool.errors import UnavailableError

BASE_WORKERS, MAX_WORKERS = 8, 64
_LOOK_S = 0.25
_READY_S = 30.0
_AT_MOST_S = 240.0
_SETTLE_S = 30.0  # how long to watch the workers scale down
Reached = Callable[[], object]
_SCALING = {  # scales down faster than in production: no one watches a demo for minutes
    "COORDINATOR_CYCLE_S": "0.5",
    "COORDINATOR_HOLD_S": "4",
    "COORDINATOR_TAU_S": "4",
}


DESCRIPTION = """\
Run a cluster of real processes for two minutes: bulk actions of 100,000 jobs in total,
and small groups that overtake them. Nothing is left behind.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool demo`."""
    parser.add_argument("--items", type=positive, default=100_000, metavar="N", help="bulk jobs")
    parser.add_argument("--no-live", action="store_true", help="plain lines instead of a live view")
    add_json(parser, "print the summary as one JSON object on the last line of standard output")


def run(arguments: argparse.Namespace) -> Exit:
    """Run the demo; fails when a job was lost."""
    for name in [n for n in os.environ if n.startswith(("CONSUMER_", "COORDINATOR_"))]:
        del os.environ[name]  # settings of another cluster are not meant for this one
    directory = Path(tempfile.mkdtemp(prefix="queuepool-demo-"))
    interrupts = Interrupts()
    try:
        with interrupts.caught():
            summary = _Demo(directory, interrupts, arguments).run()
    except CommandError as error:
        raise CommandError(f"{error} (logs: {directory})", error.code, error.lines[1:]) from error
    if interrupts.count:
        shutil.rmtree(directory, ignore_errors=True)
        raise CommandError("interrupted; nothing is left behind", Exit.INTERRUPTED)
    failed = summary["lost"] or summary["unexpected"] or summary["problem"]
    if arguments.json:
        output.print_json(summary)
    else:
        output.say(*summary_text(summary).split("\n"))
    if failed:
        problem = summary["problem"] or f"{summary['lost']:,} jobs were lost"
        raise CommandError(f"the demo failed: {problem}; its logs are in {directory}")
    shutil.rmtree(directory, ignore_errors=True)
    return Exit.OK


@dataclass(slots=True)
class Watched:
    """The extremes observed during the run."""

    peaks: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))
    commands: dict[tuple[int, int], int] = field(default_factory=dict)

    def note(self, view: ClusterView) -> None:
        """Remember peaks and the newest command of each leader to each partition."""
        for row in view.rows:
            self.peaks[row.partition] = max(self.peaks[row.partition], row.workers)
            epoch, _, sequence = row.last_command.partition("-")
            if epoch.isdigit() and sequence.isdigit():
                self.commands[row.partition, int(epoch)] = int(sequence)


class _Demo:
    """One run; everything but the enqueueing happens on this thread."""

    def __init__(
        self, directory: Path, interrupts: Interrupts, arguments: argparse.Namespace
    ) -> None:
        self._interrupts, self._items = interrupts, arguments.items
        self._ledger, self._watched = Ledger(directory), Watched()
        self._show = Show(self._ledger, live=not arguments.no_live)
        spec = LocalClusterSpec(
            app=tasks.__name__,
            partitions=PARTITIONS,
            log_dir=directory / "logs",
            base_workers=BASE_WORKERS,
            max_workers=MAX_WORKERS,
            drain_s=10.0,
            environment={tasks.DIRECTORY: str(directory), **_SCALING},
        )
        self._cluster = LocalProcesses(spec, self._show.say)
        self._view: ClusterView | None = None

    def run(self) -> dict[str, Any]:
        """Run everything; return the summary."""
        try:
            self._cluster.start()
            with QueuePool(config=self._cluster.config) as pool:
                return self._with(pool)
        finally:
            self._cluster.stop(lambda: self._interrupts.count > 0)

    def _with(self, pool: QueuePool) -> dict[str, Any]:
        load = Load(pool, self._ledger, plan_actions(pool, self._items))
        source = ServerSource(pool)
        problem: str | None = None
        with self._show:
            try:
                problem = self._until(source, "starting", _READY_S, lambda: not unready(pool))
                started = time.monotonic()
                load.start()
                problem = problem or self._until(
                    source,
                    "bulk actions run",
                    _AT_MOST_S,
                    lambda: load.problem or (load.all_enqueued and load.bulk_left() == 0),
                )
                seconds, ended_ms = time.monotonic() - started, time.time() * 1000
                self._until(source, "workers fall", _SETTLE_S, self._at_base)
            finally:
                load.stop()
            self._until(source, "the rest", 10.0, lambda: self._is_empty(pool))
        self._cluster.stop(lambda: self._interrupts.count > 0)
        self._ledger.read()
        return self._summary(seconds, ended_ms, load.problem or problem)

    def _until(
        self, source: ServerSource, phase: str, limit_s: float, reached: Reached
    ) -> str | None:
        """Supervise the cluster until a condition holds; return a problem if it never does."""
        deadline = time.monotonic() + limit_s
        while not self._interrupts.wait(_LOOK_S):
            self._cluster.step()
            self._ledger.read()
            try:
                self._view = source.look()
                self._watched.note(self._view)
                self._show.update(self._view, phase)
                if reached():
                    return None
            except UnavailableError as error:
                self._show.say(str(error))
            if time.monotonic() > deadline:
                return f"{phase}: not done after {limit_s:g} s"
        return None

    def _at_base(self) -> bool:
        view = self._view
        return view is not None and all(r.workers <= BASE_WORKERS for r in view.rows)

    @staticmethod
    def _is_empty(pool: QueuePool) -> bool:
        return all(p.observe().jobs == 0 for p in pool.partitions())

    def _summary(self, seconds: float, ended_ms: float, problem: str | None) -> dict[str, Any]:
        # Small groups after the bulk actions overtook nothing: they would flatter the figures.
        ledger, waits = self._ledger, self._ledger.waits_s(until_ms=ended_ms)
        return {
            "items": len(ledger.enqueued),
            "lost": ledger.lost,
            "duplicates": ledger.duplicates,
            "seconds": round(seconds, 2),
            "small_group_wait_p50_s": percentile(waits, 0.5),
            "small_group_wait_p99_s": percentile(waits, 0.99),
            "per_partition_worker_peak": {str(n): p for n, p in self._watched.peaks.items()},
            "commands_sent": sum(self._watched.commands.values()),
            "bulk_items": self._items,
            "small_groups": len(waits),
            "unexpected": ledger.unexpected,
            "workers_at_end": self._view.total("workers") if self._view else 0,
            "problem": problem,
        }
