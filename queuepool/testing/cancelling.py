"""Cancels, as the scripts of these names do them."""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData
from queuepool.testing.groups import TIERS
from queuepool.testing.keyspace import Args
from queuepool.testing.records import Lane
from queuepool.testing.routed import routed

_TIERS, _OF_TENANTS = (b"0", b"1", b"2", b"3"), (b"4", b"5", b"6", b"7")
_MAX_JOBS = 2000  # far beyond what a client sends; the most that a script's commands accept


@routed(1)
def cancel(p: PartitionData, args: Args) -> Any:
    """Cancel one job."""
    job_id = args[0]
    body = p.jobs.get(job_id)
    if body is None:
        return b"unknown"
    if job_id in p.dead:
        return b"dead"
    if any(job_id in p.book(epoch) for epoch in p.epochs()):
        p.cancels[job_id] = p.now
        p.wake(b"c")
        return b"in-flight"
    was = b"ready"
    if p.leave_delayed(job_id, body):
        was = b"delayed"
    else:
        p.mark(job_id, body)
    p.end_cancelled(job_id, body)
    return was


@routed(2)
def cancel_group(p: PartitionData, args: Args) -> Any:
    """Cancel the jobs of a group; a script does it in steps, this in one."""
    name = args[0]
    group = p.find_group(name)
    if group is None or args[1] != b"start":
        return [b"", 0, 0]
    group.cancelled_at = p.counters["cut"] = p.fresh_stamp

    def old(body: bytes) -> bool:
        return codec.read_enqueued_ms(body) <= group.cancelled_at

    def ours(body: bytes) -> bool:
        return old(body) and codec.read_group(body) == name

    asked = 0
    for epoch in p.running_epochs():
        for _score, job_id in p.book(epoch).entries():
            if job_id in p.jobs and ours(p.jobs[job_id]):
                asked += 1
                p.cancels[job_id] = p.now
    if asked:
        p.wake(b"c")
    gone = _empty_lanes(p, name, old)
    for _due, job_id in list(p.delayed.entries()):
        if job_id in p.jobs and ours(p.jobs[job_id]):
            p.leave_delayed(job_id, p.jobs[job_id])
            gone.append(job_id)
    for job_id in gone:
        p.end_cancelled(job_id, p.jobs[job_id], group)
    return [b"", len(gone), asked]


def _empty_lanes(p: PartitionData, name: bytes, old: Any) -> list[bytes]:
    # Takes what is to be cancelled from the lanes of a group, also from those at gates.
    gone: list[bytes] = []
    for lane in [(tier, name) for tier in TIERS]:
        found, _ = _empty_lane(p.lanes.get(lane), p, old)
        p.count_ready(lane, -len(found))
        gone += found
    for gate, lane in [key for key in p.gates.lanes if key[1][1] == name]:
        found, left = _empty_lane(p.gates.lanes.get((gate, lane)), p, old)
        for job_id in found:
            p.unpark(p.jobs[job_id])
        if left := left + _vacate(p, gate, lane):
            p.gates.left(gate, left)
        if gate not in p.gates.ids:
            p.gates.cursors.pop(gate, None)
        gone += found
    return gone


def _vacate(p: PartitionData, gate: bytes, lane: Lane) -> int:
    # Ends a lane at a gate that only has a mark left. Returns how many ids left it.
    waiting, group = p.gates.lanes[gate, lane], p.groups[lane[1]]
    if len(waiting) != 1 or waiting[0] not in p.marks:
        return 0
    tier, mark = group.place(lane[0]), waiting[0]
    left = p.gates.vacate(gate, lane, tier, moved=bool(group.moved))
    if left:
        p.marks.discard(mark)
    return left


def _empty_lane(
    waiting: deque[bytes] | None, p: PartitionData, old: Any
) -> tuple[list[bytes], int]:
    # Takes the front of a lane as far as it is to be cancelled. When that is all of it, the last
    # id stays as a mark: a seat in the ring has a lane. Returns the jobs, and how many ids left.
    front = list(takewhile(lambda i: i not in p.jobs or old(p.jobs[i]), waiting or ()))
    p.marks.difference_update(front)
    gone = [job_id for job_id in front if job_id in p.jobs]
    if waiting and front and len(front) == len(waiting):
        p.marks.add(front.pop())
    for _ in front:
        assert waiting is not None  # noqa: S101 - for the type
        waiting.popleft()
    return gone, len(front)
