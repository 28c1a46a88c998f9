"""F10: jobs that kill, starve or freeze the consumer that runs them, among innocent ones.

A supervisor restarts what ended, as a platform would, and kills what was replaced and does not
answer, as a liveness probe would. A process freezes only while another stands by.

A poison job must be dead after the three crashes that it is charged, or, where the consumer
survives it, after its attempts; every innocent job must be done.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Any

from queuepool import Job
from tests.chaos import permission
from tests.chaos.actions import enqueue
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine
from tests.integration.consumer.processes import ConsumerProcess

_APP = "tests.chaos.app,tests.chaos.poisons"
# CONSUMER_MAX_CRASHES, or the attempts of those that the consumer survives; and one, when it began
# from memory before it was booked as started.
_BEGINS = 3 + 1
_FENCED = 3


@dataclass
class _Supervisor:
    """Keeps an owner and a standby, and notes what befell each consumer. freezes: not by ending."""

    rig: Rig
    freezes: bool
    permitted: set[int] = field(default_factory=set)
    struck: set[int] = field(default_factory=set)
    exits: Counter[int] = field(default_factory=Counter)
    killed: int = 0

    def start(self) -> None:
        self.rig.consumer(app=_APP)

    def tend(self, poisons: frozenset[str]) -> None:
        rig = self.rig
        if self.freezes:  # from its begin on the process is a zombie in waiting
            begun = {run.pid for run in rig.events().runs if run.job_id in poisons}
            for process in rig.consumers:
                if process.pid in begun - self.struck:
                    self._strike(process, None)
        owner = rig.owners().get(0)
        if self.freezes and owner is not None and self._is_stood_by(owner):
            self._give_leave(owner)
        for process in tuple(rig.consumers):
            if not process.is_running():
                if process.pid not in self.struck:
                    self._strike(process, 0)  # no signal any more; what it had in flight is noted
                self.exits[process.ends()] += 1
                rig.consumers.remove(process)
                self.start()
            elif process.pid in self.struck and owner != process.pid and not _lives(process):
                process.signal(signal.SIGKILL)
                process.ends()
                self.killed += 1

    def _give_leave(self, owner: int) -> None:
        if owner not in self.permitted:
            self.permitted.add(owner)
            permission.give(self.rig.directory, owner)

    def _is_stood_by(self, owner: int) -> bool:
        return any(
            process.pid not in self.struck | {owner}
            and process.is_running()
            and "standing by" in process.log
            for process in self.rig.consumers
        )

    def _strike(self, process: ConsumerProcess, number: int | None) -> None:
        lease_s = LEASE_S if number is None else None
        self.struck.add(process.pid)
        self.rig.strike(process, number, takeover_s=None, lease_s=lease_s)


def _lives(process: ConsumerProcess) -> bool:
    try:
        process.get("/healthz", timeout_s=1)
    except (OSError, HTTPException):
        return False
    return True


_WORK = {"ms": 20, "batch": 20, "pause_s": 0.05}


def _with(
    task: str, *, reason: str, freezes: bool = False, survives: bool = False, short: bool = False
) -> Any:
    def run(trial: Trial) -> Result:
        jobs = 150 if trial.quick else 600
        # Jobs so short, in so many groups, that a poison job is always claimed ahead.
        work = {"jobs": 10 * jobs, "groups": 300} if short else {"jobs": jobs, **_WORK}
        return _run(trial, task, reason, work, freezes=freezes, survives=survives)

    return run


def _run(
    trial: Trial, task: str, reason: str, work: dict[str, Any], *, freezes: bool, survives: bool
) -> Result:
    jobs, count = work["jobs"], 1 if trial.quick else 2
    payload = {"hold_s": 3 * LEASE_S} if task == "poison_lock" else {}
    poisons = frozenset(f"poison-{n}" for n in range(count))
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        supervisor = _Supervisor(rig, freezes)
        supervisor.start()
        rig.owner()
        supervisor.start()
        producer = rig.producer(**work)
        rig.until(lambda: rig.count("done") > jobs / 10, "some jobs done")
        enqueue(
            rig,
            task,
            [Job(payload, partition_key=f"group-{n}", job_id=id) for n, id in enumerate(poisons)],
        )
        rig.until(_drained(rig, supervisor, jobs, poisons), "all drained", timeout_s=90)
        producer.ends()
        begins = Counter(run.job_id for run in rig.events().runs if run.job_id in poisons)
        said += [f"{id} began {n} times" for id, n in begins.items() if n > _BEGINS]
        dead = rig.pool.partition(0).dead()
        if {job.job_id for job in dead} != poisons:
            said.append(f"dead are {sorted(job.job_id for job in dead)}, not {sorted(poisons)}")
        found = {job.error.reason for job in dead}
        if found - {reason, "crashed"} or (not survives and found != {reason}):
            said.append(f"they died of {sorted(found)}")
        if bool(supervisor.struck) == survives:
            said.append(f"{len(supervisor.struck)} consumers were harmed")
        return Result(
            verdict=rig.verdict().also(said),
            sums={
                "poison jobs": count,
                "consumers crashed by them": sum(supervisor.exits.values()),
                **({"killed by the probe": supervisor.killed} if freezes else {}),
            },
            peaks={"starts of one": max(begins.values())},
        )


def _drained(
    rig: Rig, supervisor: _Supervisor, jobs: int, poisons: frozenset[str]
) -> Callable[[], bool]:
    def is_so() -> bool:
        supervisor.tend(poisons)
        state = rig.observe()[0]
        ended = state.counters.get("done", 0) + state.dead
        return ended >= jobs + len(poisons) and state.jobs == state.dead

    return is_so


_BASE = Fault(
    number="F10",
    name="",
    expected="dead after 3 charged crashes and at most 1 uncharged; no other job dead",
    procedure=_with("poison_exit", reason="crashed"),
    runs=4,
    quick=False,
)
_ATTEMPTS = "the consumer survives; dead after its 3 attempts; no other job dead"
FAULTS = [
    replace(_BASE, number="F10a", name="poison: os._exit", quick=True),
    replace(
        _BASE,
        number="F10b",
        name="poison: segmentation fault",
        procedure=_with("poison_segfault", reason="crashed"),
    ),
    replace(
        _BASE,
        number="F10c",
        name="poison: memory until the limit of the process",
        expected="dead after 3 attempts or crashes; no other job dead",
        procedure=_with("poison_memory", reason="failed", survives=True),
    ),
    replace(
        _BASE,
        number="F10d",
        name="poison: endless loop with a timeout",
        expected=_ATTEMPTS,
        procedure=_with("poison_loop", reason="timeout", survives=True),
    ),
    replace(
        _BASE,
        number="F10e",
        name="poison: GIL held for 3 leases",
        procedure=_with("poison_lock", reason="crashed", freezes=True),
    ),
    replace(
        _BASE,
        number="F10f",
        name="poison: GIL held forever (regular expression)",
        procedure=_with("poison_regex", reason="crashed", freezes=True),
    ),
    replace(
        _BASE,
        number="F10g",
        name="poison: os._exit, among jobs of 0 ms in 300 groups",
        procedure=_with("poison_exit", reason="crashed", short=True),
    ),
]
