"""Extras: handlers that fork, and children that outlive a consumer that is killed."""

import signal

from queuepool import Job
from tests.chaos.actions import enqueue
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine

_APP = "tests.chaos.app,tests.chaos.forkers"
_HOWS = ("exit", "return", "raise", "stay")


def _run(trial: Trial) -> Result:
    jobs, forks = (200, 24) if trial.quick else (800, 120)
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        port = rig.consumer(app=_APP, metrics_port=0).port
        rig.owner()
        producer = rig.producer(jobs=jobs, ms=10, batch=20, pause_s=0.02)
        waves = [range(n, forks, 2) for n in (0, 1)]
        _enqueue(rig, waves[0])
        rig.until(lambda: rig.count("done") > jobs / 3, "a third done")
        rig.strike(rig.owner(), signal.SIGKILL, takeover_s=LEASE_S + 2 + trial.late_s)
        second = rig.consumer(app=_APP, metrics_port=port)  # while children of the first one live
        rig.until(lambda: not second.is_running() or rig.owners().get(0) == second.pid, "an owner")
        if not second.is_running():
            said.append(f"the next consumer ended with {second.ends()}:\n{second.log[-600:]}")
        _enqueue(rig, waves[1])
        producer.ends()
        rig.drained(jobs + forks)
        if second.get("/healthz")[0] != 200:
            said.append("the next consumer does not respond on its port")
        children = (rig.directory / "children").read_text().splitlines()
        if len({line.split()[1] for line in children}) < len(_HOWS):
            said.append(f"only {len(children)} children were made")
        return Result(verdict=rig.verdict().also(said), sums={"children": len(children)})


def _enqueue(rig: Rig, numbers: range) -> None:
    enqueue(
        rig,
        "fork_child",
        [
            Job({"how": _HOWS[n // 2 % 4]}, partition_key=f"group-{n % 5}", job_id=f"fork-{n}")
            for n in numbers
        ],
    )


FAULTS = [
    Fault(
        number="X10",
        name="handlers that fork: children end in every way, and outlive a consumer's SIGKILL",
        expected="0 lost; a child runs no job; the next consumer gets the port of the first",
        procedure=_run,
        runs=4,
    )
]
