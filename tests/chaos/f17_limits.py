"""F17: two limits are shared by partitions on two servers while all that uses them is struck.

    mail   a rate: so many starts a second
    db     a concurrency: so many jobs at once
    blows  a consumer is killed; a consumer is frozen beyond its lease and resumes; a server is
           killed and restarted, at once or after more than a lease

Jobs of both wait in every partition all the time, so what a blow costs of the rate can be told: the
next blow comes when the rate's jobs of some seconds have begun. See lanes_checker.py for what must
hold.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic_ns
from typing import Any

from queuepool import Job, Limit
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.slots import home_of
from tests.chaos.actions import enqueue
from tests.chaos.checker import Events
from tests.chaos.lanes_checker import (
    LOST_S,
    Blow,
    at_once,
    fullest_second,
    rate_lost_s,
    too_fast,
    too_many,
)
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import engine, pause
from tests.chaos.two_servers import TwoServers
from tests.integration.consumer.processes import ConsumerProcess

_BURST, _AT_ONCE = 10, 5
_DB_MS, _DB_PER_S = 30.0, 50  # jobs of db, and how many of them end in a second on a busy machine
_FENCED = 3  # the exit code of a consumer that was replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """How large a run is.

    away_s: for how long a killed server may be away. each_s: of the rate, how many jobs begin
    before the next blow at least. ahead_s: of the rate, how many jobs wait when a consumer is
    struck: those of other partitions must last until its own has a successor. late_s: see Trial.
    """

    partitions: int
    rate: int
    lease_s: float
    blows: Sequence[str]
    away_s: Sequence[float]
    each_s: float
    ahead_s: float
    late_s: float = 0.0


_QUICK = _Size(
    partitions=2, rate=100, lease_s=10.0, blows=("kill", "home"), away_s=(0.0, 0.5),
    each_s=0.5, ahead_s=2.4, late_s=20.0,
)  # fmt: skip
_WHOLE = _Size(
    partitions=10, rate=100, lease_s=3.0,
    blows=("kill", "kill", "kill", "freeze", "freeze", "home", "other"), away_s=(0.0, 4.0),
    each_s=5.0, ahead_s=12.0,
)  # fmt: skip


class _World(TwoServers):
    """The servers, half of the partitions on each, the jobs, and the blows."""

    chosen: Callable[[Sequence[Any]], Any]

    def __init__(self, directory: Path, size: _Size, binary: Path) -> None:
        half, last = size.partitions // 2, size.partitions - 1
        placement = f"0-{half - 1}=main,{half}-{last}=big"
        super().__init__(directory, placement, partitions=size.partitions, binary=binary)
        self.size, self.blows, self.over = size, list[Blow](), dict[int, int]()
        numbers = range(size.partitions)
        self._servers = [self.server, self.big]
        self._home = home_of("mail", size.partitions) >= half
        self._keys = [next(_keys_of(n, size.partitions)) for n in numbers]
        self._accepted = {"mail": 0, "db": 0}

    def begun(self, name: str) -> int:
        """Return how many executions of a limit's jobs began."""
        what = f"begin {name}-".encode()
        return sum(path.read_bytes().count(what) for path in self.directory.glob("records-*"))

    def fill(self, ahead_s: float) -> None:
        """Enqueue until so much of the rate waits for each limit, in each partition as much."""
        for name, per_s, ms in (("mail", self.size.rate, 0.0), ("db", _DB_PER_S, _DB_MS)):
            known, each = self._accepted[name], len(self._keys)
            missing = int(per_s * ahead_s) - (known - self.begun(name))
            first, last = known // each, (known + max(0, missing)) // each
            jobs = [
                Job({"ms": ms}, partition_key=key, job_id=f"{name}-{n * each + k}", limit=name)
                for n in range(first, last)
                for k, key in enumerate(self._keys)
            ]
            self._accepted[name] += enqueue(self, "chaos_work", jobs)

    @property
    def jobs(self) -> int:
        """Return how many were accepted."""
        return sum(self._accepted.values())

    def start(self) -> None:
        """Start a consumer for each partition and one that stands by."""
        for _ in range(self.partitions + 1):
            self.consumer(lease_s=self.size.lease_s)
        self.until(lambda: len(self.owners()) == self.partitions, "owners", 60)

    def overcome(self, blow: Blow) -> None:
        """Note a blow; return when enough jobs began since."""
        self.blows.append(blow)
        self.fill(2 * self.size.each_s)
        enough = self.begun("mail") + int(self.size.rate * self.size.each_s)
        self.until(lambda: self.begun("mail") >= enough, f"the rate after {blow}", 60)

    # -- blows -----------------------------------------------------------------------------------

    def kill(self) -> Blow:
        """Kill an owner."""
        self.standby(lease_s=self.size.lease_s)
        victim = self._owner()
        at_ns = self.strike(
            victim, signal.SIGKILL, takeover_s=self.size.lease_s + 2 + self.size.late_s
        ).at_ns
        self.over[victim.pid] = at_ns
        self._succeeded(victim)
        return Blow("kill", at_ns)

    def freeze(self) -> Blow:
        """Stop an owner until it was replaced and longer, and let it continue."""
        self.standby(lease_s=self.size.lease_s)
        victim, lease_s = self._owner(), self.size.lease_s
        strike = self.strike(victim, signal.SIGSTOP, takeover_s=lease_s + 2, lease_s=lease_s)
        # It renewed a third of its lease ago at most, or a little more on a busy machine.
        self.over[victim.pid] = strike.at_ns + int(lease_s / 2 * 1e9)
        self._succeeded(victim)
        pause(lease_s / 2)
        victim.signal(signal.SIGCONT)
        code = victim.ends()
        assert code == _FENCED, f"the zombie {victim.pid} ended with {code}:\n{victim.log}"
        return Blow("freeze", strike.at_ns)

    def kill_home(self) -> Blow:
        """Kill the server that grants the rate."""
        return self._kill_server("home", self._servers[self._home])

    def kill_other(self) -> Blow:
        """Kill the other one."""
        return self._kill_server("other", self._servers[not self._home])

    def _kill_server(self, name: str, server: EmbeddedServer) -> Blow:
        """Kill a server, and start it at once or when every lease has ended."""
        at_ns = monotonic_ns()
        server.kill()
        pause(self.chosen(self.size.away_s))
        server.start()
        return Blow(f"server {name}", at_ns, (monotonic_ns() - at_ns) / 1e9)

    def _succeeded(self, victim: ConsumerProcess) -> None:
        """Wait until every partition has an owner, and none of them is this one."""

        def is_so() -> bool:
            owners = self.owners()
            return len(owners) == self.partitions and victim.pid not in owners.values()

        self.until(is_so, "a successor")

    def _owner(self) -> ConsumerProcess:
        pids = set(self.owners().values())
        found: ConsumerProcess = self.chosen([p for p in self.consumers if p.pid in pids])
        return found


