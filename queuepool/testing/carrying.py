"""walk, freeze, export, adopt and thaw: task groups that move to another partition."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.batch import FROZEN_MS
from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.gates import NEVER
from queuepool.testing.groups import Group
from queuepool.testing.holding import PASSED, RELEASED, due_at_last
from queuepool.testing.keyspace import Args
from queuepool.testing.managing import manage, unmanage
from queuepool.testing.packing import FIELDS, lined_up, packed, record, set_field
from queuepool.testing.wishes import STARTED
from queuepool.verbs.moves.verbs import Exported

_Carry = Callable[[PartitionData, Args], Any]


def of_move(verb: _Carry) -> _Carry:
    """Refuse a call by any version but the one that is accepted now."""

    @wraps(verb)
    def call(p: PartitionData, args: Args) -> Any:
        version = p.counters.get("route", 1)
        if version != int(args[0]):
            return [b"MOVED", b"%d" % version]
        return verb(p, args)

    return call


def walk(p: PartitionData, args: Args) -> Any:
    """Name the task groups that have jobs, and dead jobs, or others: all in one page."""
    if args[2] in (b"t", b"b"):
        return [b"0", list(p.tenants if args[2] == b"t" else p.batches)]
    if args[2]:
        names = {b"m": p.frozen, b"n": p.noted, b"r": set(p.groups)}[args[2]]
        known = {name: it for name in names if (it := _recorded(p, name))}
        slots = [(b"%d" % it.slot if it.slot >= 0 else b"", name) for name, it in known.items()]
        return [b"0", [word for pair in slots for word in pair]]
    found: list[bytes] = []
    live = Counter[tuple[bytes, bytes]]()
    for job_id, body in p.jobs.items():
        if job_id in p.dead:
            found += [body[13:16], codec.read_group(body), job_id]
        else:
            live[body[13:16], codec.read_group(body)] += 1
    for (slot, group), n in live.items():
        found += [slot, group, b"=%d" % n]
    return [b"0", found]


def _recorded(p: PartitionData, name: bytes) -> Group | None:
    """Return a group; None of one that has left, but for the least stamp of its seats."""
    group = p.find_group(name)
    if group is None or not (group.slot >= 0 or group.total > 0 or group.keep > 0):
        return None
    return group


@of_move
def freeze(p: PartitionData, args: Args) -> Any:
    """Let no job of groups start any more."""
    running = []
    for name, slot in zip(args[2::2], args[3::2], strict=True):
        group = p.find_group(name)
        if group is not None:
            group.moving, group.slot = int(args[0]), int(slot)
            group.closed = args[1] == b"1"
            p.frozen.add(name)
            if not group.state:
                manage(p, name, group)
            p.tune(name)
            waiting = group.delayed + group.parked + group.waiting.total()
            running.append(max(0, group.left - waiting))
        else:
            running.append(-1)
    return running


@of_move
def export(p: PartitionData, args: Args) -> Any:
    """Read jobs of a frozen group, with everything that is known of them."""
    name, limit, budget, dead = args[1], int(args[2]), int(args[3]), args[4:]
    group = p.find_group(name)
    if group is None:
        return [[], []]
    words, jobs = list[bytes](), 0
    for job_id in dead or lined_up(p, name, group):
        body = p.jobs.get(job_id)
        if body is None or codec.read_group(body) != name or (job_id in p.dead) != bool(dead):
            continue
        budget -= len(body)
        if jobs == limit or (words and budget < 0):
            break
        words += packed(p, job_id, body)
        jobs += 1
    return [record(group), words]


@of_move
def adopt(p: PartitionData, args: Args) -> Any:
    """Take over jobs from another partition; none of them starts before `thaw`."""
    version, name, words = int(args[0]), args[1], iter(args[2:])
    group = p.find_group(name) or p.groups.setdefault(name, Group())
    group.moving, group.closed = version, True
    p.frozen.add(name)
    for key, value in _pairs(words):
        set_field(group, key, value)
    p.counters["cut"] = max(p.counters.get("cut", 0), group.cancelled_at)
    if not group.state:
        manage(p, name, group)
    totals = _pairs(words)
    for key, value in () if group.arrived else totals:
        setattr(group, FIELDS[key], getattr(group, FIELDS[key]) + int(value))
        group.total += int(value)
    group.arrived = version if totals else group.arrived
    status = bytearray()
    for job in Exported({}, list(words)).jobs:
        job_id, body = job[:2]
        here = p.jobs.get(job_id)
        if here is not None:
            same = here[:13] == body[:13] and codec.read_group(here) == name
            status += b"h" if same else b"c"
        elif job_id in p.marks:
            status += b"c"
        else:
            _settle_in(p, group, job)
            ahead = codec.read_enqueued_ms(body)  # a cancellation is to find it, too
            p.counters["cut"] = max(p.counters["cut"], ahead if ahead > p.now else 0)
            status += b"1"
    group.expires = None
    if group.left > 0:
        p.managed.setdefault(name, 0)
    p.expire_group(group)
    p.tune(name)
    return bytes(status)


def _pairs(words: Iterator[bytes]) -> list[tuple[bytes, bytes]]:
    return [(next(words), next(words)) for _ in range(int(next(words)))]


def _settle_in(p: PartitionData, group: Group, words: Sequence[bytes]) -> None:
    plain = (b"l", b"0", *([b""] * 7))
    job_id, body, *known = words
    place, ms, attempts, crashes, error, said, by, gate, task = known if known[0] else plain
    p.jobs[job_id] = body
    p.count("bytes", len(body))
    group.total += 1
    if place == b"x":
        group.dead += 1
        p.dead.add(job_id, p.now - int(ms))
        p.count("dead_bytes", len(body))
    else:
        group.left += 1
        due = due_at_last(p, p.now + int(ms), task) if place == b"d" else None
        _line_up(p, group, job_id, due)
    if attempts:
        p.attempts[job_id] = int(attempts)
    if crashes:
        p.crashes[job_id] = int(crashes)
    if error:
        p.errors[job_id] = error
    if said and place != b"x" and said[:1] != STARTED:
        if p.holder_of(said[1:]) is not None:
            p.count("conflicts")
        else:
            p.wishes.take(said, job_id)
    elif said:
        p.wishes.keys[job_id] = said
    if by:
        p.wishes.expire_ms[job_id] = p.now + int(by)
    if gate:
        p.gates.limits[job_id] = NEVER, gate
    if task:
        p.asides[job_id] = task


def _line_up(p: PartitionData, group: Group, job_id: bytes, due: float | None) -> None:
    if due is not None:
        p.delay(job_id, lane_of(p.jobs[job_id])[0], due)
        group.delayed += 1
        p.wake(b"d")
        return
    lane = lane_of(p.jobs[job_id])
    if not p.lanes.get(lane):
        group.out.add(lane[0])
    p.lanes.setdefault(lane, deque()).append(job_id)
    group.waiting[lane[0]] += 1


@of_move
def thaw(p: PartitionData, _args: Args) -> Any:
    """Let jobs of frozen groups start, as their settings say."""
    for name in sorted(p.frozen):
        group = p.find_group(name)
        if group is None or not group.moving:
            continue
        group.moving, group.arrived, group.closed = 0, 0, False
        if p.tune(name) > 0:
            p.wake(b"w")
        if group.delayed > 0:
            p.wake(b"d")
        if not group.has_settings:
            unmanage(p, name, group)
    p.frozen.clear()
    for task, (since, _begins) in list(p.tasks.items()):
        if since == PASSED:
            p.tasks[task] = RELEASED, b""
            p.wake(b"w")
    for name, b in p.batches.items():
        if p.batches_due.get(name) == FROZEN_MS:
            p.batches_due[name] = b.at
            b.at = 0
            p.wake(b"f")
    return 0
