"""Whether real processes do what the simulator says: the same bulk in both, with today's policy.

    python -m benchmarks.agreement [--only bulk,limit,hidden] [--write]

    bulk    15,000 jobs of 120 ms, 8 to 64 workers
    limit   jobs of 500 ms that wait for a declared limit of 30/s: parked, they take no worker
    hidden  jobs of 50 ms behind a database that answers 80/s, which nobody declared

Each runs for less than a minute with a server, a coordinator and a consumer, and then in virtual
time, where the load comes as long before a look of the coordinator as it really did, and takes as
long to come. Makespan and worker-seconds, up to some seconds after the last job, are compared; the
run fails if one differs by more than a tenth, or workers rose higher than they should. Prints one
JSON object as its last line; --write puts the table into docs/simulation.md.

slowest_per_s, of a real run, tells what the machine added: a database that answers 80/s and in some
seconds answered 60/s was not asked often enough, as the processes got no time to do so. A policy
cannot tell that from too few workers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import monotonic

from benchmarks.machine import describe_machine
from benchmarks.trials import TRIALS, Trial
from coordinator.decisions.ledger import DecisionBook
from coordinator.policy import make_policy
from coordinator.simulator import scenario as made
from coordinator.simulator.engine import simulate
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.client.pool import QueuePool
from queuepool.models import Limit
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from tools.tables import markdown, write

_KEY = "bulk"
_STALL_S = 4.0  # by the fewest jobs that finish within it, a stall of the machine is seen
_BEGIN_S = 2.0  # of a run, in which the load comes
_AFTER_S = 8.0  # in which the workers go back to the base
_SAMPLE_S = 0.1
_LATEST_S = 180.0
_WITHIN = 0.1
_AT_ONCE = 200  # jobs, of one call to the server
_LOOK_AT_S, _CYCLE_S = 11.0, 1.0  # in virtual time: the first look at the load, and the cycle


@dataclass(slots=True)
class Result:
    """What happened. samples: (seconds since the enqueue began, workers); came: (seconds, jobs).

    looked_s: from the enqueue to the coordinator's next look. finished: (seconds, jobs so far).
    """

    looked_s: float = 0.5
    makespan_s: float = 0.0
    worker_s: float = 0.0
    peak: int = 0
    samples: list[tuple[float, int]] = field(default_factory=list)
    came: list[tuple[float, int]] = field(default_factory=list)
    finished: list[tuple[float, int]] = field(default_factory=list)

    def note(self, at_s: float, workers: int) -> None:
        """Add a sample; the count before lasted until now."""
        if self.samples:
            last_s, last = self.samples[-1]
            self.worker_s += last * (at_s - last_s)
        self.samples.append((round(at_s, 2), workers))
        self.peak = max(self.peak, workers)

    @property
    def slowest_per_s(self) -> float:
        """Return the fewest jobs a second that finished within some seconds, while jobs waited."""
        ends_s = self.makespan_s - _CYCLE_S
        seen = [one for one in self.finished if _BEGIN_S <= one[0] <= ends_s]
        rates, first = list[float](), 0
        for at_s, jobs in seen:
            while first + 1 < len(seen) and seen[first + 1][0] <= at_s - _STALL_S:
                first += 1
            since_s, before = seen[first]
            if at_s - since_s >= _STALL_S:
                rates.append((jobs - before) / (at_s - since_s))
        return min(rates, default=0.0)


def run_real(trial: Trial) -> Result:
    """Run it on this machine."""
    result = Result()
    with tempfile.TemporaryDirectory(prefix="queuepool-agreement-") as directory:
        plan = LocalClusterSpec(
            app="benchmarks.tasks",
            partitions=1,
            log_dir=Path(directory),
            base_workers=trial.bounds.min_workers,
            max_workers=trial.bounds.max_workers,
            drain_s=5.0,
        )
        cluster = LocalProcesses(plan, lambda line: print(line, file=sys.stderr))
        try:
            cluster.start()
            with QueuePool(config=cluster.config) as pool:
                _measure(cluster, pool, trial, result)
        finally:
            cluster.stop()
    return result


def _measure(cluster: LocalProcesses, pool: QueuePool, trial: Trial, result: Result) -> None:
    partition, pause = pool.partition(0), threading.Event()
    if trial.limit_per_s:
        pool.limits.set(Limit("smtp", rate=trial.limit_per_s, burst=1))

    def until(done: Callable[[], bool], each: Callable[[], None]) -> None:
        ends_s = monotonic() + _LATEST_S
        while not done():
            if monotonic() > ends_s:
                raise TimeoutError(f"not done within {_LATEST_S:.0f} s")
            cluster.step()
            each()
            pause.wait(_SAMPLE_S)

    until(lambda: _workers(partition) >= trial.bounds.min_workers, lambda: None)
    pause.wait(5.0)  # the coordinator sees an idle partition
    began, began_ms = monotonic(), partition.observe().observed_ms

    def sample() -> None:
        state, at_s = partition.observe(), monotonic() - began
        result.note(at_s, state.owner.workers if state.owner else 0)
        result.finished.append((at_s, state.counters.get("done", 0)))

    limit = "smtp" if trial.limit_per_s else ()
    for first in range(0, trial.jobs, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, trial.jobs))
        payloads = map(trial.payload, numbers)
        pool.enqueue_many(trial.task, payloads, partition_key=_KEY, limit=limit)
        result.came.append((monotonic() - began, len(numbers)))
    until(lambda: pool.group(_KEY).status().left == 0, sample)
    result.makespan_s = monotonic() - began
    until(lambda: monotonic() - began >= result.makespan_s + _AFTER_S, sample)
    result.looked_s = _looked_s(_decided_ms(pool), began_ms)


def _decided_ms(pool: QueuePool) -> list[int]:
    """Return when each decision was made that is kept, by the server's clock, in order."""
    server, key = pool.system_of(DEFAULT_POOL)
    found, _ = DecisionBook(server, key, keep=1, partitions=1).page("", 1_000, 0)
    return sorted(record.at_ms for _, record in found)


