"""F5: the server is killed with SIGKILL and comes back with its append-only file.

It stays away for less or for more than a lease. Owners must keep their partitions, although every
lease has ended, and no one may notice but by waiting.
"""

from collections.abc import Callable
from time import monotonic_ns

from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine, pause

_PARTITIONS = 2
_RESUMES_S = 3.0
_LEASE_S = 3.0  # a server that syncs every write on a busy disk may stall for a second


def _with(fsync: str) -> Callable[[Trial], Result]:
    def run(trial: Trial) -> Result:
        return _run(trial, fsync)

    return run


def _run(trial: Trial, fsync: str) -> Result:
    kills, jobs = (1, 400) if trial.quick else (4, 2400)
    random = trial.random
    said: list[str] = []
    resumed: list[float] = []
    options = {"binary": engine(trial.number), "extra_args": ("--appendfsync", fsync)}
    with Rig(trial.directory, partitions=_PARTITIONS, **options) as rig:  # type: ignore[arg-type]
        for _ in range(_PARTITIONS + 1):
            rig.consumer(lease_s=_LEASE_S)
        rig.until(lambda: len(rig.owners()) == _PARTITIONS, "owners")
        owners = rig.owners()
        producer = rig.producer(jobs=jobs, ms=20, batch=20, pause_s=0.02)
        longest = random.randrange(kills)  # this time every lease ends meanwhile
        for n in range(kills):
            least = int(jobs * (n + 0.1 + 0.6 * random.random()) / (kills + 1))
            rig.until(lambda least=least: rig.count("done") > least, f"{least} done")  # type: ignore[misc]
            rig.server.kill()
            pause(_LEASE_S + 1 if n == longest else random.choice([0.0, _LEASE_S / 2]))
            rig.server.start()
            resumed.append(rig.first_begin(monotonic_ns()))
            if resumed[-1] > _RESUMES_S + trial.late_s:
                said.append(f"work resumed {resumed[-1]:.2f} s after the server was up")
        producer.ends()
        rig.drained(jobs)
        if rig.owners() != owners:
            said.append(f"owners changed from {owners} to {rig.owners()}")
        said += [f"consumer {p.pid} ended:\n{p.log}" for p in rig.consumers if not p.is_running()]
        return Result(
            verdict=rig.verdict().also(said),
            sums={"kills": kills},
            peaks={"work resumed after, s,": max(resumed)},
        )


FAULTS = [
    Fault(
        number=number,
        name=f"server SIGKILL and restart, appendfsync {fsync}",
        expected="0 lost; no takeover; work resumes in 3 s",
        procedure=_with(fsync),
        runs=5,
        quick=fsync == "always",  # with everysec a kill during a sync may lose, though seldom
    )
    for number, fsync in (("F5a", "everysec"), ("F5b", "always"))
]
