"""F1: the owner of a partition is killed with SIGKILL at random, several times in a run.

Only what ran at a kill, or had ended without being acknowledged, runs again.
"""

import signal

from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine


def _run(trial: Trial) -> Result:
    kills, jobs = (1, 400) if trial.quick else (4, 2000)
    random = trial.random
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        rig.consumer(lease_s=trial.lease_s)
        rig.owner()
        rig.consumer(lease_s=trial.lease_s).says("standing by")
        producer = rig.producer(jobs=jobs, ms=20, batch=50, pause_s=0.01)
        for n in range(kills):
            # Somewhere in this share of the work, so that every kill finds a busy owner.
            least = int(jobs * (n + 0.1 + 0.6 * random.random()) / (kills + 1))
            rig.until(lambda least=least: rig.count("done") > least, f"{least} done")  # type: ignore[misc]
            rig.strike(rig.owner(), signal.SIGKILL, takeover_s=LEASE_S + 2 + trial.late_s)
            rig.standby(lease_s=trial.lease_s)  # or the new one takes over
        producer.ends()
        rig.drained(jobs)
        recovered = rig.count("recovered")
        verdict = rig.verdict()
        nothing = [] if recovered else ["no kill hit a busy owner: nothing was recovered"]
        return Result(verdict=verdict.also(nothing), sums={"recovered": recovered, "kills": kills})


FAULTS = [
    Fault(
        number="F1",
        name="consumer SIGKILL at random",
        expected="0 lost; duplicate starts at most what ran at the kill; takeover in lease + 2 s",
        procedure=_run,
        runs=8,
    )
]
