"""F14: ids that stand for another job by now, when their owner repeats what it said before.

The consumer is cut off with its acknowledgements on the way: the server has them, the answer is
lost. The ids are forgotten and accepted again, and then the network is back. And: dead jobs of a
cancelled group are replayed, and the consumers that run them are killed.
"""

import signal
from collections import Counter

from queuepool import Job
from queuepool.verbs.owner import verbs as own
from tests.chaos.actions import admin, enqueue
from tests.chaos.checker import Verdict
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine

_GROUP = "group"
_FORGET_MS = 200_000
_LATENCY_S, _LEASE_S = 0.5, 20.0  # so long an answer is on the way
_MS = 800
_STRICT = (0, 0, 0, 0)


def _accepted_again(trial: Trial) -> Result:
    jobs, rounds = (8, 1) if trial.quick else (16, 5)
    again = 0
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig, admin(rig) as client:
        near = rig.proxy()
        rig.consumer(url=near.url, workers=jobs, lease_s=_LEASE_S)
        rig.owner()
        base = rig.pool.partitions()[0].key
        total, wanted = 0, Counter[str]()
        for n in range(rounds):
            before = rig.count("done")
            ids = [f"job-{n}-{k}" for k in range(jobs)]
            assert enqueue(rig, "chaos_work", jobs_of(ids, _MS), partition_key=_GROUP) == jobs
            rig.until(lambda n=n: _begun(rig, f"job-{n}-") == jobs, "all jobs begin")  # type: ignore[misc]
            near.slow(_LATENCY_S)
            rig.until(lambda b=before: rig.count("done") > b, "an acknowledgement")  # type: ignore[misc]
            near.cut()  # its answer is still on the way
            client.hincrby(base + b":c", "dn_since", -_FORGET_MS)  # as if so much time had passed
            new = enqueue(rig, "chaos_work", jobs_of(ids, 5), partition_key=_GROUP)
            if new != rig.count("done") - before:
                said.append(f"{new} ids were accepted again, {rig.count('done') - before} ended")
            known = rig.pool.partitions()[0]
            wanted.update(ids)
            wanted.update(i for i in ids if known.status(i).state == "ready")
            again += new
            total += jobs + new
            near.healthy()
            rig.drained(total)
        ran = Counter(run.job_id for run in rig.events().runs if run.ended_ns is not None)
        unrun = [i for i in wanted if ran[i] < wanted[i]]
        said += [f"{len(unrun)} jobs were ended without a run: {unrun[:3]}"] if unrun else []
        said += [
            f"audit: {report}" for p in rig.pool.partitions() if not (report := p.audit()).clean
        ]
        repeated = rig.count("duplicate_finish")
        if not again:
            said.append("no acknowledgement was lost: nothing was tested")
        if repeated < again:
            said.append(f"{repeated} ends counted as repeated, of {again}")
    return Result(
        verdict=Verdict(jobs=total, violations=tuple(said)),
        sums={"ids accepted again": again, "ends repeated": repeated},
    )


def jobs_of(ids: list[str], ms: float) -> list[Job]:
    """Return jobs of these ids that take so long."""
    return [Job({"ms": ms}, job_id=job_id) for job_id in ids]


def _begun(rig: Rig, prefix: str) -> int:
    return len({run.job_id for run in rig.events().runs if run.job_id.startswith(prefix)})


def _replayed(trial: Trial) -> Result:
    jobs, kills = (80, 1) if trial.quick else (400, 4)
    said: list[str] = []
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        [partition] = rig.pool.partitions()
        rig.enqueue("dead", jobs, ms=150, group=_GROUP)
        _bury_all(rig, jobs)
        partition.cancel_group(_GROUP.encode())
        rig.consumer(lease_s=trial.lease_s)
        rig.owner()
        rig.consumer(lease_s=trial.lease_s).says("standing by")
        while ids := [dead.job_id for dead in partition.dead(count=200)]:
            partition.replay(ids)
        for n in range(kills):
            least = int(jobs * (n + 0.1 + 0.4 * trial.random.random()) / (kills + 1))
            rig.until(lambda least=least: rig.count("done") > least, f"{least} done")  # type: ignore[misc]
            killed = rig.owner()
            rig.strike(killed, signal.SIGKILL, takeover_s=LEASE_S + 2 + trial.late_s)
            rig.until(lambda k=killed: rig.owners() and rig.owner() is not k, "a successor")  # type: ignore[misc]
            rig.consumer(lease_s=trial.lease_s).says("standing by")
        rig.until(lambda: not rig.observe()[0].jobs, "an empty partition", 60)
        cancelled = rig.count("cancelled")
        if cancelled:
            said.append(f"{cancelled} replayed jobs were dropped as cancelled")
        return Result(
            verdict=rig.verdict().also(said),
            sums={"jobs replayed": rig.count("replayed"), "recovered": rig.count("recovered")},
        )


def _bury_all(rig: Rig, jobs: int) -> None:
    """Claim every job and bury it, as an owner does whose code is broken."""
    [partition] = rig.pool.partitions()
    owned = partition.acquire(lease_s=60, host="broken")
    assert not isinstance(owned, own.Held)
    while rig.observe()[0].dead < jobs:
        claims = owned.run(
            own.claim(owned.ownership, 200, starting=200, promote_after_ms=0, weights=_STRICT)
        )
        owned.run(
            own.bury(
                owned.ownership,
                [(i, b'{"reason":"failed"}') for i in claims.ids],
                keep_jobs=10**6,
                keep_bytes=2**40,
                keep_ms=10**10,
            )
        )
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


FAULTS = [
    Fault(
        number="F14a",
        name="lost acknowledgement, owner cut off until its ids are accepted again",
        expected="the new jobs run; each repeated end counts as a duplicate",
        procedure=_accepted_again,
        runs=6,
    ),
    Fault(
        number="F14b",
        name="dead jobs of a cancelled group replayed, consumers killed",
        expected="0 lost, none dropped as cancelled; duplicate starts <= running at the kill",
        procedure=_replayed,
        runs=4,
    ),
]
