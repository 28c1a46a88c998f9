"""F19: two consumers share six partitions that are all busy, and are killed, stopped and cut off.

They move all the time, so blows fall on consumers that drain, that own nothing for the moment, and
that have just begun; each partition must have its turns, and nobody may run what another one runs.
"""

import signal

from queuepool.routing.slots import home_of
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine, pause

_PARTITIONS, _CONSUMERS, _WORKERS = 6, 2, 8
_MS = 20
_LEASE_S = 3.0


def _run(trial: Trial) -> Result:
    blows, jobs = (2, 300) if trial.quick else (9, 2500)
    lease_s = max(_LEASE_S, trial.lease_s)
    said: list[str] = []
    kills = 0
    with Rig(trial.directory, partitions=_PARTITIONS, binary=engine(trial.number)) as rig:
        near = [rig.proxy() for _ in range(_CONSUMERS)]
        running = [rig.consumer(url=proxy.url, lease_s=lease_s) for proxy in near]
        for partition in range(_PARTITIONS):
            rig.enqueue(f"p{partition}", jobs, ms=_MS, group=_key_of(partition))
        for n in range(blows):
            least = int(_PARTITIONS * jobs * (n + trial.random.random()) / (blows + 1))
            rig.until(lambda least=least: rig.count("done") >= least, f"{least} done")  # type: ignore[misc]
            which = trial.random.randrange(_CONSUMERS)
            blow = n % 3
            if blow == 0:
                rig.strike(running[which], signal.SIGKILL, takeover_s=None)
                running[which] = rig.consumer(url=near[which].url, lease_s=lease_s)
                kills += 1
            elif blow == 1:
                running[which].signal(signal.SIGSTOP)
                pause(lease_s / 3)
                running[which].signal(signal.SIGCONT)
            else:
                near[which].cut()
                pause(lease_s / 3)
                near[which].healthy()
        rig.drained(_PARTITIONS * jobs, timeout_s=180)
        moves = sum(process.log.count("where jobs wait without an owner") for process in running)
        if not moves:
            said.append("no consumer moved: nothing was shared")
        verdict = rig.verdict(more_starts=_WORKERS * kills).also(said)
    return Result(verdict=verdict, sums={"blows": blows, "kills": kills})


def _key_of(partition: int) -> str:
    return next(key for key in map(str, range(999)) if home_of(key, _PARTITIONS) == partition)


FAULTS = [
    Fault(
        number="F19",
        name="two consumers share six busy partitions; killed, stopped, cut off",
        expected="0 lost; nothing twice but what ran at a kill",
        procedure=_run,
        runs=2,
        quick=False,
    )
]
