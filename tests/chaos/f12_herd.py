"""F12: everything at once. Sizes are what two cores bear; each row names its own.

Times of scripts are told and not judged: beside so many processes they are waits for a processor.

a   all consumers restart at the same moment: connections stay below the server's limit
b   many delayed jobs come due in the same second
c   all jobs fail while what they call is down: their retries are spread
"""

from __future__ import annotations

import signal
from collections import Counter
from dataclasses import replace
from time import monotonic

import redis

from queuepool import Job
from tests.chaos.actions import admin, enqueue
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine

_A_PROCESS = 3  # connections of a consumer, as F7 allows


def _restarts(trial: Trial) -> Result:
    count = 8 if trial.quick else 40
    jobs, said, peak = count * 25, [], [0]
    limit = count * _A_PROCESS + 20  # the producer's, the rig's, ours
    where = {"partitions": count, "binary": engine(trial.number)}
    with (
        Rig(trial.directory, extra_args=("--maxclients", str(limit)), **where) as rig,  # type: ignore[arg-type]
        admin(rig) as server,
    ):
        first = [rig.consumer(lease_s=20) for _ in range(count)]
        rig.until(lambda: len(rig.owners()) == count, "owners", timeout_s=120)
        producer = rig.producer(jobs=jobs, ms=20, batch=20, pause_s=0.5, groups=8 * count)
        rig.until(lambda: rig.count("done") > jobs / 10, "some jobs done", timeout_s=60)
        server.config_resetstat()
        for consumer in first:
            consumer.signal(signal.SIGTERM)
        began_s = monotonic()
        for _ in first:
            rig.consumer(lease_s=20)
        known = {p.pid for p in rig.consumers} - {p.pid for p in first}

        def restarted() -> bool:
            peak[0] = max(peak[0], int(server.info("clients")["connected_clients"]))
            owners = rig.owners()
            return len(owners) == count and set(owners.values()) <= known

        rig.until(restarted, "all partitions owned again", timeout_s=180)
        took_s = monotonic() - began_s
        codes = [consumer.ends(60) for consumer in first]
        said += [f"a consumer ended with {code}" for code in codes if code != 0]
        producer.ends(120)
        rig.drained(jobs, timeout_s=120)
        if int(server.info("stats")["rejected_connections"]):
            said.append("the server refused connections")
        return Result(
            verdict=rig.verdict().also(said),
            sums={"restarts": count},
            peaks={
                f"connections, of {limit},": peak[0],
                "owned again after, s,": took_s,
                **_scripts(server),
            },
        )


def _due(trial: Trial) -> Result:
    jobs = 5_000 if trial.quick else 200_000
    partitions, said = 2, []
    with (
        Rig(trial.directory, partitions=partitions, binary=engine(trial.number)) as rig,
        admin(rig) as server,
    ):
        for _ in range(partitions):
            rig.consumer(lease_s=10)
        rig.until(lambda: len(rig.owners()) == partitions, "owners")
        began_s, trial_jobs = monotonic(), jobs // 20
        enqueue(rig, "chaos_work", _jobs(range(jobs, jobs + trial_jobs)))
        due_s = monotonic() + 40 * (monotonic() - began_s) + 2  # twice what all of them take
        rig.drained(trial_jobs, timeout_s=120)
        first = 0
        while first < jobs:  # the same second for all of them
            some = range(first, min(first + 5_000, jobs))
            enqueue(rig, "chaos_work", _jobs(some), delay_s=max(0.0, due_s - monotonic()))
            first = some.stop
        if monotonic() > due_s - 0.2:
            said.append("the first jobs were due before the last one was enqueued")
        server.config_resetstat()
        began = rig.count("done")
        rig.until(lambda: rig.count("done") > began, "the first is done", timeout_s=60)
        began_s = monotonic()
        rig.drained(jobs + trial_jobs, timeout_s=300)
        rate = jobs / (monotonic() - began_s)
        owners = [p for p in rig.consumers if not p.is_running()]
        said += [f"consumer {p.pid} ended:\n{p.log[-500:]}" for p in owners]
        return Result(
            verdict=rig.verdict().also(said),
            sums={"due in one second": jobs},
            peaks={"jobs a second": rate, **_scripts(server)},
        )


def _jobs(numbers: range) -> list[Job]:
    return [Job({}, partition_key=f"group-{n % 50}", job_id=f"due-{n}") for n in numbers]


def _retries(trial: Trial) -> Result:
    """Let every job fail once or more, until the gate opens; look at when they are due."""
    jobs = 2_000 if trial.quick else 100_000
    said = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig, admin(rig) as server:
        rig.consumer(app="tests.chaos.app,tests.chaos.outage", lease_s=10)
        rig.owner()
        server.config_resetstat()
        enqueue(rig, "away", _jobs(range(jobs)))
        rig.until(lambda: rig.count("retried") >= jobs, "all failed", timeout_s=300)
        base = rig.pool.partition(0).key
        due_ms = [score for _, score in server.zrange(base + b":dl", 0, -1, withscores=True)]
        (rig.directory / "back").touch()
        per_second = Counter(int(ms // 1000) for ms in due_ms)
        # A ceiling of 60 s and more, full jitter: if they were spread evenly over the first 60 s.
        even = len(due_ms) / 60
        crowd = max(per_second.values()) / even
        if len(due_ms) < jobs / 10:
            said.append(f"only {len(due_ms)} retries were waiting: nothing was seen")
        if crowd > 3:
            said.append(f"{max(per_second.values())} of {len(due_ms)} retries come in one second")
        rig.drained(jobs, timeout_s=400)
        return Result(
            verdict=rig.verdict().also(said),
            sums={"retries": rig.count("retried")},
            peaks={
                "waiting at once": len(due_ms),
                "fullest second, of an even one,": crowd,
                **_scripts(server),
            },
        )


def _scripts(server: redis.Redis) -> dict[str, float]:
    """Return how long all script calls took in ms, waits for a processor included."""
    found = server.info("latencystats")["latency_percentiles_usec_evalsha"]
    return {f"script {name}, ms,": float(found[name]) / 1000 for name in ("p50", "p99", "p99.9")}


_BASE = Fault(
    number="F12",
    name="",
    expected="no connection refused; all done; script times as measured",
    procedure=_restarts,
    runs=2,
    quick=False,
)
FAULTS = [
    replace(_BASE, number="F12a", name="herd: 40 consumers restart at once"),
    replace(
        _BASE,
        number="F12b",
        name="herd: 200,000 delayed jobs due in one second",
        expected="all done; no takeover; script times as measured",
        procedure=_due,
    ),
    replace(
        _BASE,
        number="F12c",
        name="herd: 100,000 jobs fail while their dependency is down",
        expected="retries spread: no second has 3 times its share; script times as measured",
        procedure=_retries,
    ),
]
