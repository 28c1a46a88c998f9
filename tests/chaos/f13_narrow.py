"""F13: large results over a narrow link to the server, with the timeouts that are the default.

Everything must be recorded, the lease kept, nothing run twice. A result that cannot get through at
all must end as a failed attempt, and must not keep the others back.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from queuepool import Job
from tests.chaos.actions import enqueue
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine

_LEASE_S = 10.0  # the default, and with it the time for an answer
_MBIT = 125_000
_SIZE = 200_000


def _narrow(mbit_per_s: float, *, jobs: int, quick_jobs: int) -> Callable[[Trial], Result]:
    def run(trial: Trial) -> Result:
        count = quick_jobs if trial.quick else jobs
        said: list[str] = []
        with Rig(trial.directory, binary=engine(trial.number)) as rig:
            proxy = rig.proxy()
            owner = rig.consumer(url=proxy.url, lease_s=_LEASE_S)
            assert rig.owner() is owner
            rig.consumer(lease_s=_LEASE_S).says("standing by")
            proxy.narrow(mbit_per_s * _MBIT)
            began_s = monotonic()
            items = [Job({"size": _SIZE}, job_id=f"large-{n}") for n in range(count)]
            enqueue(rig, "chaos_large", items, partition_key="large")
            most_s = 2 * count * _SIZE / (mbit_per_s * _MBIT) + 90  # a busy machine carries less
            rig.drained(count, timeout_s=most_s)
            took_s = monotonic() - began_s
            if rig.owner() is not owner:
                said.append("a narrow link cost the partition")
            least_s = 0.9 * count * _SIZE / (mbit_per_s * _MBIT)
            if took_s < least_s:
                said.append(f"the link was not narrow: {took_s:.1f} s")
            verdict = rig.verdict().also(said)
            failures = _turn_failures(owner.get("/metrics")[1])
        return Result(
            verdict=verdict,
            sums={"turns without a reply": failures},
            peaks={"s, of the link's own " + f"{least_s / 0.9:.1f}": took_s},
        )

    return run


def _hopeless(trial: Trial) -> Result:
    others = 100  # about 3 s of the link alone; the large one is tried for half a minute
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        proxy = rig.proxy()
        owner = rig.consumer(url=proxy.url, lease_s=_LEASE_S)
        assert rig.owner() is owner
        rig.consumer(lease_s=_LEASE_S).says("standing by")
        proxy.narrow(0.1 * _MBIT)  # 1 MB takes 80 s
        enqueue(rig, "chaos_large", [Job({"size": 10**6}, job_id="big")], partition_key="large")
        rig.until(lambda: rig.count("done") or "no answer" in owner.log or _began(rig), "its begin")
        rig.enqueue("other", others, ms=1)
        rig.until(lambda: rig.count("done") >= others, "the others", timeout_s=60)
        if rig.observe()[0].dead:
            said.append("the others were done only after the large one")
        rig.drained(others + 1, timeout_s=150)
        dead = [(job.job_id, job.error.reason) for job in rig.pool.partition(0).dead()]
        if dead != [("big", "bad-result")]:
            said.append(f"dead are {dead}")
        if rig.owner() is not owner:
            said.append("a narrow link cost the partition")
        if "did not reach the server in time" not in owner.log:
            said.append("nobody was told of the result that was released")
        verdict = rig.verdict().also(said)
        failures = _turn_failures(owner.get("/metrics")[1])
    return Result(verdict=verdict, sums={"turns without a reply": failures})


def _began(rig: Rig) -> bool:
    return bool(rig.events().runs)


def _turn_failures(metrics: str) -> float:
    found = re.search(r"queuepool_consumer_turn_failures_total\{[^}]*\} ([0-9.]+)", metrics)
    assert found is not None, metrics
    return float(found[1])


_BASE = Fault(
    number="F13",
    name="",
    expected="all recorded; no takeover; nothing twice",
    procedure=_hopeless,
    runs=2,
)
FAULTS = [
    replace(
        _BASE,
        number="F13a",
        name="results of 200 kB over 100 Mbit/s",
        procedure=_narrow(100, jobs=1200, quick_jobs=400),
    ),
    replace(
        _BASE,
        number="F13b",
        name="results of 200 kB over 1 Mbit/s",
        procedure=_narrow(1, jobs=40, quick_jobs=10),
        quick=False,
    ),
    replace(
        _BASE,
        number="F13c",
        name="a result of 1 MB over 0.1 Mbit/s, among small jobs",
        expected="other jobs continue; it ends as a failed attempt; no takeover; nothing twice",
        quick=False,
    ),
]
