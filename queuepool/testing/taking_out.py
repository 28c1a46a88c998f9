"""forget and drop_marks: jobs that have moved are taken out of their places."""

from __future__ import annotations

from collections import deque
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.carrying import of_move
from queuepool.testing.data import DAY_MS, PartitionData, lane_of
from queuepool.testing.groups import Group
from queuepool.testing.keyspace import Args


@of_move
def forget(p: PartitionData, args: Args) -> Any:
    """Delete jobs of a frozen group that another partition has adopted."""
    name, pairs = args[1], iter(args[3:])
    group = p.find_group(name)
    if group is None or (args[2] == b"2" and group.moving == int(args[0])):
        return [0, 0]
    for job_id, stamp in zip(pairs, pairs, strict=True):
        body = p.jobs.get(job_id, b"")
        same = codec.read_stamp(body) == stamp and codec.read_group(body) == name
        if body and same and (place := _take_out(p, group, job_id, body)):
            setattr(group, place, getattr(group, place) - 1)
            group.total -= 1
            p.count("bytes", -len(body))
            if place == "dead":
                p.count("dead_bytes", -len(body))
            p.asides.pop(job_id, None)
            p.forget(job_id)
    p.tune(name)
    left, dead = max(0, group.left), max(0, group.dead)
    if not left + dead:
        group.expires = p.now + DAY_MS
    if args[2] and not left + dead:
        del p.groups[name]
        p.frozen.discard(name)
        if group.moved:
            expires = p.now + DAY_MS
            p.groups[name] = Group(moved=group.moved, state="capped", expires=expires)
    return [left, dead]


@of_move
def drop_marks(p: PartitionData, args: Args) -> Any:
    """Drop ids of cancelled jobs in front of the lanes of a group."""
    name, dropped = args[1], 0
    for lane, ids in p.lanes.items():
        if lane[1] == name:
            dropped += _drop_in_front(p, ids)
    for (gate, lane), ids in p.gates.lanes.items():
        if lane[1] == name and (n := _drop_in_front(p, ids)):
            p.gates.left(gate, n)
            dropped += n
    return dropped


def _drop_in_front(p: PartitionData, ids: deque[bytes], most: int = 1000) -> int:
    """Drop ids of cancelled jobs in front of a lane, but the last one."""
    before = len(ids)
    while 1 < len(ids) > before - most and ids[0] not in p.jobs:
        p.marks.discard(ids.popleft())
    return before - len(ids)


def _take_out(p: PartitionData, group: Group, job_id: bytes, body: bytes) -> str:
    """Take a job out of its place; return what counts it in the record of its group."""
    if p.dead.remove(job_id):
        return "dead"
    if p.leave_delayed(job_id, body):
        return "left"
    lane = lane_of(body)
    if p.gates.is_parked(job_id):
        gate = p.gates.limits[job_id][1]
        key = b"gq:%d:%s~%s" % (lane[0], gate, lane[1])
        n = _take_from(p, p.gates.lanes[gate, lane], job_id, key)
        p.unpark(body)
        p.gates.left(gate, n)
        return "left"
    if job_id not in p.lanes.get(lane, ()):
        return ""
    _take_from(p, p.lanes[lane], job_id, b"q:%d:%s" % lane)
    group.waiting[lane[0]] -= 1
    return "left"


def _take_from(p: PartitionData, ids: deque[bytes], job_id: bytes, key: bytes) -> int:
    left = _drop_in_front(p, ids) + 1
    ids.remove(job_id)
    if not ids:
        ids.append(b"=" + key)
        p.marks.add(b"=" + key)
        left -= 1
    return left
