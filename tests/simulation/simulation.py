"""One seed: its actors, its faults, its end, and whether the promises were kept."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import redis

from consumer.core.owner import Core
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.verbs.limits.verbs import find_limit
from tests.contract.conftest import check_invariants
from tests.contract.snapshot import snapshot
from tests.contract.world import World
from tests.simulation.batching import Batches
from tests.simulation.checker import violations
from tests.simulation.consuming import Consumer, NewCore
from tests.simulation.coordinating import Coordinator
from tests.simulation.journal import Journal
from tests.simulation.ledger import Ledger
from tests.simulation.limit_rules import limit_violations
from tests.simulation.limiting import HOMES
from tests.simulation.network import Network
from tests.simulation.operating import LimitPeople, Operators
from tests.simulation.producing import Applications
from tests.simulation.real import RealLedger
from tests.simulation.scenario import Scenario, draw, of_pool
from tests.simulation.scheduler import Process, Scheduler

_MAX_EVENTS = 400_000
_PERMITS_BACK_S = 60.0
Trace = Callable[[float, str, str], None]
P = TypeVar("P", bound=Process)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a seed."""

    scenario: Scenario
    journal: Journal
    violations: list[str]
    events: int
    virtual_s: float


class Simulation:
    """Builds everything from a scenario and runs it to its end."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        trace: Trace | None = None,
        new_core: NewCore = Core,
        url: str | None = None,
        stage: str = "dev",
        new_network: Callable[[Scheduler, Ledger, Scenario, random.Random], Network] = Network,
        beside: Simulation | None = None,
        pool: str = DEFAULT_POOL,
    ) -> None:
        self.scenario, self._new_core = scenario, new_core
        self._random = random.Random(scenario.seed ^ 0x5EED)
        keyspace = Keyspace(stage=stage, pool=pool)
        config = PoolConfig(topology=single("redis://simulated", 1), keyspace=keyspace)
        self._config, self.journal = config, Journal(trace)
        if scenario.extras is not None or scenario.limits is not None:
            self.journal.records = []
        self._scheduler: Scheduler = Scheduler() if beside is None else beside._scheduler
        key = config.keyspace.partition(0)
        self._url = url
        homes = HOMES if url is None else 1  # only one partition of a server keeps virtual time
        self._homes = [keyspace.partition(n) for n in range(homes)]
        if beside is not None:
            self._homes = beside._homes
        self._number: int = 0 if beside is None or pool != DEFAULT_POOL else beside._number + 1
        self._name = f"partition {place_text(self._number, pool)}"
        there: Ledger | None = None if beside is None else beside.ledger
        self.ledger: Ledger = (
            Ledger(self._scheduler, key, self.journal, there)
            if url is None
            else RealLedger(self._scheduler, key, self.journal, url=url, system=keyspace.system())
        )
        self._network = new_network(self._scheduler, self.ledger, scenario, self._random)
        self._network.crash = self._crash
        self._made = 0
        self._applications = Applications(
            self._network, self.ledger, scenario, self._random, config
        )
        self._batches = Batches(self._network, self.ledger, scenario, alone=beside is None)
        self._operators = Operators(
            self._network,
            self.ledger,
            scenario,
            self._random,
            producing=lambda: self._applications.busy > 0,
        )
        self._people = LimitPeople(
            self._network,
            scenario if beside is None else replace(scenario, limits=None),
            self._random,
            self._homes,
        )
        self._consumers: list[Consumer] = []
        self._coordinators: list[Coordinator] = []
        self.ledger.after_call = self._answer_bells
        for _ in range(scenario.consumers):
            self._new_consumer()
        for _ in range(scenario.coordinators):
            self._new_coordinator()
        self._arrange_faults()
        self.neighbours = self._make_neighbours() if beside is None and url is None else []

    def _make_neighbours(self) -> list[Simulation]:
        """Return what goes on beside it on the same clock.

        That is another pool of the partition, and other partitions with the same limits.
        """
        last, found, s = self, list[Simulation](), self.scenario
        if s.pool:
            last = Simulation(
                of_pool(s),
                trace=_named(self.journal.trace, s.pool),
                new_core=self._new_core,
                stage=self._config.keyspace.stage,
                beside=self,
                pool=s.pool,
            )
            found.append(last)
        for n in range(s.limits.neighbours if s.limits else 0):
            theirs = replace(s, seed=s.seed + 10**9 * (n + 1), coordinators=0, poison=0)
            last = Simulation(
                theirs,
                trace=self.journal.trace,
                new_core=self._new_core,
                stage=f"beside-{n}",
                beside=last,
            )
            found.append(last)
        return found

    def run(self) -> Result:
        """Run until everything has ended, or time is up."""
        events, scheduler, s = 0, self._scheduler, self.scenario
        deadline_s = s.quiet_s + s.finish_within_s
        while events < _MAX_EVENTS and scheduler.now_s < deadline_s and scheduler.step():
            events += 1
            if self._over():
                break
        for one in self._all:
            one._finish()
        problems = limit_violations(s, self.ledger.asked, [one.journal for one in self._all])
        found = [*self._violations(), *problems, *self._lost_permits()]
        for one in self.neighbours:
            found += (f"{one._name}: {wrong}" for wrong in one._violations())
        return Result(s, self.journal, found, events, scheduler.now_s)

    @property
    def _all(self) -> list[Simulation]:
        return [self, *self.neighbours]

    def _lost_permits(self) -> Iterator[str]:
        """When no jobs are left, permits come back: by asks, or by successors of the dead."""
        limits, until_s = self.scenario.limits, self._scheduler.now_s + _PERMITS_BACK_S
        if limits is None:
            return
        while self._used() and self._scheduler.now_s < until_s and self._scheduler.step():
            pass
        yield from (
            f"I11: {n} permits of {name} are in use, {_PERMITS_BACK_S} s after the last job"
            for name, n in self._used().items()
        )

    def _used(self) -> dict[str, int]:
        used = {}
        for limit in self.scenario.limits.code if self.scenario.limits else ():
            key = self._homes[home_of(limit.name, len(self._homes))]
            verb = find_limit(limit.name)
            found = verb.read(self.ledger.look(key, verb))
            used[limit.name] = found.running if found else 0
        return {name: n for name, n in used.items() if n}

    def _finish(self) -> None:
        """Take stock of this partition."""
        scheduler = self._scheduler
        if not self._ended():
            left = len(self.ledger.data.jobs) - len(self.ledger.data.dead)
            self.journal.problems.append(f"stuck: {left} jobs left after {scheduler.now_s:.0f} s")
        self._network.settle()
        self._audit()

    def _violations(self) -> list[str]:
        s = self.scenario
        lossless = s.faults.none and not s.poison
        found = violations(self.journal, lossless=lossless, max_crashes=s.max_crashes)
        return [*found, *self._batches.violations()]

    def close(self) -> None:
        """Give back what a real server needs."""
        self.ledger.close()

    def _over(self) -> bool:
        return all(one._ended() for one in self._all)

    def _ended(self) -> bool:
        past = self.scenario.faults.none or self._scheduler.now_s > self.scenario.quiet_s
        busy = self._applications.busy or self._operators.busy or self.ledger.busy
        busy = busy or self._people.busy or self._batches.busy
        return past and not busy

    def _audit(self) -> None:
        data, j = self.ledger.data, self.journal
        client = redis.Redis.from_url(self._url) if self._url else None
        world = World(Partition(0, self.ledger.key, self.ledger.server), None, client)
        try:
            check_invariants(world)
        except AssertionError as error:
            j.problems.append(f"not in order: {error}"[:500])
        if j.records is not None:
            j.unique = dict(snapshot(world)["unique"][0])
        self._audit_counters()
        for name, group in data.groups.items():
            if not self.ledger.busy and not group.hold and group.left != 0:
                j.problems.append(f"group {name!r} never ends: {group}")

    def _audit_counters(self) -> None:
        data, j = self.ledger.data, self.journal
        ends = Counter(terminal.state for terminal in j.terminals)
        ends["died"] = ends["dead"] + ends["crashed"]
        counted = {n: data.counters.get(n, 0) for n in ("done", "died", "cancelled", "expired")}
        for name, n in counted.items():
            if n != ends[name]:
                j.problems.append(f"{n} jobs are counted as {name}, {ends[name]} ended so")
        left, enqueued = len(data.jobs) - len(data.dead), data.counters.get("enqueued", 0)
        if enqueued != sum(counted.values()) + left:
            j.problems.append(
                f"counters do not balance: {enqueued} enqueued, {left} left, {counted}"
            )

    # -- actors ------------------------------------------------------------------------------------

    def _new_consumer(self) -> None:
        self._made += 1
        self._consumers = [c for c in self._consumers if not c.dead]
        self._consumers.append(
            Consumer(
                f"consumer-{self._made}",
                self._network,
                self.ledger,
                self.scenario,
                self._random,
                poisonous=self._applications.poisonous,
                gone=lambda: self._replace(self._new_consumer),
                new_core=self._new_core,
                partition=self._number,
                homes=self._homes,
                pool=self._config.keyspace.pool,
            )
        )

    def _new_coordinator(self) -> None:
        self._made += 1
        self._coordinators = [c for c in self._coordinators if not c.dead]
        self._coordinators.append(
            Coordinator(
                f"coordinator-{self._made}",
                self._network,
                self.ledger,
                self.scenario,
                self._random,
                self._config,
            )
        )

    def _replace(self, make: Callable[[], None]) -> None:
        self._scheduler.after(self._random.uniform(0.05, 1.5), make)

    def _answer_bells(self) -> None:
        listening = [c for c in self._consumers if not c.dead and c.listens]
        if listening and (token := self.ledger.pop_token()) is not None:
            consumer = self._random.choice(listening)
            if consumer.armed:
                consumer.fire(token)
                return
            if not self._network.quiet and self._random.random() < self.scenario.faults.lose:
                return  # it was popped for someone whose connection had just gone
            consumer.after(0.0002, lambda: consumer.ring(token))

    # -- faults ------------------------------------------------------------------------------------

    def _arrange_faults(self) -> None:
        faults, after = self.scenario.faults, self._scheduler.after
        for at_s in faults.kills:
            after(at_s, lambda: self._any(self._consumers, Consumer.kill))
        for at_s in faults.drains:
            after(at_s, lambda: self._any(self._consumers, Consumer.stop))
        for at_s, length_s in faults.stalls:
            after(at_s, partial(self._stall_one, length_s))
        for at_s, length_s in faults.coordinator_stalls:
            after(at_s, partial(self._stall_leader, length_s))
        for at_s in faults.coordinator_kills:
            after(at_s, lambda: self._any(self._coordinators, self._replace_coordinator))
        after(self.scenario.quiet_s, self._calm)

    def _calm(self) -> None:
        self._network.quiet = True
        self.journal.note(self._scheduler.now_s, "network", "nothing goes wrong from here on")

    def _stall_one(self, length_s: float) -> None:
        self._any(self._consumers, self._stall(length_s))

    def _stall_leader(self, length_s: float) -> None:
        self._any(self._coordinators, self._stall(length_s))

    def _stall(self, length_s: float) -> Callable[[Process], None]:
        def stall(process: Process) -> None:
            self.journal.note(self._scheduler.now_s, process.name, f"stalls for {length_s:.2f} s")
            process.stall(length_s)

        return stall

    def _crash(self, process: Process) -> None:
        if isinstance(process, Coordinator):
            self._replace_coordinator(process)
        else:
            process.kill()

    def _replace_coordinator(self, coordinator: Coordinator) -> None:
        coordinator.kill()
        self._replace(self._new_coordinator)

    def _any(self, crowd: Sequence[P], do: Callable[[P], None]) -> None:
        alive = [process for process in crowd if not process.dead]
        if alive:
            do(self._random.choice(alive))


def _named(trace: Trace | None, pool: str) -> Trace | None:
    if trace is None:
        return None
    return lambda at_s, who, what: trace(at_s, f"{pool}/{who}", what)


def simulate(
    seed: int,
    *,
    trace: Trace | None = None,
    new_core: NewCore = Core,
    url: str | None = None,
    stage: str = "dev",
    **changes: Any,
) -> Result:
    """Run one seed; with the URL of a server over the real scripts, below an unused stage.

    changes: what its scenario shall have instead of what the seed drew.
    """
    scenario = replace(draw(seed), **changes)
    simulation = Simulation(scenario, trace=trace, new_core=new_core, url=url, stage=stage)
    try:
        return simulation.run()
    finally:
        simulation.close()
