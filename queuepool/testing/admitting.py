"""admit and gates: parked jobs go to their lanes as their limits allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from queuepool.models.tenants import tenant_of
from queuepool.protocol import codec
from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.fencing import fence
from queuepool.testing.gates import CLAIMED
from queuepool.testing.keyspace import Args
from queuepool.testing.records import Lane
from queuepool.testing.tenants import room_of

_IDLE_SEATS = 32


@dataclass(slots=True)
class _Admission:
    """One call. popped: ids that left the gate; idle: seats of groups that may not run."""

    p: PartitionData
    epoch: int
    gate: bytes
    admitted: int = 0
    cancelled: int = 0
    popped: int = 0
    idle: int = 0

    def visit(self, lane: Lane) -> None:
        """Take the next job of a lane at the gate, if it may go, and give the lane its seat."""
        p, seat = self.p, lane
        lane = p.gates.lane_of_turn(self.gate, lane)
        waiting = p.gates.lanes.get((self.gate, lane))
        if waiting and waiting[0] in p.jobs and not _may_go(p, lane, waiting[0]):
            self.idle += 1
        elif waiting:
            self._take(p.gates.take(self.gate, lane))
        if waiting:
            p.gates.rings[self.gate, seat[0]].append(lane[1])
        else:
            p.gates.lanes.pop((self.gate, lane), None)

    def _take(self, job_id: bytes) -> None:
        p, body = self.p, self.p.jobs.get(job_id)
        self.popped += 1
        if body is None:
            p.marks.discard(job_id)
        elif p.is_cancelled(job_id, body):
            p.unpark(body)
            p.gates.limits[job_id] = CLAIMED, self.gate
            p.end_cancelled(job_id, body)
            self.cancelled += 1
        else:
            self.admitted += p.wishes.expire_ms.get(job_id, p.now + 1) > p.now
            _admit(p, self.epoch, self.gate, job_id, body)


@fence
def admit(p: PartitionData, args: Args) -> Any:
    """Move parked jobs of a gate to their lanes."""
    gate, out = args[2], p.gates.admitted[args[2]]
    n, call = min(int(args[3]), int(args[4]) - out), _Admission(p, int(args[1]), gate)
    if p.counters.get("hold"):
        n = 0
    for _ in range(2 * n + _IDLE_SEATS if n > 0 else 0):
        lane = p.gates.next_seat(gate)
        if lane is None:
            break
        call.visit(lane)
        if call.admitted >= n or call.idle >= _IDLE_SEATS:
            break
    if call.admitted:
        p.count("admitted", call.admitted)
    if call.popped > call.cancelled:
        p.wake(b"w")
    if call.popped:
        p.gates.left(gate, call.popped)
    if gate not in p.gates.ids:
        del p.gates.cursors[gate]
    return [call.admitted, out + call.admitted, p.gates.ids[gate], call.cancelled]


def _may_go(p: PartitionData, lane: Lane, job_id: bytes) -> bool:
    name = lane[1]
    if room_of(p, tenant_of(name) or b"") == 0:
        return False
    if name not in p.managed:
        return True
    group = p.groups[name]
    if group.next_id == job_id:
        return not group.is_held
    waiting = p.lanes.get(lane)
    if group.serial and waiting and p.gates.was_admitted(waiting[0]):
        return False  # one at a time keeps their order
    return p.managed[name] != 0


def _admit(p: PartitionData, epoch: int, gate: bytes, job_id: bytes, body: bytes) -> None:
    p.unpark(body)
    p.gates.limits[job_id] = b"%d" % epoch, gate
    p.gates.admitted[gate] += 1
    lane: Lane = lane_of(body)
    group = p.group_of(body)
    p.place(job_id, lane, front=group.serial or group.next_id == job_id)
    p.tune(codec.read_group(body), owning=True)


def gates(p: PartitionData, _args: Args) -> Any:
    """Return the gates with parked or admitted jobs: all of them in one page."""
    found: list[Any] = [b"0", len(p.draining) + len(p.to_recover), int("parked" in p.counters)]
    for gate in p.gates.ids | p.gates.admitted:
        found += [gate, p.gates.ids[gate], p.gates.admitted[gate]]
    return found
