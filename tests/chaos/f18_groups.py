"""F18: serial groups and groups of three at once, whose jobs fail at random, change owners.

    serial   many groups, in all partitions but the last: one job at a time, in order
    capped   a few groups in the last partition, which has workers for all: three jobs at a time
    blows    an owner is killed; one is frozen beyond its lease and resumes; one is told to stop and
             drains while its successor claims

A third of the blows falls on the last partition. An eighth of the attempts fails, and the job runs
again. See lanes_checker.py for what must hold.
"""

from __future__ import annotations

import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from time import monotonic_ns
from typing import Any

from queuepool import Job
from queuepool.routing.slots import home_of
from tests.chaos.actions import enqueue
from tests.chaos.checker import Books, Events, Run
from tests.chaos.lanes_checker import at_once, disorder, idle_s, too_many
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine, pause
from tests.integration.consumer.processes import ConsumerProcess

_CAP, _CAP_MS = 3, 20.0
_FAILS = 0.125
# For which fewer run than may while jobs wait: in a row, and of the time. A turn takes a part of
# the time of a job; a busy machine may stop for seconds, and both are no small part then.
_IDLE_S, _IDLE_SHARE = 5.0, 0.7
_LEFT = 200  # jobs, at least, where a blow falls
_FENCED = 3  # the exit code of a consumer that was replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """How large a run is: groups, jobs in each; blows: kinds, each struck `rounds` times."""

    partitions: int
    lease_s: float
    serial: int
    serial_jobs: int
    serial_ms: float
    capped: int
    capped_jobs: int
    blows: Sequence[str]
    rounds: int


_QUICK = _Size(
    partitions=2, lease_s=10.0, serial=40, serial_jobs=100, serial_ms=10.0,
    capped=2, capped_jobs=400,
    blows=("kill", "stop"), rounds=1,
)  # fmt: skip
_WHOLE = _Size(
    partitions=4, lease_s=3.0, serial=1000, serial_jobs=100, serial_ms=20.0,
    capped=4, capped_jobs=5000,
    blows=("kill", "freeze", "stop"), rounds=3,
)  # fmt: skip


class _World(Rig):
    """The groups and their jobs, and the blows."""

    chosen: Callable[[Sequence[Any]], Any]

    def __init__(self, directory: Path, size: _Size, binary: Path) -> None:
        super().__init__(directory, partitions=size.partitions, binary=binary)
        self.size, self.over = size, dict[int, int]()
        self.blind: list[tuple[int, int]] = []  # while a blow on the last partition is overcome
        self.jobs = 0

    def books(self, ids: Iterable[str]) -> Books:
        """Return the final state. What has ended is not asked for: there are many jobs."""
        ended = {
            run.job_id for run in self.events().runs if run.ended_ns is not None and not run.failed
        }
        return super().books(set(ids) - ended)

    def fill(self) -> None:
        """Enqueue the jobs of all groups: the first one of each, then the second, and so on."""
        size, last = self.size, self.partitions - 1
        serial = {f"serial-{k}": key for k, key in islice(self._keys(range(last)), size.serial)}
        capped = {f"capped-{k}": key for k, key in islice(self._keys([last]), size.capped)}
        for key in serial.values():
            self.pool.group(key).configure(serial=True, create=True)
        for key in capped.values():
            self.pool.group(key).configure(max_running=_CAP, create=True)
        for groups, jobs, ms in (
            (serial, size.serial_jobs, size.serial_ms),
            (capped, size.capped_jobs, _CAP_MS),
        ):
            payload = {"ms": ms, "share": _FAILS}
            self.jobs += enqueue(
                self,
                "chaos_flaky",
                (
                    Job(payload, partition_key=key, job_id=f"{name}-{n}")
                    for n in range(jobs)
                    for name, key in groups.items()
                ),
            )

    def _keys(self, partitions: Iterable[int]) -> Iterator[tuple[int, str]]:
        wanted = set(partitions)
        found = (key for key in map(str, count()) if home_of(key, self.partitions) in wanted)
        return enumerate(found)

    def start(self) -> None:
        """Start a consumer for each partition and one that stands by."""
        for _ in range(self.partitions + 1):
            self.consumer(workers=16, lease_s=self.size.lease_s)
        self.until(lambda: len(self.owners()) == self.partitions, "owners", 60)
        self.blind.append((0, monotonic_ns()))

    def reach(self, done: int) -> None:
        """Wait until so many jobs are done."""
        self.until(lambda: self.count("done") >= done, f"{done} done", 120)

    def target(self, n: int) -> int:
        """Return the partition on which a blow falls: one that has work left."""
        left = {state.partition: state.jobs for state in self.observe()}
        last = self.partitions - 1
        wanted: int = last if n % 3 == 0 else self.chosen(range(last))
        return wanted if left[wanted] > _LEFT else max(left, key=lambda number: left[number])

    def strike_one(self, what: str, partition: int) -> None:
        """Let the owner of a partition be succeeded by one that stands by."""
        self.standby(workers=16, lease_s=self.size.lease_s)
        victim = self.owner(partition)
        strikes = {"kill": self._kill, "freeze": self._freeze, "stop": self._stop}
        began_ns = strikes[what](victim)
        former = (None, victim.pid)
        self.until(lambda: self.owners().get(partition) not in former, "a successor")
        if partition == self.partitions - 1:
            self.blind.append((began_ns, monotonic_ns() + 2 * 10**9))

    def _kill(self, victim: ConsumerProcess) -> int:
        at_ns = self.strike(victim, signal.SIGKILL, takeover_s=self.size.lease_s + 2).at_ns
        self.over[victim.pid] = at_ns
        return at_ns

    def _freeze(self, victim: ConsumerProcess) -> int:
        lease_s = self.size.lease_s
        strike = self.strike(victim, signal.SIGSTOP, takeover_s=lease_s + 2, lease_s=lease_s)
        at_ns = strike.at_ns
        # It renewed a third of its lease ago at most, or a little more on a busy machine.
        self.over[victim.pid] = at_ns + int(lease_s / 2 * 1e9)
        self.until(lambda: victim.pid not in self.owners().values(), "a successor")
        pause(lease_s / 2)
        victim.signal(signal.SIGCONT)
        code = victim.ends()
        assert code == _FENCED, f"the zombie {victim.pid} ended with {code}:\n{victim.log}"
        return at_ns

    def _stop(self, victim: ConsumerProcess) -> int:
        at_ns = monotonic_ns()
        code = victim.stop()
        assert code == 0, f"{victim.pid} was told to stop and ended with {code}:\n{victim.log}"
        return at_ns


