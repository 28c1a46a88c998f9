"""A healthy cluster whose workers are all busy gets no finding of the doctor.

    python -m tests.e2e.healthy [--minutes 60]          `make healthy`

Four partitions under `queuepool up`. Jobs of twelve groups are enqueued as others end, so that each
worker always has one; one in fifty fails at first, and is retried. What the leader finds every five
seconds is in the log of the queue: none may be there. Exit code 1 if one is.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from queuepool import QueuePool
from queuepool.models.log import LogEntry
from queuepool.settings.environment import load_pool_config
from queuepool.telemetry import printing
from tests.e2e.clusters import LocalUp, up

PARTITIONS, GROUPS, WORKERS = 4, 12, 8
_JOB_S = 0.1
_ENOUGH = 2 * PARTITIONS * WORKERS  # jobs that wait
_APP = f'''"""Jobs that wait for something, and now and then fail once."""
import threading
from queuepool import JobContext, task
_pause = threading.Event()
@task(max_attempts=5)
def call(n: int, ctx: JobContext) -> None:
    _pause.wait({_JOB_S})
    if n % 50 == 0 and ctx.attempt == 1:
        raise ConnectionError("try again")
'''


@dataclass
class Seen:
    """What was seen. busy: shares of workers that had a job, of each look."""

    findings: list[LogEntry] = field(default_factory=list)
    ended: int = 0
    retried: int = 0
    busy: list[float] = field(default_factory=list)
    verdict: str = ""


def watch(folder: Path, minutes: float) -> Seen:
    """Keep a cluster busy for so long; return what was found and done."""
    (folder / "app.py").write_text(_APP)
    limits = {"COORDINATOR_MAX_WORKERS": str(WORKERS), "CONSUMER_MAX_WORKERS": str(WORKERS)}
    words = ("--app", "app", "--partitions", str(PARTITIONS))
    with up(folder, *words, ready=True, **limits) as cluster:
        here = Path.cwd()
        os.chdir(folder)
        try:
            config = load_pool_config()
        finally:
            os.chdir(here)
        with QueuePool(config=config) as pool:
            return _under_load(cluster, pool, minutes)


def _under_load(cluster: LocalUp, pool: QueuePool, minutes: float) -> Seen:
    seen, n, pause = Seen(), 0, threading.Event()
    until_s = monotonic() + 60 * minutes
    while monotonic() < until_s:
        states = [place.observe() for place in pool.places()]
        workers = sum(s.owner.workers for s in states if s.owner is not None)
        seen.busy.append(sum(s.owner.busy for s in states if s.owner is not None) / max(workers, 1))
        short = 2 * _ENOUGH - sum(s.backlog for s in states)
        for group in range(GROUPS if short > _ENOUGH else 0):
            some = [{"n": n + m} for m in range(short // GROUPS)]
            pool.enqueue_many("call", some, partition_key=f"group-{group}")
            n += len(some)
        pause.wait(0.1)
    ends = [place.observe().counters for place in pool.places()]
    seen.ended = sum(one.get("done", 0) for one in ends)
    seen.retried = sum(one.get("retried", 0) for one in ends)
    seen.findings = [e for e in pool.log(kinds=["finding"]) if e.what == "found"]
    seen.verdict = cluster.run("doctor").out.strip()
    return seen


def main() -> int:
    """Watch, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = watch(Path(folder), given.minutes)
    printing.say(
        f"{given.minutes:g} minutes: {seen.ended:,} jobs done, {seen.retried:,} retries, workers "
        f"{sum(seen.busy) / max(len(seen.busy), 1):.0%} busy; {len(seen.findings)} findings; "
        f"at the end: {seen.verdict}"
    )
    for one in seen.findings:
        printing.say(f"  {one.subject}: {one.outcome} {one.why}")
    return 1 if seen.findings else 0


if __name__ == "__main__":
    sys.exit(main())
