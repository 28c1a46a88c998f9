"""A candidate beside the live decisions: what it would decide, cost and let wait. Pure.

Each partition is modelled twice, with the same arrivals and seconds per job (see `world`): with
the workers that it had, and with those that the candidate would have. So the two compare with each
other; a model of the live one is not what really happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as changed

from coordinator.core.doubts import doubt
from coordinator.core.memory import OwnBound, PartitionMemory, own_bound
from coordinator.core.model import Observation, PartitionDecision
from coordinator.core.planner import Planner
from coordinator.core.reading import read
from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.world import Waits, World
from coordinator.policy import Reading
from coordinator.policy.demand import Demand
from queuepool.models import Owner, PartitionState

_LONGEST_S = 5.0  # between two readings, to count: what happened in a longer gap is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What a policy cost and let wait. changes: of worker counts."""

    worker_s: float = 0.0
    wait_mean_s: float = 0.0
    wait_p50_s: float = 0.0
    wait_p99_s: float = 0.0
    changes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both sides over the same time. seconds: compared; jobs: that came then or waited before."""

    policy: str
    version: int
    cycles: int = 0
    seconds: float = 0.0
    jobs: float = 0.0
    live: Side = field(default_factory=Side)
    candidate: Side = field(default_factory=Side)


@dataclass(slots=True)
class _Tally:
    worker_s: float = 0.0
    changes: int = 0
    waits: Waits = field(default_factory=Waits)

    def side(self, worlds: Iterable[World]) -> Side:
        waits = self.waits.copy()
        for world in worlds:
            world.add_waiting(waits)
        return Side(
            worker_s=self.worker_s,
            wait_mean_s=waits.mean_s,
            wait_p50_s=waits.percentile_s(0.5),
            wait_p99_s=waits.percentile_s(0.99),
            changes=self.changes,
        )


@dataclass(slots=True)
class _Partition:
    """A partition in both worlds. start: executions that had ended when it was first seen.

    rest: the fraction of a running job that was not shown yet, so that the mean is right. last: the
    server's ms and the ended executions of the last observation.
    """

    live: World
    would_be: World
    demand: Demand
    start: int
    rest: float = 0.0
    last: tuple[int, int] = (0, 0)


class Shadow:
    """Compares a candidate over the cycles that it is shown. Used by one thread."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self._memories: Mapping[int, PartitionMemory] = {}
        self._partitions: dict[int, _Partition] = {}
        self._live, self._candidate = _Tally(), _Tally()
        self._targets: dict[int, int] = {}
        self._cycles, self._seconds, self._arrived = 0, 0.0, 0.0
        self._at_s: float | None = None
        self._base: Planner | None = None

    def see(self, cycle: Cycle) -> list[PartitionDecision]:
        """Take one more cycle; return the candidate's decisions for other counts."""
        if cycle.planner is not self._base:  # the limits and overlays of the live one hold for both
            self._base = cycle.planner
            self.planner = replace(cycle.planner, policy=self.planner.policy)
        planner = self.planner
        seen = [self._would_be(one) for one in cycle.observations]
        if self._at_s is not None:
            self._seconds += min(max(cycle.now_s - self._at_s, 0.0), _LONGEST_S)
        self._at_s = cycle.now_s
        bounds = _own_bounds(cycle)
        memories = _with_bounds(self._memories, bounds)
        plan = planner.plan(
            cycle.epoch, memories, seen, cycle.manual, cycle.now_s, now_ms=cycle.now_ms
        )
        self._memories = plan.memories
        others = []
        for decision in plan.decisions:
            pair = self._partitions.get(decision.partition)
            if pair is not None and decision.inputs is not None:
                own = bounds.get(decision.partition)
                started = decision.target if own is None else own.bounded(decision.target)
                pair.would_be.workers = max(started, 1)
            if decision.target != decision.previous:
                self._candidate.changes += 1
                others.append(decision)
        self._cycles += 1
        return others

    def comparison(self) -> Comparison:
        """Return what is known so far; of jobs that wait, the waits until now."""
        pairs = self._partitions.values()
        return Comparison(
            policy=self.planner.policy.name,
            version=self.planner.policy.version,
            cycles=self._cycles,
            seconds=self._seconds,
            jobs=self._arrived,
            live=self._live.side(pair.live for pair in pairs),
            candidate=self._candidate.side(pair.would_be for pair in pairs),
        )

    def comparison_due(self, every: int) -> bool:
        """Return whether to report now: at the start, and in every so many cycles."""
        return self._cycles <= every or self._cycles % every == 0

    def _would_be(self, seen: Observation) -> Observation:
        state = seen.state
        if seen.unusable_reason or state is None or state.owner is None:
            return seen
        owner = state.owner
        self._count_change(seen.partition, owner.target)
        reading, _ = read(seen, state, owner)
        pair = self._partitions.get(seen.partition)
        if pair is None:
            pair = self._partitions[seen.partition] = _first(reading, owner)
            self._arrived += reading.backlog
        else:
            doubted = bool(doubt(state, owner, reading.finished_total, pair.last))
            self._pass(pair, reading, doubted=doubted)
        pair.last = state.observed_ms, reading.finished_total
        return _shown(seen, state, owner, pair)

    def _count_change(self, partition: int, target: int) -> None:
        before = self._targets.get(partition, target)
        self._live.changes += before != target
        self._targets[partition] = target

    def _pass(self, pair: _Partition, reading: Reading, *, doubted: bool) -> None:
        last = pair.demand
        seconds = reading.at_s - (last.at_s if last.at_s is not None else reading.at_s)
        if doubted or last.problem(reading) or not 0 < seconds <= _LONGEST_S:
            # What happened meanwhile is unknown, so both go on from what is there.
            pair.demand = last.restart(reading)
            pair.live.reset(_jobs(reading))
            pair.would_be.reset(_jobs(reading))
            return
        pair.demand = last.observe(reading, self.planner.cycle_s)
        arrived = (
            (reading.finished_total - last.finished_total)
            + (reading.backlog - last.backlog)
            + ((reading.in_flight or 0) - last.in_flight)
        )
        pair.live.workers = max(reading.workers, 1)
        service_s = pair.demand.service_s
        self._arrived += max(arrived, 0)
        for world, tally in ((pair.live, self._live), (pair.would_be, self._candidate)):
            world.pass_s(seconds, arrived, service_s, tally.waits)
            tally.worker_s += world.workers * seconds


