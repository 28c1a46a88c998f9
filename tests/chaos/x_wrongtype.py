"""Extra: another program writes a string where keys of a partition will be, and takes it back.

Whoever meets it gets a typed error that names the reason, and nothing is done by half: the owner
stays, continues afterwards, and the books are in order without a repair.
"""

from __future__ import annotations

from functools import partial

from queuepool.errors import ScriptError
from queuepool.tasks.job import Job
from tests.chaos.actions import admin, enqueue
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine, pause

# None of them is there while nothing fails, but for a lane of the group "p".
_SUFFIXES = ("q:2:p", "dl", "dead", "cn", "cmd", "at", "cr", "cx", "rec", "er", "dr", "pr")
_JOBS = 1500


def _run(trial: Trial) -> Result:
    said: list[str] = []
    told = 0
    with Rig(trial.directory, binary=engine(trial.number)) as rig, admin(rig) as server:

        def heartbeat() -> int:
            owner = rig.observe()[0].owner
            return owner.heartbeat_ms if owner else 0

        def renewed(before_ms: int) -> bool:
            return heartbeat() > before_ms

        rig.consumer()
        owner = rig.owner()
        rig.consumer().says("standing by")
        rig.producer(jobs=_JOBS, ms=100, batch=100).ends()
        rig.until(lambda: rig.count("done"), "a job done")
        base = rig.pool.partition(0).key
        for suffix in _SUFFIXES:
            key = base + b":" + suffix.encode()
            assert server.set(key, "not ours", nx=True), f"{suffix} is there"
            pause(LEASE_S / 3)
            try:
                enqueue(rig, "chaos_work", [Job({}, partition_key="p", job_id=f"x-{suffix}")])
            except ScriptError as error:
                told += "Another program writes" in str(error)
            if server.type(key) == b"string":  # else it made way for one of ours, which stays
                server.delete(key)
            rig.until(partial(renewed, heartbeat()), "a renewal")
        if rig.observe()[0].jobs == 0:
            said.append("all jobs were done before the last key")
        rig.until(lambda: rig.observe()[0].jobs == 0, "all drained", timeout_s=120)
        if rig.owner() is not owner:
            said.append("it cost the partition")
        if not told:
            said.append("nobody was told")
        if "WRONGTYPE" not in owner.log:
            said.append("the owner met none of it")
        return Result(
            verdict=rig.verdict().also(said),
            sums={"keys": len(_SUFFIXES), "typed refusals of enqueues": told},
        )


FAULTS = [
    Fault(
        number="X7",
        name="keys of a wrong type for a third of a lease",
        expected="0 lost; no duplicate; no takeover; audit clean without a repair",
        procedure=_run,
        runs=3,
        quick=False,
    )
]
