"""Batches: defined, grown, told of ends, concluded and forgotten, as the scripts do it."""

from __future__ import annotations

from typing import Any

from queuepool.protocol.batches import MAX_JOBS
from queuepool.testing.batch import Batch
from queuepool.testing.data import PartitionData
from queuepool.testing.ending import add_dead
from queuepool.testing.fencing import fence
from queuepool.testing.keyspace import Args
from queuepool.testing.routed import routed

_ERRORS_KEPT = 1000
_NEVER = b"0" * 11
_LONGEST_PAUSE_MS = 1_800_000


@routed(1)
def open_batch(p: PartitionData, args: Args) -> Any:
    """Define a batch."""
    name, _version, then, how, late, deadline, keep, called, within, *flow = args
    known = p.batches.get(name)
    if known is not None:
        return [0, known.bits_from(0), known.first] if known.state == b"open" else known.state
    due = p.now + int(deadline)
    p.batches[name] = Batch(then, how, late, due, int(keep), called, within, p.now)
    if flow:
        b = p.batches[name]
        b.part, b.tells, b.graph = flow[0], flow[1].split(), flow[2]
    p.batches_due[name] = due
    p.wake(b"f")
    return 1


@routed(1)
def seal_batch(p: PartitionData, args: Args) -> Any:
    """Say how many jobs a batch has."""
    b = p.batches.get(args[0])
    if b is None or b.state != b"open":
        return b.state if b is not None else b""
    if b.first:
        return 0 if b.first == args[2] else -1
    b.first, b.total = args[2], int(args[2])
    _concerned(p, args[0])
    return 1


