"""What is measured. Each trial makes its own stages and returns figures by name, units last.

A figure that could not be had is None; the tables show it as a dash.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.adapters.harness import Order
from benchmarks.peers.catalog import Entry
from benchmarks.peers.envs import PeerError
from benchmarks.peers.stage import Launcher, Stage
from benchmarks.rig import quantile

Figures = dict[str, float | None]

_FIRST_JOB_S = 60.0  # from starting workers to their first job; 64 processes take a while
_DRAIN_S = 600.0
_CRASH_AT = 0.4
_KILLS = 5
_LEAST_CPU_S = 0.1
_LOOK_ON_S = 20.0  # after the last missing job ran: late duplicates show up by then


@dataclass
class Bench:
    """One peer, ready to be measured. `scale` is a share of the usual job counts."""

    entry: Entry
    launcher: Launcher
    server: Path
    scale: float = 1.0
    window_s: float = 150.0  # of a crash: how long a missing job is waited for
    foreign_cores: list[float] = field(default_factory=list)

    def count(self, jobs: int) -> int:
        """Return a job count, scaled."""
        return max(20, int(jobs * self.scale))

    def stage(self, worker_processes: int = 1) -> Stage:
        """Return a fresh stage."""
        return Stage(self.launcher, self.server, worker_processes)

    def note(self, stage: Stage) -> None:
        """Remember how busy the machine was with other things."""
        self.foreign_cores.append(stage.foreign_cores())


def enqueue(bench: Bench) -> Figures:
    """One producer: one call a job, then the best bulk call; memory per queued job."""
    jobs = bench.count(bench.entry.jobs)
    with bench.stage() as stage:
        one = stage.enqueue(Order(jobs=min(jobs, bench.count(10_000)), bulk=False))
        bench.note(stage)
    with bench.stage() as stage:
        many = stage.enqueue(Order(jobs=jobs))
        size = (stage.used_bytes() - stage.fresh_bytes) / jobs
        bench.note(stage)
    return {"enqueue_one_per_s": one, "enqueue_bulk_per_s": many, "queued_job_bytes": size}


def drain(bench: Bench) -> Figures:
    """No-op jobs at a concurrency of 8 a process, with one worker process and with two."""
    jobs = bench.count(bench.entry.jobs)
    one = _drained(bench, Order(jobs=jobs), concurrency=8)
    two = _drained(bench, Order(jobs=jobs), concurrency=8, worker_processes=2)
    return {
        "drain_per_s": one["per_s"],
        "drain_two_processes_per_s": two["per_s"],
        "worker_cpu_s_per_10k": one["worker_cpu_s_per_10k"],
        "server_cpu_s_per_10k": one["server_cpu_s_per_10k"],
        "finished_job_bytes": one["finished_job_bytes"],
    }


def sleeping(bench: Bench) -> Figures:
    """Jobs that sleep 10 ms at a concurrency of 64: 6,400 a second would be ideal."""
    order = Order(jobs=bench.count(bench.entry.sleeping_jobs), sleep_ms=10)
    return {"sleeping_per_s": _drained(bench, order, concurrency=64)["per_s"]}


def latency(bench: Bench) -> Figures:
    """From the enqueue call to the job's start, a job every 20 ms, nothing else to do."""
    jobs, warm = bench.count(500), 20
    with bench.stage() as stage:
        stage.work(8)
        stage.enqueue(Order(jobs=warm, bulk=False, first=jobs, gap_ms=20))
        _expect(stage, warm, _FIRST_JOB_S)
        stage.enqueue(Order(jobs=jobs, bulk=False, gap_ms=20))
        _expect(stage, warm + jobs, _FIRST_JOB_S)
        waits = [(r.started - r.enqueued) / 1e6 for r in stage.records.ran if r.id < jobs]
        bench.note(stage)
    return {"start_p50_ms": quantile(waits, 0.5), "start_p99_ms": quantile(waits, 0.99)}


