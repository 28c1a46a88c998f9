"""Extras: deploys. Versions that alternate under load, and too little grace for the jobs."""

import signal
from time import monotonic
from typing import Any

from queuepool.verbs.scripts import named, script
from tests.chaos.actions import admin
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine

_APPS = ("tests.chaos.app", "tests.chaos.app,tests.chaos.newer_scripts")
_GRACE_S, _ENDS_S = 1.0, 3.0


def _mixed(trial: Trial) -> Result:
    """Replace each owner by one of the other version, again and again; its standby is the third."""
    deploys, jobs = (2, 400) if trial.quick else (8, 2400)
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig, admin(rig) as server:
        rig.consumer(app=_APPS[0])
        rig.owner()
        rig.consumer(app=_APPS[1]).says("standing by")
        producer = rig.producer(jobs=jobs, ms=20, batch=50, pause_s=0.02)
        for n in range(deploys):
            least = int(jobs * (n + 0.5) / (deploys + 1))
            rig.until(lambda least=least: rig.count("done") > least, f"{least} done")  # type: ignore[misc]
            before = rig.owner()
            before.signal(signal.SIGTERM)
            code = before.ends()
            if code != 0:
                said.append(f"a deploy ended with {code}:\n{before.log[-600:]}")
            rig.until(lambda b=before: rig.owner() is not b, "another owner")  # type: ignore[misc]
            rig.consumer(app=_APPS[n % 2])
        producer.ends()
        rig.drained(jobs)
        newer = named("claim", script("claim").source.replace(b"\n", b"\nlocal newer\n", 1))
        shas = (script("claim").sha.decode(), newer.sha.decode())
        if server.script_exists(*shas) != [True, True]:
            said.append("not both versions have worked")
        if rig.count("recovered") or rig.count("fenced"):
            said.append("a deploy cost a recovery, or a write was refused")
        return Result(verdict=rig.verdict().also(said), sums={"deploys": deploys})


def _short_grace(trial: Trial) -> Result:
    """Stop owners whose jobs take three times as long as they may."""
    stops, jobs = (1, 30) if trial.quick else (3, 90)
    said: list[str] = []
    handed_back = 0
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        # A single crash that is charged would make a dead job.
        strict: dict[str, Any] = {"drain_s": _GRACE_S, "max_crashes": 1}
        rig.consumer(**strict)
        rig.owner()
        rig.consumer(**strict).says("standing by")
        rig.producer(jobs=jobs, ms=3 * _GRACE_S * 1000, batch=30).ends()
        for _ in range(stops):
            owner = rig.owner()
            rig.first_begin(0, owner.pid)
            rig.strike(owner, takeover_s=None)
            owner.signal(signal.SIGTERM)
            began_s = monotonic()
            code = owner.ends()
            if code != 0 or monotonic() - began_s > _GRACE_S + _ENDS_S:
                said.append(f"it ended with {code} after {monotonic() - began_s:.1f} s")
            handed_back += sum(
                run.pid == owner.pid and run.ended_ns is None for run in rig.events().runs
            )
            rig.consumer(**strict)
        rig.drained(jobs, timeout_s=120)
        if not handed_back:
            said.append("every job ended in time: nothing was tested")
        return Result(
            verdict=rig.verdict().also(said),
            sums={"stops": stops, "jobs handed back while they ran": handed_back},
        )


FAULTS = [
    Fault(
        number="X8",
        name="two versions of the scripts in a rolling upgrade",
        expected="0 lost; no duplicate; nothing refused",
        procedure=_mixed,
        runs=3,
        quick=False,
    ),
    Fault(
        number="X9",
        name="SIGTERM with less grace than the jobs need",
        expected="in time; jobs run again, uncharged; 0 lost",
        procedure=_short_grace,
        runs=3,
        quick=False,
    ),
]
