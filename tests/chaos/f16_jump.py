"""F16: the server's clock jumps ahead by an hour and back while ids that ended are remembered.

Jobs end before the jump, during it and after it. Three minutes later on the right clock, which are
given to the server as two more jumps, every one of these ids must be accepted again: what was
remembered by the wrong clock may not be remembered for as long as that was ahead.
"""

from queuepool.process.embedded import find_server_binary
from tests.chaos.actions import admin, enqueue
from tests.chaos.checker import Verdict
from tests.chaos.f09_clocks import NOT_RUN, JumpingServer, jump, library, settle
from tests.chaos.f14_identity import jobs_of
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig

_HOUR_S, _MINUTES_S = 3600, (75, 150)  # ids are remembered for a minute or two
_JUMPS_S = (0, _HOUR_S, 0, *_MINUTES_S)


def _run(trial: Trial) -> Result:
    if library() is None:
        return NOT_RUN
    jobs = 10 if trial.quick else 100
    said: list[str] = []
    server = JumpingServer(trial.directory, find_server_binary())
    with Rig(trial.directory, binary=server.program) as rig, admin(rig) as client:
        rig.consumer()
        rig.owner()
        ids: list[str] = []
        for n, offset_s in enumerate(_JUMPS_S):
            jump(rig, client, server, offset_s)
            settle(rig)
            new = [f"job-{n}-{k}" for k in range(jobs)]
            assert enqueue(rig, "chaos_work", jobs_of(new, 1), partition_key="group") == jobs
            rig.drained(len(ids) + jobs)
            ids += new
        old = ids[: 3 * jobs]
        again = enqueue(rig, "chaos_work", jobs_of(old, 1), partition_key="group")
        if again != len(old):
            said.append(f"{len(old) - again} of {len(old)} ids are remembered for too long")
        rig.drained(len(ids) + again)
        said += [
            f"audit: {report}" for p in rig.pool.partitions() if not (report := p.audit()).clean
        ]
    return Result(
        verdict=Verdict(jobs=len(ids) + again, violations=tuple(said)),
        sums={"ids accepted again": again},
    )


FAULTS = [
    Fault(
        number="F16",
        name="the server's clock jumps by an hour and back while ids are remembered",
        expected="each id is accepted again within the two minutes",
        procedure=_run,
        runs=2,
        quick=False,
    )
]