def _own_bounds(cycle: Cycle) -> dict[int, OwnBound]:
    """Return the bounds of consumers themselves that the live decisions know after a cycle.

    A consumer that only exists in a model answers no commands, so a candidate would never meet one.
    """
    known = cycle.memories if cycle.plan is None else cycle.plan.memories
    bounds = {}
    for seen in cycle.observations:
        memory, owner = known.get(seen.partition), seen.state.owner if seen.state else None
        if memory is None or owner is None:
            continue
        if own := own_bound(memory, owner, seen.at_s):
            bounds[seen.partition] = own
    return bounds


def _with_bounds(
    memories: Mapping[int, PartitionMemory], bounds: Mapping[int, OwnBound]
) -> dict[int, PartitionMemory]:
    return {
        number: memory
        if memory.own is bounds.get(number)
        else changed(memory, own=bounds.get(number))
        for number, memory in memories.items()
    }


def _first(reading: Reading, owner: Owner) -> _Partition:
    jobs, workers = _jobs(reading), max(reading.workers, 1)
    return _Partition(
        live=World(workers=workers, jobs=jobs),
        would_be=World(workers=max(owner.target, 1), jobs=jobs),
        demand=Demand().restart(reading),
        start=reading.finished_total,
    )


def _jobs(reading: Reading) -> float:
    return float(reading.backlog + (reading.in_flight or 0))


def _shown(seen: Observation, state: PartitionState, owner: Owner, pair: _Partition) -> Observation:
    """Return what the candidate would observe. Fractions of jobs are kept for later."""
    world = pair.would_be
    running = int(world.running + pair.rest)
    pair.rest += world.running - running
    ready = _spread(state.ready, round(world.waiting))
    return Observation(
        partition=seen.partition,
        at_s=seen.at_s,
        state=changed(
            state,
            ready=ready,
            in_flight=running,
            jobs=max(state.jobs, sum(ready) + running + state.parked),
            counters={"done": pair.start + int(world.finished)},
            owner=changed(
                owner, workers=world.workers, busy=running, target=world.workers, applied=""
            ),
        ),
    )


def _spread(ready: tuple[int, int, int, int], waiting: int) -> tuple[int, int, int, int]:
    """Return waiting jobs by tier, in the proportions of those that wait."""
    total = sum(ready)
    if not total:
        return 0, 0, waiting, 0
    critical, high, low = (ready[tier] * waiting // total for tier in (0, 1, 3))
    return critical, high, waiting - critical - high - low, low
