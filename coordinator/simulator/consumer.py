"""A consumer in virtual time: what it reports of its partition, and how it obeys. Pure."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from coordinator.core.model import Observation, ScaleCommand
from coordinator.policy import LimitUse
from coordinator.simulator.partition import SimulatedPartition
from coordinator.simulator.scenario import Scenario
from queuepool.models import Owner, PartitionState
from queuepool.models.work import EndedWork

_LEASE_MS = 10_000
_REPORTS_KEPT = 4_096
_SOONEST_S = 0.25  # between two reports of counts that change


@dataclass(frozen=True, slots=True)
class _Report:
    at_s: float
    workers: int
    busy: int
    target: int
    applied: str
    limits: tuple[LimitUse, ...]
    work: EndedWork


class SimulatedConsumer:
    """Owns a partition. late_s: how old reports are when they are seen, besides their period.

    It reports at least once a period, what it has obeyed at once, and soon how many workers there
    are and how many are busy, where that changed.
    """

    def __init__(self, number: int, partition: SimulatedPartition, scenario: Scenario) -> None:
        self.number, self.partition, self._scenario = number, partition, scenario
        self.late_s = 0.0
        self.checkpoint = partition.target
        self._applied, self._epoch, self._alive = "0-0", 1, True
        self._reports: deque[_Report] = deque(maxlen=_REPORTS_KEPT)
        self.report()

    def report(self) -> None:
        """Report the counts of now."""
        if self._alive:
            pool = self.partition
            counts = (pool.now_s, pool.workers, pool.busy, pool.target)
            self._reports.append(_Report(*counts, self._applied, self._limits(), pool.meter.total))

    def look(self) -> float:
        """Report if a report is due, or counts changed; returns when to look again."""
        last, period_s = self._reports[-1], self._scenario.reports_s
        now_s, pool = self.partition.now_s, self.partition
        changed = pool.workers != last.workers or abs(pool.busy - last.busy) > max(
            pool.workers // 4, 1
        )
        if now_s >= last.at_s + (min(_SOONEST_S, period_s) if changed else period_s):
            self.report()
        due_s = self._reports[-1].at_s + period_s
        soon_s = now_s + _SOONEST_S
        return min(due_s, soon_s) if due_s > now_s else soon_s

    def obey(self, command: ScaleCommand, command_id: str) -> None:
        """Apply a command, unless the consumer is gone."""
        if self._alive:
            self._applied = command_id
            self.partition.resize(command.target)
            self.report()

    def die(self) -> None:
        """End at once, with every worker."""
        self._alive = False
        self.partition.crash()

    def start(self, away_s: float) -> None:
        """Start again where the checkpoint, which has aged, says."""
        first, most = self._scenario.first_workers, self._scenario.bounds.max_workers
        aged = math.ceil(self.checkpoint * math.exp(-away_s / self._scenario.tau_s))
        self._alive, self._applied = True, "0-0"
        self._epoch += 1
        self._reports.clear()
        self.partition.resize(max(first, min(aged, most)))
        self.report()

    def observation(self) -> Observation:
        """Return what a coordinator sees now."""
        pool = self.partition
        return Observation(partition=self.number, at_s=pool.now_s, state=self._state())

    def _seen_report(self) -> _Report:
        if not self._scenario.reports_s and not self.late_s:
            self.report()
        seen = self._reports[0]
        for report in reversed(self._reports):
            if report.at_s <= self.partition.now_s - self.late_s:
                return report
        return seen

    def _limits(self) -> tuple[LimitUse, ...]:
        return tuple(
            LimitUse(
                name=gate.limit.name,
                parked=len(gate.parked),
                granted_per_s=gate.per_s if math.isfinite(gate.per_s) else 0.0,
                finished_total=gate.finished,
                service_s_total=gate.service_s,
            )
            for gate in self.partition.gates
        )

    def _state(self) -> PartitionState:
        pool, owner = self.partition, None
        now_ms = int(pool.now_s * 1000)
        if self._alive:
            seen = self._seen_report()
            owner = Owner(
                host="simulated:1",
                epoch=self._epoch,
                lease_ms=_LEASE_MS,
                heartbeat_ms=int(seen.at_s * 1000),
                workers=seen.workers,
                busy=seen.busy,
                target=seen.target,
                applied=seen.applied,
                limits=seen.limits,
                work=seen.work,
            )
        return PartitionState(
            partition=self.number,
            observed_ms=now_ms,
            ready=(0, 0, pool.backlog, 0),
            lanes=(0, 0, min(pool.backlog, 1), 0),
            jobs=pool.left,
            bytes=0,
            delayed=0,
            in_flight=pool.busy,
            dead=0,
            oldest_ms=0,
            books=0,
            draining=0,
            counters={"done": pool.finished},
            owner=owner,
            checkpoint=self.checkpoint,
            checkpoint_ms=now_ms,
            last_command="0-0",
        )
