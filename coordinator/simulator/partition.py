"""One partition with its workers in virtual time: an event queue, no clock. Pure.

Each worker takes the next job when it is free. A job may need a turn at a hidden limit downstream
first, while it occupies its worker: that is how a run is made in which more workers do not help.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Sequence

from coordinator.simulator.load import Load
from coordinator.simulator.scenario import Hidden, Stream
from coordinator.simulator.waiting import Gate, Rings
from queuepool.models.work import WorkMeter

_NEVER = math.inf


class SimulatedPartition:
    """Jobs, lanes, gates and workers of one partition; time moves only by `advance`.

    worker_s: worker-seconds paid. needed_s: those of a pool that always had just the busy workers,
    and never fewer than the floor. served_s: those spent on jobs, without waiting downstream.
    """

    def __init__(
        self,
        load: Load,
        streams: Sequence[Stream],
        *,
        workers: int,
        floor: int = 0,
        hidden: Hidden | None = None,
        gates: Sequence[Gate] = (),
    ) -> None:
        self.load, self.hidden, self.gates = load, hidden or Hidden(), tuple(gates)
        self.now_s, self.target, self.workers, self.busy = 0.0, workers, workers, 0
        self.worker_s = self.needed_s = self.served_s = self.last_finish_s = 0.0
        self.finished = 0
        self.mean_s = [stream.service_s for stream in streams]
        self.waits_s = array("d", [-1.0]) * len(load)  # -1: has not started
        self._tiers = [stream.tier for stream in streams]
        self._names = [stream.name for stream in streams]
        by_name = {gate.limit.name: gate for gate in self.gates}
        self._gate_of = [by_name.get(stream.limit) for stream in streams]
        self._floor, self._next = floor, 0
        self._rings = Rings()
        self._ends: list[tuple[float, int, float, float]] = []  # when, job, service time, begun
        self.meter = WorkMeter()
        self._free_s = 0.0  # of the hidden rate
        self._slots = [0.0] * self.hidden.concurrency  # when each is free, of the hidden limit
        self._due_s = _NEVER

    @property
    def backlog(self) -> int:
        """Return the jobs that could start now: parked ones could not."""
        return self._rings.count

    @property
    def parked(self) -> int:
        """Return the jobs that wait for a limit."""
        return sum(len(gate.parked) for gate in self.gates)

    @property
    def left(self) -> int:
        """Return the jobs that have arrived and not finished."""
        return self._next - self.finished

    def resize(self, target: int) -> None:
        """Grow at once; shrink idle workers at once and busy ones when their job ends."""
        self.target = target
        self.workers = max(target, self.busy)
        self._start_jobs()

    def crash(self) -> None:
        """Lose every worker; what ran is at the front of its lane when the next owner starts."""
        for _, job, _, _ in sorted(self._ends, reverse=True):
            number = self.load.stream[job]
            gate = self._gate_of[number]
            if gate is not None:
                gate.running -= 1
                gate.let_in += 1
            self._rings.add(self._tiers[number], self.load.lane[job], job, front=True)
        self._ends.clear()
        self.busy = self.target = self.workers = 0

    def advance(self, until_s: float) -> None:
        """Let everything happen that happens until then."""
        ends, arrivals, load_size = self._ends, self.load.at_s, len(self.load)
        while True:
            end_s = ends[0][0] if ends else _NEVER
            arrives_s = arrivals[self._next] if self._next < load_size else _NEVER
            at_s = min(end_s, arrives_s, self._due_s)
            if at_s > until_s:
                break
            self._move_to(at_s)
            if at_s == end_s:
                self._end()
            elif at_s == arrives_s:
                self._arrive()
            else:
                self._let_in()
            if self.busy < self.target and self._rings.count:
                self._start_jobs()
        self._move_to(until_s)

    def share_limit(self, name: str, per_s: float) -> None:
        """Set this partition's part of the rate of a limit that it shares with others."""
        for gate in self.gates:
            if gate.limit.name == name:
                gate.change_rate(per_s, self.now_s)
                self._let_in()

    def _move_to(self, at_s: float) -> None:
        passed_s = at_s - self.now_s
        self.worker_s += self.workers * passed_s
        self.needed_s += max(self.busy, self._floor) * passed_s
        self.now_s = at_s

    def _arrive(self) -> None:
        job = self._next
        self._next += 1
        number = self.load.stream[job]
        gate = self._gate_of[number]
        if gate is None:
            self._rings.add(self._tiers[number], self.load.lane[job], job)
        else:
            gate.parked.append(job)
            self._let_in()

    def _let_in(self) -> None:
        for gate in self.gates:
            for job in gate.admit(self.now_s):
                self._rings.add(self._tiers[self.load.stream[job]], self.load.lane[job], job)
        self._due_s = min((gate.due_s() for gate in self.gates), default=_NEVER)

    def _start_jobs(self) -> None:
        rings, load = self._rings, self.load
        while rings.count and self.busy < self.target:
            job = rings.take()
            number = load.stream[job]
            service_s = self.mean_s[number] * load.share[job]
            self.waits_s[job] = self.now_s - load.at_s[job]
            self.busy += 1
            end_s = self._downstream_s(service_s) + service_s
            heapq.heappush(self._ends, (end_s, job, service_s, self.now_s))
            gate = self._gate_of[number]
            if gate is not None:
                gate.start(self.now_s)
                self._let_in()

    def _downstream_s(self, service_s: float) -> float:
        """Return when a job that starts now gets its turn downstream."""
        begins_s = self.now_s
        if not math.isinf(self.hidden.per_s):
            self._free_s = max(self._free_s, begins_s) + 1 / self.hidden.per_s
            begins_s = self._free_s
        if self._slots:
            begins_s = max(begins_s, heapq.heappop(self._slots))
            heapq.heappush(self._slots, begins_s + service_s)
        return begins_s

    def _end(self) -> None:
        _, job, service_s, begun_s = heapq.heappop(self._ends)
        self.busy -= 1
        self.finished += 1
        self.served_s += service_s
        self.last_finish_s = self.now_s
        self.workers = max(self.target, self.busy)
        number = self.load.stream[job]
        self.meter.add([(self._names[number], self.now_s - begun_s, 1.0)], self.now_s)
        gate = self._gate_of[number]
        if gate is not None:
            gate.end(service_s)
            self._let_in()