def _looked_s(decided_ms: Sequence[int], began_ms: int) -> float:
    """Return how long after the enqueue the coordinator looked next.

    By the first decision after it: looks are a cycle apart, and one that changes nothing is not
    kept. Half a cycle if there is none.
    """
    after_s = [(at_ms - began_ms) / 1000 for at_ms in decided_ms if at_ms > began_ms]
    return after_s[0] % _CYCLE_S if after_s else _CYCLE_S / 2


def _workers(partition: Partition) -> int:
    owner = partition.observe().owner
    return owner.workers if owner else 0


def run_simulated(trial: Trial, looked_s: float, came: Sequence[tuple[float, int]] = ()) -> Result:
    """Run it in virtual time. looked_s: from the enqueue to the next look; came: or all at once.

    A busy machine enqueues for half a second, in which the first jobs have begun already.
    """
    bulk_at_s = _LOOK_AT_S - looked_s
    stream = made.Stream(
        name="bulk",
        arrivals=tuple(
            made.Burst(at_s=bulk_at_s + after_s, count=count)
            for after_s, count in came or ((0.0, trial.jobs),)
        ),
        service_s=trial.job_s,
        limit="smtp" if trial.limit_per_s else "",
    )
    scenario = made.Scenario(
        streams=(stream,),
        limits=(made.Limit(name="smtp", per_s=float(trial.limit_per_s)),) if stream.limit else (),
        hidden=made.Hidden(per_s=trial.hidden_per_s),
        bounds=trial.bounds,
        reports_s=1.0,
        cycle_s=_CYCLE_S,
        until_s=bulk_at_s + _LATEST_S,
    )
    [partition] = simulate(scenario, make_policy("sized")).partitions
    makespan_s = partition.last_finish_s - bulk_at_s
    ended = simulate(
        replace(scenario, until_s=partition.last_finish_s + _AFTER_S), make_policy("sized")
    )
    [partition] = ended.partitions
    idle = trial.bounds.min_workers * bulk_at_s
    return Result(looked_s, makespan_s, partition.worker_s - idle, ended.peak)


def differences(real: Result, simulated: Result) -> dict[str, float]:
    """Return by how much, as a share, the real run took longer and cost more."""
    return {
        "makespan": real.makespan_s / simulated.makespan_s - 1,
        "worker_s": real.worker_s / simulated.worker_s - 1,
    }


def main(argv: list[str] | None = None) -> int:
    """Run, compare, print; returns 0 when they agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(TRIALS), help="trials, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    flags = parser.parse_args(argv)
    names = flags.only.split(",")
    if set(names) - set(TRIALS):
        parser.error(f"there are {', '.join(TRIALS)}")
    rows, summary, details = [], {}, {}
    for name in names:
        trial = TRIALS[name]
        real = run_real(trial)
        simulated = run_simulated(trial, real.looked_s, real.came)
        apart = differences(real, simulated)
        passed = max(map(abs, apart.values())) <= _WITHIN and real.peak <= trial.peak
        rows.append(_row(name, trial, real, simulated))
        both = {"real": _figures(real), "simulated": _figures(simulated)}
        summary[name] = {"passed": passed, "apart": apart, **both}
        details[name] = asdict(real)
        print(f"{name}: {json.dumps(summary[name])}", file=sys.stderr)
    flags.out.mkdir(parents=True, exist_ok=True)
    document = {"machine": describe_machine(), "summary": summary, "real": details}
    (flags.out / "agreement.json").write_text(json.dumps(document, indent=1) + "\n")
    head = ["", "jobs", "makespan", "simulated", "worker-seconds", "simulated", "peak", "simulated"]
    table = markdown(head, rows)
    print(table)
    if flags.write:
        said = f"On {os.cpu_count()} cores; load average at the end: {os.getloadavg()[0]:.1f}."
        write("agreement", f"{table}\n\n{said}", "simulation.md")
    print(json.dumps(summary))
    return 0 if all(one["passed"] for one in summary.values()) else 1


def _figures(result: Result) -> dict[str, float]:
    slowest = {"slowest_per_s": round(result.slowest_per_s, 1)} if result.finished else {}
    return {
        "looked_s": round(result.looked_s, 3),
        "makespan_s": round(result.makespan_s, 2),
        "worker_s": round(result.worker_s, 1),
        "peak": result.peak,
        **slowest,
    }


def _row(name: str, trial: Trial, real: Result, simulated: Result) -> list[str]:
    return [
        f"`{name}`",
        f"{trial.jobs:,} of {trial.job_s * 1000:g} ms",
        *(f"{one.makespan_s:.1f} s" for one in (real, simulated)),
        *(f"{one.worker_s:,.0f}" for one in (real, simulated)),
        *(str(one.peak) for one in (real, simulated)),
    ]


if __name__ == "__main__":
    sys.exit(main())
