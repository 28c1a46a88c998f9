"""admit and gates: parked jobs go to their lanes as their limits allow."""

from __future__ import annotations

from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import Args, PartitionData, lane_of
from queuepool.testing.fencing import fence
from queuepool.testing.gates import CLAIMED
from queuepool.testing.records import Lane

_IDLE_SEATS = 32


@fence
def admit(p: PartitionData, args: Args) -> Any:
    """Move parked jobs of a gate to their lanes."""
    epoch, gate, out = int(args[1]), args[2], p.gates.admitted[args[2]]
    n, admitted, cancelled, popped, idle = min(int(args[3]), int(args[4]) - out), 0, 0, 0, 0
    while admitted < n and popped < 2 * n + 100 and idle < _IDLE_SEATS:
        lane = p.gates.next_seat(gate)
        if lane is None:
            break
        waiting = p.gates.lanes.get((gate, lane))
        if waiting and not _may_go(p, lane[1], waiting[0]):
            p.gates.rings[gate, lane[0]].append(lane[1])
            idle += 1
            continue
        if waiting:
            job_id = waiting.popleft()
            popped += 1
            body = p.jobs.get(job_id)
            if body is None:
                p.marks.discard(job_id)
            elif p.is_cancelled(job_id, body):
                p.unpark(body)
                p.gates.limits[job_id] = CLAIMED, gate
                p.end_cancelled(job_id, body)
                cancelled += 1
            else:
                admitted += p.wishes.expire_ms.get(job_id, p.now + 1) > p.now
                _admit(p, epoch, gate, job_id, body)
        if waiting:
            p.gates.rings[gate, lane[0]].append(lane[1])
        else:
            p.gates.lanes.pop((gate, lane), None)
    if admitted:
        p.count("admitted", admitted)
    if popped > cancelled:
        p.wake(b"w")
    if popped:
        p.gates.left(gate, popped)
    if gate not in p.gates.ids:
        del p.gates.cursors[gate]
    return [admitted, out + admitted, p.gates.ids[gate], cancelled]


def _may_go(p: PartitionData, name: bytes, job_id: bytes) -> bool:
    if p.managed.get(name) != 0:
        return True
    group = p.groups[name]
    return group.next_id == job_id and not group.hold


def _admit(p: PartitionData, epoch: int, gate: bytes, job_id: bytes, body: bytes) -> None:
    p.unpark(body)
    p.gates.limits[job_id] = b"%d" % epoch, gate
    p.gates.admitted[gate] += 1
    lane: Lane = lane_of(body)
    p.place(job_id, lane, front=p.group_of(body).next_id == job_id)
    p.tune(codec.read_group(body), owning=True)


def gates(p: PartitionData, _args: Args) -> Any:
    """Return the gates at which jobs are parked: all of them in one page."""
    found: list[Any] = [b"0", len(p.draining) + len(p.to_recover)]
    found.append(p.counters.get("admitted", 0))
    for gate, ids in p.gates.ids.items():
        found += [gate, ids, p.gates.admitted[gate]]
    return found
