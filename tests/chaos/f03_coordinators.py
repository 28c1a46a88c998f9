"""F3: of two coordinators the leader is killed, or stopped beyond its lease, again and again.

Each coordinator wants a worker count of its own, so every command shows whose it is. Jobs must
flow all the time; counts must stand until another leads, and then follow that one alone.
"""

import signal
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from queuepool.models import Leader
from queuepool.verbs.leader import verbs as lead
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine
from tests.integration.coordinator.cluster import Process, look

_PARTITIONS = 2
_LEASE_S = 2.0
_SETTINGS: dict[str, Any] = {
    "policy": "static",
    "lease_s": _LEASE_S,
    "cycle_s": 0.2,
    "request_timeout_s": 0.5,
}


@dataclass
class _Watch:
    """What is seen of coordinators, and what of it must not be."""

    rig: Rig
    jobs: int
    late_s: float
    wanted: dict[str, int] = field(default_factory=dict)  # address -> the count that it wants
    said: list[str] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    refused: int = 0

    def start(self) -> Process:
        count = 10 + len(self.wanted)
        process = self.rig.coordinator(workers=count, **_SETTINGS)
        self.wanted[process.grpc] = count
        return process

    def leader(self) -> Leader:
        found: Leader = look(self.rig.pool)
        if found.epoch and found.epoch not in self.epochs:  # 0: no one led yet
            self.epochs.append(found.epoch)
        return found

    def targets(self) -> set[int]:
        return {s.owner.target for s in self.rig.observe() if s.owner}

    def obeyed(self, process: Process) -> None:
        """Wait until a coordinator leads and every consumer does what it wants."""
        want = {self.wanted[process.grpc]}
        self.rig.until(lambda: self.leader().address == process.grpc, f"{process.grpc} leads")
        self.rig.until(lambda: self.targets() == want, f"targets {want}")

    def strike(self, leader: Process, standby: Process, number: int) -> None:
        """Kill or stop the leader; the standby must lead, and until then nothing may change."""
        done, want = self.rig.count("done"), self.wanted[leader.grpc]
        old = self.leader().epoch
        struck_s = monotonic()
        leader.popen.send_signal(number)

        def is_replaced() -> bool:
            seen = self.targets()  # read before, so that what it shows was so without a leader
            if self.leader().address == standby.grpc:
                return True
            if seen != {want}:
                self.said.append(f"targets {seen} and not {want} while nobody led")
            return False

        self.rig.until(is_replaced, "the standby leads")
        self.took_s.append(monotonic() - struck_s)
        if self.took_s[-1] > _LEASE_S + 2 + self.late_s:
            self.said.append(f"the standby led after {self.took_s[-1]:.2f} s")
        if self.rig.count("done") <= done < self.jobs:
            self.said.append("no job was done while nobody led")
        self.obeyed(standby)
        self.refuse(old)

    def refuse(self, stale_epoch: int) -> None:
        """Send a command of a leader that was replaced; no one may take it."""
        for partition in self.rig.pool.partitions():
            verb = lead.command(
                stale_epoch, 10**6, type="SCALE_UP", partition=partition.number,
                target_workers=50, reason="stale", expires_ms=60_000,
            )  # fmt: skip
            if partition.run(verb)[0]:
                self.said.append(f"partition {partition.number} took a stale command")
            else:
                self.refused += 1


def _run(trial: Trial) -> Result:
    jobs = 500 if trial.quick else 2000
    blows = [signal.SIGKILL, signal.SIGSTOP] * (1 if trial.quick else 2)
    trial.random.shuffle(blows)
    with Rig(trial.directory, partitions=_PARTITIONS, binary=engine(trial.number)) as rig:
        watch = _Watch(rig, jobs, trial.late_s)
        for _ in range(_PARTITIONS):
            rig.consumer(lease_s=60)  # nobody succeeds them
        rig.until(lambda: len(rig.owners()) == _PARTITIONS, "owners")
        leader = watch.start()
        watch.obeyed(leader)
        standby = watch.start()
        producer = rig.producer(jobs=jobs, ms=20, batch=20, pause_s=0.2)
        rig.until(lambda: rig.count("done"), "the first job")
        for number in blows:
            watch.strike(leader, standby, number)
            if number == signal.SIGSTOP:
                leader.popen.send_signal(signal.SIGCONT)
                rig.until(lambda one=leader: _knows(one), "the woken leader knows")  # type: ignore[misc]
                # It stands by from now on, and must not have harmed.
                leader, standby = standby, leader
            else:
                leader.kill()
                leader, standby = standby, watch.start()
            watch.obeyed(leader)
        if len(watch.epochs) != len(blows) + 1:
            watch.said.append(f"leaderships {watch.epochs}, and {len(blows)} blows")
        producer.ends()
        rig.drained(jobs)
        if watch.leader().address != leader.grpc or watch.targets() != {watch.wanted[leader.grpc]}:
            watch.said.append(f"at the end targets are {watch.targets()}, of another leader")
        verdict = rig.verdict().also(watch.said, watch.took_s)
        return Result(
            verdict=verdict, sums={"blows": len(blows), "stale commands refused": watch.refused}
        )


def _knows(process: Process) -> bool:
    return any("lost leadership" in line for line in process.log)


FAULTS = [
    Fault(
        number="F3",
        name="leader of two coordinators killed, or stopped and resumed",
        expected="jobs flow; counts stay until the standby leads; stale commands refused; "
        "one change of leader per fault",
        procedure=_run,
        runs=6,
    )
]