@routed(1)
def grow_batch(p: PartitionData, args: Args) -> Any:
    """Reserve numbers for jobs."""
    name, _version, call, jobs, inner = args
    b = p.batches.get(name)
    if b is not None and call in b.calls:
        first, count = b.calls[call]
        return [b"OK", first, count, b.bits_from(first // 8, (first + count) // 8)]
    if b is None:
        return [b"OVER", b""]
    returns = b.state == b"failed" and b.part == b"s" and b.counts["dead"] > 0
    if b.state != b"open" and not returns:
        return [b"OVER", b.state]
    if not b.first:
        return [b"OPEN"]
    if b.total + int(jobs) > MAX_JOBS:
        return [b"FULL"]
    b.calls[call] = (b.total, int(jobs))
    b.total += int(jobs)
    if inner:
        b.inner.append(inner)
    return [b"OK", *b.calls[call]]


@routed(1)
def cancel_batch(p: PartitionData, args: Args) -> Any:
    """Conclude a batch as cancelled."""
    b = p.batches.get(args[0])
    if b is None:
        return [b"", b""]
    state = b.state
    if state == b"open":
        b.state, b.ended = b"cancelled", p.now
        p.batches_due[args[0]] = p.now + b.keep
    return [state, b.then]


def cancel_children(p: PartitionData, args: Args) -> Any:
    """Cancel the jobs of batches; a script does it in steps, this in one."""
    gone = asked = left = 0
    runs = False
    wanted = set(args[2:])
    for job_id in [i for i in p.jobs if i[2:].rpartition(b"~")[0] in wanted and i not in p.dead]:
        body = p.jobs[job_id]
        if any(job_id in p.book(epoch) for epoch in p.epochs()):
            runs, asked = True, asked + (job_id not in p.cancels)
            p.cancels[job_id] = p.now
            continue
        if p.is_closed(body):
            left += 1
            continue
        gone += 1
        if not p.leave_delayed(job_id, body):
            p.mark(job_id, body)
        p.end_cancelled(job_id, body)
    if runs:
        p.wake(b"c")
    return [b"0", gone, asked, left]


@routed(0)
def note_ends(p: PartitionData, args: Args) -> Any:
    """Note the outcome of jobs of batches."""
    touched: dict[bytes, bool] = {}
    states = {name: p.batches[name].state for name in args[1::5] if name in p.batches}
    news = 0
    for name, number, *note in zip(*[iter(args[1:])] * 5, strict=True):
        takes = states.get(name) in (b"open", b"fired", b"failed") and int(number) < MAX_JOBS
        if takes and _note(p.batches[name], int(number), *note):
            news += 1
            touched[name] = True
    for name in touched:
        _concerned(p, name)
    return news


def _note(b: Batch, number: int, end: bytes, stamp: bytes, text: bytes) -> bool:
    ended = number in b.bits
    how, death, back, _ = b.failed.get(number, (b"", b"", b"", b""))
    if ended and how != b"x":
        return False
    old = stamp <= death or stamp < back or (end == b"r" and stamp == back)
    if old and end in (b"x", b"r"):
        return False
    if end == b"r":
        b.failed[number] = (b"r", death or _NEVER, stamp, b"")
        b.counts["dead"] -= ended
        b.bits.discard(number)
        return ended
    if end == b"d":
        if text:
            b.results[number] = text
        b.failed.pop(number, None)
    else:
        kept = b"" if len(b.failed) >= _ERRORS_KEPT else text
        b.failed[number] = (end, stamp, back or _NEVER, kept)
        if ended and end == b"x":
            return False
    b.bits.add(number)
    b.top = max(b.top, number + 1)
    if ended:
        b.counts["dead"] -= 1
    b.counts[{b"d": "done", b"x": "dead"}.get(end, "lost")] += 1
    return True


def _concerned(p: PartitionData, name: bytes) -> None:
    if p.batches[name].part in (b"s", b"f"):
        _pass_on(p, p.batches[name])
    else:
        _make_due(p, name)


def _pass_on(p: PartitionData, b: Batch) -> None:
    if b.outcome == b.said:
        return
    b.said, b.ended = b.outcome, p.now
    b.returns += b.said == b"r"
    b.state = {b"d": b"fired", b"r": b"open"}.get(b.said, b"failed")
    for follower in b.tells:
        p.relay(b"AA" + follower, b.said + b"%011x" % b.returns)


def _make_due(p: PartitionData, name: bytes) -> None:
    if p.batches[name].state == b"open" and p.batches[name].complete:
        p.batches_due[name] = 0
        p.wake(b"f")


@fence
def untold(p: PartitionData, args: Args) -> Any:
    """Return what is to be told to batches; forget what was told."""
    after, most, max_bytes = args[2], int(args[3]), int(args[4])
    for entry in args[5:]:
        p.untold.pop(entry, None)
    found: list[bytes] = []
    size = 0
    for entry, (job_id, text) in p.untold.items():
        if after != b"-" and _order(entry) <= _order(after):
            continue
        if len(found) >= 3 * most or size > max_bytes:
            break
        found += [entry, job_id, text]
        size += len(text)
    return [len(p.untold), found]


def _order(entry: bytes) -> tuple[int, ...]:
    return tuple(map(int, entry.split(b"-")))


@fence
def tend_batches(p: PartitionData, _args: Args) -> Any:
    """Conclude batches that are complete or late; forget old ones."""
    counts = {"fired": 0, "failed": 0, "forgotten": 0}
    due = sorted((at, name) for name, at in p.batches_due.items() if at <= p.now)
    for _at, name in due[:20]:
        b = p.batches[name]
        over = p.now >= b.due + max(60_000, b.keep)
        if b.concludes and not (over and _is_early(p, b)):
            verdict = _conclude(p, name, b)
            counts[verdict] = counts.get(verdict, 0) + 1
        elif b.then in p.jobs:
            p.batches_due[name] = p.now + max(60_000, b.keep)
        else:
            del p.batches[name], p.batches_due[name]
            counts["forgotten"] += 1
    following = min(p.batches_due.values(), default=None)
    left = -1 if following is None else max(0, following - p.now)
    return [counts["fired"], counts["failed"], counts["forgotten"], left]


def _is_early(p: PartitionData, b: Batch) -> bool:
    """Return whether its producer is still to store the continuation, or never will."""
    return not b.first and b.then not in p.jobs


def _conclude(p: PartitionData, name: bytes, b: Batch) -> str:
    complete = b.complete
    if not complete and p.now < b.due:
        p.batches_due[name] = b.due
        return "open"
    if _is_early(p, b):
        p.batches_due[name] = p.now + min(_LONGEST_PAUSE_MS, 500 + (p.now - b.due) // 4)
        return "open"
    failures = b.counts["dead"] + b.counts["lost"]
    in_part = b.part == b"g" and not b.first
    failed = complete and b.how == b"f" and failures > 0
    failed = failed or (not complete and (b.late == b"f" or in_part))
    b.state = b"failed" if failed else b"fired"
    b.why, b.ended = b"complete" if complete else b"deadline", p.now
    p.batches_due[name] = p.now + max(60_000, b.keep)
    if b.then not in p.delayed:
        return "gone"
    if not failed:
        p.move_due(b.then, p.now)
        return "fired"
    body = p.jobs[b.then]
    p.leave_delayed(b.then, body)
    add_dead(p, b.then, body, _why(b, late=not complete))
    return "failed"


def _why(b: Batch, *, late: bool) -> bytes:
    done, dead, lost = b.counts.values()
    open_ = max(0, b.jobs - done - dead - lost)
    numbers = sorted(number for number, (how, *_) in b.failed.items() if how != b"r")[:20]
    what = "steps that it follows" if b.part == b"g" else "jobs of its batch"
    text = (
        f"of {b.jobs} {what}, {done} are done, {dead} dead, {lost} cancelled, "
        f"expired or deleted, and {open_} have not ended"
    )
    text += " by the deadline" if late else ""
    text += f"; numbers {', '.join(map(str, numbers))}" if numbers else ""
    text += " and others" if dead + lost > len(numbers) else ""
    return b'{"reason":"batch-failed","message":"%s"}' % text.encode()
