"""F8: the server runs out of memory under noeviction, twice in a run.

First nothing at all may be added: whoever enqueues hears why, owners and the leader stay, and what
is there drains. Then the limit stands below what producers bring: they go on as fast as consumers
make room, and no one has to do anything.
"""

from time import monotonic

from queuepool import Job, QueuePool, UnavailableError
from queuepool.errors import QueueFullError
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from tests.chaos.actions import admin, enqueue
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine, pause
from tests.integration.coordinator.cluster import look

_PARTITIONS = 2
_BYTES = 20_000  # of a job, so that jobs are what fills the memory
_MS = 100  # a job takes so long that the producer is faster
_STEP_S = 0.1


def _refusal(rig: Rig) -> str:
    """Return what an impatient producer is told: an error's name, or "" when it was accepted."""
    topology = build({"main": rig.server.url}, rig.partitions, "")
    config = PoolConfig(topology=topology, keyspace=rig.pool.config.keyspace, retry_for_s=0)
    with QueuePool(config=config) as pool:
        try:
            pool.enqueue("chaos_work", {}, partition_key="impatient", job_id="impatient")
        except QueueFullError:
            return "QueueFullError"
        except UnavailableError as error:
            return "UnavailableError" if "out of memory" in str(error) else str(error)
    return ""


def _run(trial: Trial) -> Result:
    jobs, hold_s = (100, 3.0) if trial.quick else (400, 60.0)
    said: list[str] = []
    refused = 0
    with Rig(trial.directory, partitions=_PARTITIONS, binary=engine(trial.number)) as rig:
        for _ in range(_PARTITIONS + 1):
            rig.consumer(lease_s=trial.lease_s)
        rig.coordinator(lease_s=trial.lease_s)
        rig.until(lambda: len(rig.owners()) == _PARTITIONS, "owners")
        rig.until(lambda: look(rig.pool).epoch, "a leader")
        owners, leader = rig.owners(), look(rig.pool)
        server = admin(rig)
        added = enqueue(
            rig,
            "chaos_work",
            (Job({"ms": 20}, partition_key=f"g-{n % 7}", job_id=f"early-{n}") for n in range(jobs)),
        )

        server.config_set("maxmemory", 1)
        began_s = monotonic()
        producer = rig.producer(jobs=jobs, ms=_MS, batch=5, bytes=_BYTES)
        while monotonic() < began_s + hold_s:
            told = _refusal(rig)
            refused += told == "UnavailableError"
            if told != "UnavailableError":
                said.append(f"with no memory an enqueue was told {told or 'accepted'}")
            pause(_STEP_S)
        rig.until(lambda: rig.count("done") == jobs, "what was there drained without memory")
        said += _stayed(rig, owners, leader.epoch)
        accepted = len(rig.events().accepted) - added
        if accepted:
            said.append(f"{accepted} jobs were accepted without memory")

        # Room for a part of what the producer brings, and for several of its calls on their way.
        used = int(server.info("memory")["used_memory"])
        server.config_set("maxmemory", used + jobs * _BYTES // 4)
        rig.until(lambda: producer.popen.poll() is not None, "the producer ends", timeout_s=90)
        producer.ends()
        rig.drained(2 * jobs)
        said += _stayed(rig, owners, leader.epoch)
        oom = int(server.info("errorstats").get("errorstat_OOM", {}).get("count", 0))
        if not oom > refused:
            said.append("the producer was never refused while it brought too much")
        server.close()
        return Result(
            verdict=rig.verdict().also(said),
            sums={"impatient enqueues refused": refused, "calls refused by the server": oom},
        )


def _stayed(rig: Rig, owners: dict[int, int], epoch: int) -> list[str]:
    said = []
    if rig.owners() != owners:
        said.append(f"owners changed from {owners} to {rig.owners()}")
    if look(rig.pool).epoch != epoch:
        said.append("the leader was replaced")
    said += [f"consumer {p.pid} ended:\n{p.log}" for p in rig.consumers if not p.is_running()]
    return said


FAULTS = [
    Fault(
        number="F8",
        name="server out of memory, noeviction, for 60 s, then tight",
        expected="producers get a typed error; 0 takeovers; stored jobs drain; recovers unaided",
        procedure=_run,
        runs=2,
    )
]
