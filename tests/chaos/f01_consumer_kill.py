"""F1: the owner of a partition is killed with SIGKILL at random, several times in a run.

Only what ran at a kill, or had ended without being acknowledged, runs again.
"""

import signal
from collections.abc import Callable
from dataclasses import replace

from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine

_DEFAULT_LEASE_S = 10.0
_WITHIN_S = 2.0  # a standby sees that the owner's connections are closed, and waits for no lease


def _killed(
    kills: int, jobs: int, takeover_s: float, lease_s: Callable[[Trial], float]
) -> Callable[[Trial], Result]:
    """Return a procedure with so many kills; `make test` runs it with one, and few jobs."""

    def run(trial: Trial) -> Result:
        return _run(trial, kills, jobs, lease_s(trial), takeover_s + trial.late_s)

    return run


def _run(trial: Trial, kills: int, jobs: int, lease_s: float, takeover_s: float) -> Result:
    if trial.quick:
        kills, jobs = 1, 400
    random = trial.random
    with Rig(trial.directory, binary=engine(trial.number)) as rig:
        rig.consumer(lease_s=lease_s)
        rig.owner()
        rig.consumer(lease_s=lease_s).says("standing by")
        producer = rig.producer(jobs=jobs, ms=20, batch=50, pause_s=0.01)
        for n in range(kills):
            # Somewhere in this share of the work, so that every kill finds a busy owner.
            least = int(jobs * (n + 0.1 + 0.6 * random.random()) / (kills + 1))
            rig.until(lambda least=least: rig.count("done") > least, f"{least} done")  # type: ignore[misc]
            rig.strike(rig.owner(), signal.SIGKILL, takeover_s=takeover_s)
            rig.standby(lease_s=lease_s)  # or the new one takes over
        producer.ends()
        rig.drained(jobs)
        recovered = rig.count("recovered")
        verdict = rig.verdict()
        nothing = [] if recovered else ["no kill hit a busy owner: nothing was recovered"]
        return Result(verdict=verdict.also(nothing), sums={"recovered": recovered, "kills": kills})


_KILLED = Fault(
    number="F1a",
    name="consumer SIGKILL at random",
    expected="0 lost; duplicate starts at most what ran at the kill; takeover in lease + 2 s",
    procedure=_killed(4, 2000, LEASE_S + 2, lambda trial: trial.lease_s),
    runs=8,
)
FAULTS = [
    _KILLED,
    replace(
        _KILLED,
        number="F1b",
        name="consumer SIGKILL at random, at the default lease of 10 s",
        expected="0 lost; duplicate starts at most what ran at the kill; takeover in 2 s",
        procedure=_killed(20, 10_000, _WITHIN_S, lambda _: _DEFAULT_LEASE_S),
        runs=1,
        quick=False,
    ),
]
