"""finish, retry, bury, hand_back, end_cancelled, progress, start: what an owner reports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import STARTED, PartitionData, lane_of
from queuepool.testing.fencing import fence_or_drain
from queuepool.testing.groups import Group
from queuepool.testing.keyspace import Args
from queuepool.testing.tenants import tune_tenants


@fence_or_drain
def finish(p: PartitionData, args: Args) -> Any:
    """Record the end of jobs that succeeded."""
    finished = freed = 0
    left: list[bytes] = []
    sent = int(args[2])
    if not sent:
        return [0, 0, 0]
    named, rest = iter(args[3 : 3 + sent]), iter(args[3 + sent :])
    known = p.book(int(args[1]))
    here = {i for i in args[3 : 3 + sent] if i in known}
    whole = len(here) == sent  # what was in flight here is done, also without a body
    while (name := next(rest, None)) is not None:
        told_bytes, n, m = (int(x) for x in islice(rest, 3))
        ids = list(dict.fromkeys(islice(named, n)))
        results = [tuple(islice(rest, 3)) for _ in range(m)]
        left += [i for i in ids if i not in known and i in p.jobs]
        gone = [i for i in ids if i in known or i not in p.jobs]
        for job_id, ttl_ms, value in results:
            if job_id in gone and job_id in p.jobs:
                p.results[job_id] = (value, p.now + int(ttl_ms))
        done = [i for i in gone if whole or i in p.jobs]
        freed += told_bytes if whole else sum(len(p.jobs[i]) for i in done)
        for job_id in gone:
            p.unbook(int(args[1]), job_id)
            p.forget(job_id)
            p.remember(job_id)
        finished += len(done)
        if done:
            group = p.find_group(name) or p.groups.setdefault(name, Group())
            group.done += len(done)
            p.tallies.note(name, "done", p.now, len(done))
            p.leave_group(group, len(done))
    p.count("done", finished)
    p.counters["bytes"] = p.counters.get("bytes", 0) - freed if p.jobs else 0
    tune_tenants(p)
    duplicates = sent - finished - len(left)
    if duplicates:
        p.count("duplicate_finish", duplicates)
    return [finished, duplicates, len(left), *left]


@fence_or_drain
def finish_stray(p: PartitionData, args: Args) -> Any:
    """Record the end of jobs wherever they are, if they are the ones that were claimed."""
    finished = rolled = 0
    for job_id, stamp, ttl_ms, value in _by(4, args[2:]):
        body = p.jobs.get(job_id)
        if body is not None and _is_claimed(body, stamp) and _may_end(p, job_id, body):
            rolled += _leave(p, int(args[1]), job_id, body)
            finished += 1
            p.tell(job_id, b"d", value)
            p.forget(job_id)
            p.count("done")
            p.count("bytes", -len(body))
            if ttl_ms != b"0":
                p.results[job_id] = (value, p.now + int(ttl_ms))
            group = p.group_of(body)
            group.done += 1
            p.tallies.note(codec.read_group(body), "done", p.now)
            p.leave_group(group)
        if job_id not in p.jobs:
            p.remember(job_id)
    duplicates = (len(args) - 2) // 4 - finished
    if duplicates:
        p.count("duplicate_finish", duplicates)
    if rolled:
        p.count("rollback_finish", rolled)
    tune_tenants(p)
    return [finished, duplicates, rolled]


def _may_end(p: PartitionData, job_id: bytes, body: bytes) -> bool:
    runs = any(job_id in p.book(epoch) for epoch in p.epochs())
    return job_id not in p.dead and (runs or not p.is_closed(body))


def _leave(p: PartitionData, epoch: int, job_id: bytes, body: bytes) -> bool:
    # Removes a job from where it is. Returns whether that was not the caller's in-flight set: a
    # failover undid its claim, or it lost the partition meanwhile.
    if p.unbook(epoch, job_id):
        return False
    if p.leave_delayed(job_id, body) or any(p.unbook(other, job_id) for other in p.epochs()):
        return True
    p.mark(job_id, body)
    return True


def _by(size: int, args: Args) -> Iterator[Args]:
    return (args[i : i + size] for i in range(0, len(args), size))


def _is_claimed(body: bytes, stamp: bytes) -> bool:
    return not stamp or codec.read_stamp(body) == stamp


def _claimed(p: PartitionData, epoch: int, job_id: bytes, stamp: bytes) -> bytes | None:
    # Removes an in-flight job if its body is the claimed one, and returns that.
    body = p.jobs.get(job_id)
    if body is None or not _is_claimed(body, stamp) or not p.unbook(epoch, job_id):
        return None
    return body


@fence_or_drain
def retry(p: PartitionData, args: Args) -> Any:
    """Send running jobs back to delayed."""
    behind, status = p.counters.get("aside", 0), bytearray()
    if behind > p.now + 120_000:
        behind = 0
    for place, (job_id, delay_ms, charge, error, stamp) in enumerate(_by(5, args[2:])):
        body = _claimed(p, int(args[1]), job_id, stamp)
        if body is None:
            status += b"0"
        elif p.is_cancelled(job_id, body):
            p.end_cancelled(job_id, body)
            status += b"c"
        else:
            p.progress.pop(job_id, None)
            due: float = p.now + int(delay_ms)
            if charge.startswith(b":"):  # a job set aside later is due later
                p.asides[job_id] = charge[1:]
                behind = max(behind, int(due))
                p.counters["aside"] = behind + 1
                due = behind + (5 * place + 3) / 4096
            else:
                p.wishes.note_start(job_id)
            p.delay(job_id, lane_of(body)[0], due)
            p.group_of(body).delayed += 1
            if p.group_of(body).serial:
                p.group_of(body).next_id = job_id
            p.tune(codec.read_group(body))
            p.count("retried")
            if charge == b"1":
                p.attempts[job_id] = p.attempts.get(job_id, 0) + 1
                p.count("failed")
            if error:
                p.errors[job_id] = error
            status += b"r"
    return bytes(status)


@fence_or_drain
def bury(p: PartitionData, args: Args) -> Any:
    """Move running jobs to dead, and keep dead within its bounds."""
    keep_jobs, keep_bytes, keep_ms = (int(x) for x in args[2:5])
    status, evicted = bytearray(), 0
    for job_id, error, stamp in _by(3, args[5:]):
        body = _claimed(p, int(args[1]), job_id, stamp)
        if body is None:
            status += b"0"
            continue
        status += b"b"
        p.progress.pop(job_id, None)
        p.cancels.pop(job_id, None)
        p.attempts[job_id] = p.attempts.get(job_id, 0) + 1
        p.count("failed")
        add_dead(p, job_id, body, error)
    left, size = len(p.dead), p.counters.get("dead_bytes", 0)
    for died_ms, job_id in p.dead.entries(0, 2 * status.count(b"b")):
        if left <= keep_jobs and size <= keep_bytes and p.now - died_ms <= keep_ms:
            break
        body = p.jobs.get(job_id, b"")
        left, size = left - 1, size - len(body)
        if not p.is_closed(body):  # else it counts as gone
            _evict(p, job_id)
            evicted += 1
    return [bytes(status), evicted]


def add_dead(p: PartitionData, job_id: bytes, body: bytes, error: bytes) -> None:
    """Move a job, already taken from where it was, to dead."""
    p.wishes.let_go(job_id, died=True)
    p.tell(job_id, b"x", error)
    p.dead.add(job_id, p.now)
    p.errors[job_id] = error
    p.count("died")
    p.tallies.note(codec.read_group(body), "died", p.now)
    p.count("dead_bytes", len(body))
    group = p.group_of(body)
    group.dead += 1
    p.leave_group(group)


def _evict(p: PartitionData, job_id: bytes) -> None:
    body = p.jobs.get(job_id, b"")
    p.dead.remove(job_id)
    p.tell(job_id, b"v")
    p.forget(job_id)
    p.count("evicted")
    p.count("dead_bytes", -len(body))
    p.count("bytes", -len(body))
    if body:
        group = p.group_of(body)
        group.dead -= 1
        group.evicted += 1
        p.expire_group(group)


@fence_or_drain
def hand_back(p: PartitionData, args: Args) -> Any:
    """Return claimed jobs to the front of their lanes."""
    n = back = 0
    for job_id, stamp in reversed(list(_by(2, args[2:]))):
        body = _claimed(p, int(args[1]), job_id, stamp)
        if body is None:
            continue
        n += 1
        if p.is_cancelled(job_id, body):
            p.end_cancelled(job_id, body)
        else:
            back += 1
            p.progress.pop(job_id, None)
            p.place(job_id, lane_of(body), front=True)
            p.tune(codec.read_group(body))
    if back:
        p.wake(b"w")
    return n


@fence_or_drain
def end_cancelled(p: PartitionData, args: Args) -> Any:
    """End running jobs as cancelled."""
    n = 0
    for job_id, stamp in _by(2, args[2:]):
        body = _claimed(p, int(args[1]), job_id, stamp)
        if body is not None:
            n += 1
            p.end_cancelled(job_id, body)
    return n


@fence_or_drain
def progress(p: PartitionData, args: Args) -> Any:
    """Store the progress of running jobs."""
    n = 0
    for job_id, text in zip(args[2::2], args[3::2], strict=True):
        if job_id in p.book(int(args[1])):
            n += 1
            p.progress[job_id] = text[:256]
    return n


@fence_or_drain
def start(p: PartitionData, args: Args) -> Any:
    """Record claimed jobs as running."""
    epoch, n = int(args[1]), 0
    for job_id in args[2:]:
        score = p.book(epoch).score(job_id)
        n += score is not None
        if score is not None:
            p.wishes.note_start(job_id)
        if score is not None and score < STARTED:
            p.begin(epoch, job_id)
    return n


def chronicle(p: PartitionData, args: Args) -> Any:
    """Keep a record of executions that ended."""
    refused = p.refuse(args, draining_may=True)
    if refused:
        return refused
    keep, lines = int(args[2]), args[3]

    def until(entry: bytes) -> int:
        return int(entry.split(b" ", 1)[0])

    total = len(lines) + (until(p.history[-1]) if p.history else 0)
    p.history.append(b"%d %d\n%s" % (total, p.now, lines))
    while p.history:
        first = p.history[0]
        if total - until(first) + len(first.partition(b"\n")[2]) <= keep:
            break
        p.history.popleft()
    return len(p.history)