def _run(trial: Trial) -> Result:
    size = _QUICK if trial.quick else _WHOLE
    with _World(trial.directory, size, engine(trial.number)) as world:
        world.chosen = trial.random.choice
        world.pool.limits.set(Limit("mail", rate=size.rate, burst=_BURST))
        world.pool.limits.set(Limit("db", concurrency=_AT_ONCE))
        world.start()
        since_ns = monotonic_ns()  # nobody asks for tokens before there are jobs
        world.overcome(Blow("none", monotonic_ns()))
        strikes = {
            "kill": world.kill, "freeze": world.freeze,
            "home": world.kill_home, "other": world.kill_other,
        }  # fmt: skip
        for what in trial.random.sample(size.blows, len(size.blows)):
            world.fill(size.ahead_s if what in ("kill", "freeze") else 2 * size.each_s)
            world.overcome(strikes[what]())
        until_ns = monotonic_ns()
        world.drained(world.jobs, 90)
        events = world.events()
        said, peaks = _judged(events, world, since_ns, until_ns)
        if dead := sum(state.dead for state in world.observe()):
            said.append(f"{dead} jobs are dead")
        return Result(
            verdict=world.verdict().also(said), sums={"blows": len(size.blows)}, peaks=peaks
        )


def _judged(
    events: Events, world: _World, since_ns: int, until_ns: int
) -> tuple[list[str], dict[str, float]]:
    """Return what must not be of both limits, and figures for the note."""
    size = world.size
    mails = [run.began_ns for run in events.runs if run.job_id.startswith("mail-")]
    dbs = [run for run in events.runs if run.job_id.startswith("db-")]
    lost = rate_lost_s(mails, world.blows, rate=size.rate, until_ns=until_ns)
    said = too_fast(mails, rate=size.rate, burst=_BURST, since_ns=since_ns)
    said += too_many("db", dbs, _AT_ONCE, world.over)
    said += [
        f"{blow.what} cost {lost_s:.2f} s of the rate, {LOST_S:g} allowed"
        for blow, lost_s in lost.items()
        if lost_s > LOST_S + size.late_s
    ]
    used = len(at_once(dbs, world.over))
    if used < _AT_ONCE:
        said.append(f"no more than {used} jobs ran at once, of {_AT_ONCE}: nothing was tested")
    peaks = {
        f"starts in a second, at {size.rate} and a burst of {_BURST},": fullest_second(mails),
        f"at once, of {_AT_ONCE},": used,
        "rate lost by a blow, s,": max(lost.values()),
    }
    return said, peaks


def _keys_of(partition: int, partitions: int) -> Any:
    return (key for key in map(str, count()) if home_of(key, partitions) == partition)


FAULTS = [
    Fault(
        number="F17",
        name="limits of 10 partitions on two servers; consumers killed, frozen, servers killed",
        expected="rate and concurrency hold; at most 2 s of the rate lost by each blow; 0 lost",
        procedure=_run,
        runs=4,
    )
]
