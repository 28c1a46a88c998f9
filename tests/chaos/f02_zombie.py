"""F2: the owner is stopped for more than three leases and then continues, while a successor works.

It wakes in the middle of its jobs, with acknowledgements to send. Every one must be refused, it
must start nothing, and it must end by itself.
"""

import signal
from time import monotonic

from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine, pause

_FENCED = 3  # the exit code of a consumer that was replaced
_MS = 100  # long enough for jobs to run when the stop comes, and to end when it is over


def _run(trial: Trial) -> Result:
    zombies, jobs = (1, 200) if trial.quick else (3, 1200)
    random = trial.random
    said: list[str] = []
    refused = 0
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        rig.consumer()
        rig.owner()
        rig.consumer().says("standing by")
        producer = rig.producer(jobs=jobs, ms=_MS, batch=100)
        for n in range(zombies):
            least = int(jobs * (n + 0.1 + 0.5 * random.random()) / (zombies + 1))
            rig.until(lambda least=least: rig.count("done") > least, f"{least} done")  # type: ignore[misc]
            zombie, before = rig.owner(), rig.count("fenced")
            rig.strike(
                zombie, signal.SIGSTOP, takeover_s=LEASE_S + 2 + trial.late_s, lease_s=LEASE_S
            )
            stopped_s = monotonic()
            rig.until(lambda z=zombie: rig.owner() is not z, "a successor")  # type: ignore[misc]
            pause(max(0.0, stopped_s + 3 * LEASE_S + 0.1 - monotonic()))
            zombie.signal(signal.SIGCONT)
            code = zombie.ends()
            if code != _FENCED:
                said.append(f"the zombie {zombie.pid} ended with {code}, not {_FENCED}")
            fenced = rig.count("fenced") - before
            if not fenced:
                said.append(f"no write of the zombie {zombie.pid} was refused")
            refused += fenced
            rig.consumer().says("standing by")
        producer.ends()
        rig.drained(jobs)
        # What a zombie could still finish would be there twice when its successor finishes it.
        said += [
            f"{counter}: {taken} ends of jobs came from two owners"
            for counter in ("duplicate_finish", "rollback_finish")
            if (taken := rig.count(counter))
        ]
        verdict = rig.verdict().also(said)
        return Result(verdict=verdict, sums={"zombies": zombies, "writes refused": refused})


FAULTS = [
    Fault(
        number="F2",
        name="zombie: owner stopped for 3 leases, then resumed",
        expected="all its writes refused (more than 0); no job ends twice",
        procedure=_run,
        runs=6,
    )
]