def _run(trial: Trial) -> Result:
    size = _QUICK if trial.quick else _WHOLE
    with _World(trial.directory, size, engine(trial.number)) as world:
        world.chosen = trial.random.choice
        world.fill()
        world.start()
        blows = [*size.blows] * size.rounds
        trial.random.shuffle(blows)
        for n, what in enumerate(blows):
            least = int(world.jobs * (n + trial.random.random()) / (len(blows) + 1))
            world.reach(least)
            world.strike_one(what, world.target(n))
        world.drained(world.jobs, 300)
        events = world.events()
        said, peaks = _judged(events, world)
        if dead := sum(state.dead for state in world.observe()):
            said.append(f"{dead} jobs are dead")
        failed = sum(run.failed for run in events.runs)
        sums = {"groups": size.serial + size.capped, "blows": len(blows), "failed": failed}
        return Result(verdict=world.verdict().also(said), sums=sums, peaks=peaks)


def _judged(events: Events, world: _World) -> tuple[list[str], dict[str, float]]:
    """Return what must not be of all groups, and figures for the note."""
    groups: defaultdict[str, list[Run]] = defaultdict(list)
    for run in events.runs:
        groups[run.job_id.rpartition("-")[0]].append(run)
    accepted: defaultdict[str, list[int]] = defaultdict(list)
    for job_id, at_ns in events.accepted.items():
        accepted[job_id.rpartition("-")[0]].append(at_ns)
    said, longest, share = list[str](), 0.0, 0.0
    for name, runs in groups.items():
        bound = 1 if name.startswith("serial") else _CAP
        said += too_many(name, runs, bound, world.over)
        if bound == 1:
            said += disorder(name, runs, world.over)
            continue
        if (used := len(at_once(runs, world.over))) < _CAP:
            said.append(f"no more than {used} of {name} ran at once, of {_CAP}: nothing was tested")
        idle = idle_s(runs, accepted[name], _CAP, world.over, blind=world.blind)
        took_s = (runs[-1].began_ns - runs[0].began_ns) / 1e9
        longest, share = max(longest, *idle), max(share, sum(idle) / took_s)
    if longest > _IDLE_S or share > _IDLE_SHARE:
        said.append(
            f"idle: while jobs waited fewer than {_CAP} of a group ran for {longest:.2f} s in a "
            f"row, and in {share:.0%} of the time"
        )
    return said, {f"s with fewer than {_CAP}": longest, "share of the time": share}


FAULTS = [
    Fault(
        number="F18",
        name="serial groups and groups of 3 at once, jobs fail; owners killed, frozen, stopped",
        expected="no overlap, order kept; never more than 3, and 3 while jobs wait; 0 lost",
        procedure=_run,
        runs=4,
    )
]
