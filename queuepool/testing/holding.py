"""hold_task, rouse, and what a claim does about held tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.fencing import fence
from queuepool.testing.gates import CLAIMED
from queuepool.testing.keyspace import Args
from queuepool.testing.routed import routed

UNTIL_RELEASE = 315_360_000_000  # ms: jobs of a held task are due so much later
RELEASED, ROUSING, PASSED = 0, 1, 2  # PASSED: jobs of it stayed, as they are being copied
_MOST, _LATE = 100, 120_000


@routed(2)
def hold_task(p: PartitionData, args: Args) -> Any:
    """Start no more jobs of a task, or let them start again."""
    task, begins = args[0], args[1]
    if is_held(p, task) == bool(begins):
        return 0
    if begins and len(p.tasks) >= _MOST and task not in p.tasks:
        return -1
    p.tasks[task] = (p.now, begins) if begins else (RELEASED, b"")
    if not begins:
        p.wake(b"w")
    return 1


def is_held(p: PartitionData, task: bytes) -> bool:
    """Return whether no job of a task may start."""
    return bool(p.tasks.get(task, (0, b""))[1])


def waits_for_release(p: PartitionData, due: float) -> bool:
    """Return whether a job that is due then waits for the release of its task."""
    return due > p.now + UNTIL_RELEASE / 2


def released(p: PartitionData) -> list[bytes]:
    """Return what a claim says of released tasks: whether rouse is to begin, or to end."""
    said = {since for since, begins in p.tasks.values() if not begins and since != PASSED}
    return [b"%d" % min(said)] if said else []


def set_aside(p: PartitionData, taken: Iterable[bytes]) -> set[bytes]:
    """Let claimed jobs of held tasks wait for the release; returns them."""
    behind, held = p.counters.get("aside", 0), set[bytes]()
    behind = max(p.now, behind if behind <= p.now + _LATE else 0)
    for job_id in taken:
        body = p.jobs.get(job_id)
        task = _held_task(p, body) if body is not None else None
        if body is None or task is None:
            continue
        held.add(job_id)
        p.asides[job_id] = task
        tier, name = lane_of(body)
        group = p.group_of(body)
        p.count_ready((tier, name), -1)
        p.delay(job_id, tier, behind + UNTIL_RELEASE + len(held) / 512)
        group.delayed += 1
        if p.gates.was_admitted(job_id):
            p.gates.leave_lane(job_id)
            p.gates.limits[job_id] = CLAIMED, p.gates.limits[job_id][1]
        if group.serial:
            group.next_id = job_id
    if held:
        p.counters["aside"] = behind + 1
    return held


def _held_task(p: PartitionData, body: bytes) -> bytes | None:
    envelope = body[codec.HEADER_BYTES + len(codec.read_group(body)) :]
    for task, (_since, begins) in p.tasks.items():
        if begins and envelope.startswith(begins):
            return task
    return None


def due_at_last(p: PartitionData, due: float, task: bytes) -> float:
    """Return when a job from elsewhere is due, which waited for the release of its task there."""
    return due - UNTIL_RELEASE if waits_for_release(p, due) and not is_held(p, task) else due


@fence
def rouse(p: PartitionData, args: Args) -> Any:
    """Make jobs due that were set aside for tasks known now, or held before: here in one step."""
    known, counts = set(args[3:]), Counter[bytes]()
    later, passed = list[tuple[float, bytes, float]](), set[bytes]()
    shift: float = _LATE
    for due, job_id in p.delayed.entries():
        task = p.asides.get(job_id)
        if task is None:
            continue
        if p.is_closed(p.jobs.get(job_id, b"")):
            passed.add(task)
        elif waits_for_release(p, due):
            if not is_held(p, task):
                later.append((due, job_id, UNTIL_RELEASE))
        elif task in known:
            counts[task] += 1
            if due > p.now + 1:
                later.append((due, job_id, 0))
                shift = max(shift, due - p.now)
    for due, job_id, more in later:  # so their order stays
        p.move_due(job_id, due - more - shift)
    p.tasks = {
        task: known if known[1] else (PASSED, b"")
        for task, known in p.tasks.items()
        if known[1] or task in passed
    }
    return [b"0", [x for pair in counts.items() for x in pair], len(later)]