def rival(bench: Bench) -> Figures:
    """20 jobs of tenant B behind 20,000 of tenant A, 5 ms each, at a concurrency of 8."""
    many, few = bench.count(20_000), 20
    with bench.stage() as stage:
        stage.enqueue(Order(jobs=many, sleep_ms=5, tenant="A"))
        stage.enqueue(Order(jobs=few, sleep_ms=5, tenant="B", first=many, is_rival=True))
        stage.work(8)
        _expect(stage, many + few, _DRAIN_S)
        began = min(r.started for r in stage.records.ran)
        waits = [(r.started - began) / 1e9 for r in stage.records.ran if r.is_rival]
        ended = max(r.ended for r in stage.records.ran)
        bench.note(stage)
    return {
        "rival_p50_s": quantile(waits, 0.5),
        "rival_max_s": max(waits),
        "backlog_s": (ended - began) / 1e9,
    }


def crash(bench: Bench) -> Figures:
    """2,000 jobs of 5 ms; all workers are killed at 40 %, and a new one is started.

    A job is missing when it has not ended `window_s` after that. It ran twice when it ended
    twice; duplicates are looked for until 20 s after the last job came. A kill that caught no
    job shows nothing, so it is tried again, a few times.
    """
    jobs, attempt = bench.count(2_000), 0
    while True:
        attempt += 1
        with bench.stage() as stage:
            stage.enqueue(Order(jobs=jobs, sleep_ms=5, note_starts=True))
            stage.work(8)
            _expect(stage, int(jobs * _CRASH_AT), _DRAIN_S, step_s=0.005)
            stage.kill()
            killed_ns = time.monotonic_ns()
            ended = stage.records.poll()
            running = stage.records.starts - ended
            if running or attempt == _KILLS:
                return {"running_at_kill": running, **_recovery(bench, stage, jobs, killed_ns)}


def _recovery(bench: Bench, stage: Stage, jobs: int, killed_ns: int) -> Figures:
    stage.work(8)
    complete = stage.wait(lambda: len(stage.records.ids()) >= jobs, bench.window_s, 0.1)
    seen = stage.records.ids()
    if complete:
        stage.wait(lambda: False, _LOOK_ON_S, 0.2)
    first_end: dict[int, int] = {}
    for ran in stage.records.ran:
        first_end[ran.id] = min(ran.ended, first_end.get(ran.id, ran.ended))
    bench.note(stage)
    return {
        "missing": jobs - len(seen),
        "ran_twice": len(stage.records.ran) - len(first_end),
        "recovered_s": (max(first_end.values()) - killed_ns) / 1e9 if complete else None,
    }


def _drained(bench: Bench, order: Order, *, concurrency: int, worker_processes: int = 1) -> Figures:
    with bench.stage(worker_processes) as stage:
        stage.enqueue(order)
        stage.work(concurrency)
        _expect(stage, 1, _FIRST_JOB_S, step_s=0.01)
        n0, workers0, server0 = _costs(stage)
        _expect(stage, order.jobs, _DRAIN_S)
        n1, workers1, server1 = _costs(stage)
        began = min(r.started for r in stage.records.ran)
        ended = max(r.ended for r in stage.records.ran)
        figures: Figures = {"per_s": (n1 - 1) / ((ended - began) / 1e9)}
        figures["worker_cpu_s_per_10k"] = _per_10k(workers1 - workers0, n1 - n0)
        figures["server_cpu_s_per_10k"] = _per_10k(server1 - server0, n1 - n0)
        bench.note(stage)
        time.sleep(1.0)  # acknowledgements may lag behind the jobs
        stage.kill()
        figures["finished_job_bytes"] = (stage.used_bytes() - stage.fresh_bytes) / order.jobs
        return figures


def _per_10k(spent_s: float, jobs: int) -> float | None:
    # The kernel counts in ticks of 10 ms: what is only a few of them is not a figure.
    return spent_s / jobs * 1e4 if spent_s >= _LEAST_CPU_S else None


def _costs(stage: Stage) -> tuple[int, float, float]:
    return stage.records.poll(), stage.workers_cpu_s(), stage.server_cpu_s()


def _expect(stage: Stage, jobs: int, limit_s: float, step_s: float = 0.05) -> None:
    if not stage.wait(stage.ran(jobs), limit_s, step_s):
        raise PeerError(f"{len(stage.records.ran)} of {jobs} jobs ended in {limit_s:g} s")


TRIALS: dict[str, Callable[[Bench], Figures]] = {
    "enqueue": enqueue,
    "drain": drain,
    "sleeping": sleeping,
    "latency": latency,
    "rival": rival,
    "crash": crash,
}
