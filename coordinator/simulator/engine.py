"""The run of a scenario: an event queue over partitions, consumers and a leader. Pure."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coordinator.core.model import PartitionDecision, ScaleCommand
from coordinator.core.planner import Planner
from coordinator.policy import Policy
from coordinator.simulator import scenario as happens
from coordinator.simulator.consumer import SimulatedConsumer
from coordinator.simulator.leader import SimulatedLeader
from coordinator.simulator.load import Load, loads_of
from coordinator.simulator.partition import SimulatedPartition
from coordinator.simulator.scenario import Event, Scenario
from coordinator.simulator.waiting import Gate

_EVENT, _REPORT, _COMMAND, _CYCLE = range(4)  # the order of what happens at one time
_SHARE_S = 1.0  # how often partitions agree on their parts of a limit
_Action = Callable[[], None]


@dataclass(slots=True)
class Samples:
    """One row per cycle, summed over the partitions."""

    at_s: array[float] = field(default_factory=lambda: array("d"))
    workers: array[int] = field(default_factory=lambda: array("L"))
    busy: array[int] = field(default_factory=lambda: array("L"))
    backlog: array[int] = field(default_factory=lambda: array("L"))


@dataclass(slots=True)
class Run:
    """What happened: the partitions as they ended, the changes of targets, and samples.

    changes: (when, decision) of every decision for another count. peak: of one partition.
    """

    scenario: Scenario
    partitions: tuple[SimulatedPartition, ...]
    changes: list[tuple[float, PartitionDecision]] = field(default_factory=list)
    samples: Samples = field(default_factory=Samples)
    peak: int = 0


@dataclass(frozen=True, slots=True)
class _Beat:
    """What repeats: at from_s, from_s + step_s and so on."""

    from_s: float
    step_s: float
    kind: int
    action: _Action


def simulate(
    scenario: Scenario, policy: Policy[Any, Any] | None, loads: Sequence[Load] = ()
) -> Run:
    """Run a scenario. policy: None leaves every pool at its first size.

    loads: those of the scenario, if they were made before for another policy.
    """
    return _Simulation(scenario, policy, loads or loads_of(scenario)).run()


class _Simulation:
    """One run, whose time is that of its queue."""

    def __init__(
        self, scenario: Scenario, policy: Policy[Any, Any] | None, loads: Sequence[Load]
    ) -> None:
        self._scenario = scenario
        self._consumers = [_consumer(scenario, number, load) for number, load in enumerate(loads)]
        self._leader = None
        if policy is not None:
            planner = Planner(policy=policy, limits=scenario.bounds, cycle_s=scenario.cycle_s)
            self._leader = SimulatedLeader(planner)
        self._queue: list[tuple[float, int, int, _Action]] = []
        self._sequence = 0
        self.result = Run(scenario, tuple(one.partition for one in self._consumers))

    def run(self) -> Run:
        """Return the whole run."""
        self._plan_ahead()
        until_s, queue = self._scenario.until_s, self._queue
        while queue and queue[0][0] <= until_s:
            heapq.heappop(queue)[3]()
        self._advance(until_s)
        return self.result

    def _plan_ahead(self) -> None:
        scenario = self._scenario
        for event in scenario.events:
            self._at(event.at_s, _EVENT, partial(self._happen, event))
        self._repeat(_Beat(0.0, scenario.cycle_s, _CYCLE, self._cycle), 1)
        if scenario.reports_s:
            # A consumer's beat and the leader's cycle are not in step.
            offset_s = 0.37 * scenario.reports_s
            for one in self._consumers:
                self._at(offset_s, _REPORT, partial(self._report, one, offset_s))
        if len(self._consumers) > 1 and scenario.limits:
            self._repeat(_Beat(0.0, _SHARE_S, _EVENT, self._share_limits), 0)

    def _at(self, at_s: float, kind: int, action: _Action) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (at_s, kind, self._sequence, action))

    def _repeat(self, beat: _Beat, index: int) -> None:
        # Multiplied, since a sum of steps drifts away from the times that a scenario names.
        at_s = beat.from_s + index * beat.step_s

        def act() -> None:
            self._advance(at_s)
            beat.action()
            self._repeat(beat, index + 1)

        self._at(at_s, beat.kind, act)

    def _advance(self, until_s: float) -> None:
        for one in self._consumers:
            one.partition.advance(until_s)

    @property
    def _now_s(self) -> float:
        return self._consumers[0].partition.now_s

    def _report(self, consumer: SimulatedConsumer, at_s: float) -> None:
        consumer.partition.advance(at_s)
        next_s = consumer.look()
        self._at(next_s, _REPORT, partial(self._report, consumer, next_s))

    def _cycle(self) -> None:
        pools, samples = [one.partition for one in self._consumers], self.result.samples
        samples.at_s.append(self._now_s)
        samples.workers.append(sum(pool.workers for pool in pools))
        samples.busy.append(sum(pool.busy for pool in pools))
        samples.backlog.append(sum(pool.backlog for pool in pools))
        self.result.peak = max(self.result.peak, *(pool.target for pool in pools))
        if self._leader is None:
            return
        seen = [one.observation() for one in self._consumers]
        plan = self._leader.cycle(seen, self._now_s)
        if plan is None:
            return
        for decision in plan.decisions:
            if decision.target != decision.previous:
                self.result.changes.append((self._now_s, decision))
        for command in plan.commands:
            self._send(command, self._leader.command_id(command))

    def _send(self, command: ScaleCommand, command_id: str) -> None:
        consumer = self._consumers[command.partition]
        consumer.checkpoint = command.target
        at_s = self._now_s + self._scenario.hears_s

        def obey() -> None:
            consumer.partition.advance(at_s)
            consumer.obey(command, command_id)

        self._at(at_s, _COMMAND, obey)

    def _share_limits(self) -> None:
        """Divide each limit among the partitions that wait for it, or else among all."""
        for number, limit in enumerate(self._scenario.limits):
            if math.isinf(limit.per_s):
                continue
            pools = [one.partition for one in self._consumers]
            asking = [pool for pool in pools if pool.gates[number].parked] or pools
            for pool in pools:
                pool.share_limit(limit.name, limit.per_s / len(asking) if pool in asking else 0.0)

    def _happen(self, event: Event) -> None:
        self._advance(event.at_s)
        match event:
            case happens.ServiceChanges():
                for one in self._consumers:
                    _change_service(one.partition, self._scenario, event)
            case happens.Restart():
                consumer = self._consumers[event.partition]
                consumer.die()
                self._at(event.at_s + event.for_s, _EVENT, partial(self._start, consumer, event))
            case happens.LateCounts():
                for one in self._consumers:
                    one.late_s = event.by_s
                self._at(event.at_s + event.for_s, _EVENT, self._end_lateness)
            case _:
                self._happen_to_leader(event)

    def _happen_to_leader(self, event: Event) -> None:
        if self._leader is None:
            return
        match event:
            case happens.Blind():
                everywhere = range(len(self._consumers))
                which = everywhere if event.partition is None else [event.partition]
                self._leader.go_blind(which, event.at_s + event.for_s)
            case happens.Leaderless():
                self._leader.go_away(event.at_s, event.for_s)
            case happens.BoundsChange():
                self._leader.change_bounds(event.bounds)

    def _start(self, consumer: SimulatedConsumer, event: happens.Restart) -> None:
        consumer.partition.advance(event.at_s + event.for_s)
        consumer.start(event.for_s)

    def _end_lateness(self) -> None:
        for one in self._consumers:
            one.late_s = 0.0


def _consumer(scenario: Scenario, number: int, load: Load) -> SimulatedConsumer:
    used = [Gate(limit, limit.per_s / scenario.partitions) for limit in scenario.limits]
    pool = SimulatedPartition(
        load,
        scenario.streams,
        workers=scenario.first_workers,
        floor=scenario.bounds.min_workers,
        hidden=scenario.hidden,
        gates=used,
    )
    return SimulatedConsumer(number, pool, scenario)


def _change_service(
    pool: SimulatedPartition, scenario: Scenario, event: happens.ServiceChanges
) -> None:
    for number, stream in enumerate(scenario.streams):
        if event.stream in ("", stream.name):
            pool.mean_s[number] = event.service_s
