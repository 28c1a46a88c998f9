"""find and errors: verbs that look for jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import STARTED, PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.scored import ScoredSet

_FULL_BYTES = 4 * 1024**2
_AT_ONCE = 50
_CURSOR = re.compile(rb"(-?[\d.e+]+):(.*)", re.DOTALL)
_BEGINS = re.compile(rb'\["(?:.*?)",', re.DOTALL)


def brief(error: bytes) -> bytes:
    """Return an error without its traceback."""
    return error.partition(b',"traceback":')[0][:1600]


class _Looking:
    """One call of `find`: what it looks for, and what it has found."""

    def __init__(self, p: PartitionData, args: Args) -> None:
        self.p = p
        self.kind, self.state, self.cursor = args[0].decode(), args[1].decode(), args[2]
        self.look, self.most, self.newest = int(args[3]), int(args[4]), args[5] == b"1"
        self.since, self.till = int(args[6]), int(args[7])
        self.begins, self.group, self.text, self.bytes = args[8], args[9], args[10], int(args[11])
        self.rows: list[Any] = []
        self.matching = self.looked = self.size = 0

    @property
    def full(self) -> bool:
        return self.size > _FULL_BYTES or 0 < self.most <= len(self.rows)

    def note(self, job_id: bytes, at: float, state: str) -> None:
        p = self.p
        self.looked += 1
        body = p.jobs.get(job_id)
        if body is None:
            return
        self.size += len(body)
        ms = int(at) if state != "in-flight" or at >= STARTED else 0
        when = ms or codec.read_enqueued_ms(body)
        if self.since > when or 0 < self.till < when:
            return
        group = codec.read_group(body)
        if self.group and self.group != group:
            return
        if not body.startswith(self.begins, 18 + len(group)):
            return
        error = p.errors.get(job_id, b"")
        if self.text and self.text not in brief(error).lower():
            return
        self.matching += 1
        if self.most:
            attempts, crashes = p.attempts.get(job_id, 0), p.crashes.get(job_id, 0)
            error = error if self.bytes > 4096 else brief(error)
            self.rows.append(
                [job_id, state.encode(), ms, body[: self.bytes], attempts, crashes, error]
            )


def find(p: PartitionData, args: Args) -> Any:
    """List the jobs of a kind that match, a bounded part at a time."""
    looking = _Looking(p, args)
    unfiltered = not (looking.begins or looking.group or looking.text)
    if looking.kind in ("dead", "delayed") and looking.most == 0 and unfiltered:
        among = p.dead if looking.kind == "dead" else p.delayed
        before = len(among.below(looking.since)) if looking.since else 0
        up_to = len(among.up_to(looking.till)) if looking.till else len(among)
        return [b"", 0, max(0, up_to - before), p.now]
    if looking.kind in ("dead", "delayed"):
        follows = _in_order(looking, p.dead if looking.kind == "dead" else p.delayed)
    elif looking.kind == "id":
        state, at = _place_of(p, looking.cursor)
        if looking.state in ("", state):
            looking.note(looking.cursor, at, state)
        follows = b""
    elif looking.kind == "any":
        follows = _in_any_order(looking)
    else:
        follows = _in_lists(looking)
    return [follows, looking.looked, looking.matching, p.now, *looking.rows]


def _in_order(looking: _Looking, among: ScoredSet) -> bytes:
    low = len(among.below(looking.since)) if looking.since else 0
    high = (len(among.up_to(looking.till)) if looking.till else len(among)) - 1
    step = -1 if looking.newest else 1
    rank = high if looking.newest else low
    before = _CURSOR.fullmatch(looking.cursor)
    if before is not None:
        score, job_id = float(before[1]), before[2]
        if among.score(job_id) == score:
            rank = list(among.entries()).index((score, job_id)) + step
        elif looking.newest:
            rank = min(rank, len(among.up_to(score)) - 1)
        else:
            rank = max(rank, len(among.below(score)))
    if not low <= rank <= high:
        return b""
    follows = b""
    while low <= rank <= high and looking.looked < looking.look and not looking.full:
        [(score, job_id)] = among.entries(rank, rank + 1)
        looking.note(job_id, score, looking.kind)
        follows = b"%s:%s" % (repr(score).encode(), job_id)
        rank += step
    return follows if low <= rank <= high else b""


def _in_any_order(looking: _Looking) -> bytes:
    jobs = list(looking.p.jobs)
    begun = int(looking.cursor or 0)
    for job_id in jobs[begun : begun + looking.look]:
        state, at = _place_of(looking.p, job_id)
        if looking.state in ("", state):
            looking.note(job_id, at, state)
    looking.looked = min(looking.look, len(jobs) - begun)
    end = begun + looking.look
    return b"%d" % end if end < len(jobs) else b""


def _place_of(p: PartitionData, job_id: bytes) -> tuple[str, float]:
    for state, among in (("delayed", p.delayed), ("dead", p.dead)):
        if (at := among.score(job_id)) is not None:
            return state, at
    for epoch in p.epochs():
        if (at := p.book(epoch).score(job_id)) is not None:
            return "in-flight", at
    return ("parked" if p.gates.is_parked(job_id) else "ready"), 0.0


def _in_lists(looking: _Looking) -> bytes:
    p, waiting = looking.p, looking.kind == "waiting"
    lists = range(4) if waiting else p.epochs()
    at, _, offset = looking.cursor.partition(b":")
    places = [(name, n, job) for name in lists for n, job in _members(looking, name)]
    if at:
        known = [i for i, (name, n, _) in enumerate(places) if (name, n) >= (int(at), int(offset))]
        places = [place for i, place in enumerate(places) if i in known]
    for name, n, (score, job_id) in places:
        if looking.looked >= looking.look or looking.full:
            return b"%d:%d" % (name, n)
        looking.note(job_id, score, "ready" if waiting else "in-flight")
    return b""


def _members(looking: _Looking, name: int) -> Iterator[tuple[int, tuple[float, bytes]]]:
    if looking.kind == "waiting":
        lane = looking.p.lanes.get((name, looking.group), ())
        return enumerate((0.0, job_id) for job_id in lane)
    return enumerate(looking.p.book(name).entries())


def errors(p: PartitionData, args: Args) -> Any:
    """Count the errors of dead or retrying jobs, in a bounded part of them."""
    kind, rank, step, most = args[0], int(args[1]), int(args[2]), int(args[3])
    looked = 0
    among = p.dead if kind == b"dead" else p.delayed
    rows: dict[bytes, list[Any]] = {}
    while looked < most and rank < len(among):
        at_rank = rank + rank // step * 104729 % step
        rank += step
        if at_rank >= len(among):
            continue
        [(score, job_id)] = among.entries(at_rank, at_rank + 1)
        looked += 1
        error, body = p.errors.get(job_id), p.jobs.get(job_id, b"")
        if error is None and kind != b"dead":
            continue
        start = 18 + len(codec.read_group(body))
        begins = _BEGINS.match(body[start : start + 401])
        at, head, said = int(score), begins[0] if begins else b"", brief(error or b"")
        row = rows.setdefault(head + said, [head, said, 0, at])
        row[2:] = [row[2] + 1, row[3], at, job_id]
    return [rank if rank < len(among) else -1, len(among), *rows.values()]


def edit(p: PartitionData, args: Args) -> Any:
    """Return a job's body, or replace its envelope while the job does not run."""
    job_id, expected, envelope = args
    body = p.jobs.get(job_id)
    if body is None:
        return [b"unknown", b""]
    died = job_id in p.dead
    if any(job_id in p.book(epoch) for epoch in p.epochs()):
        return [b"in-flight", b""]
    if not died and p.is_cancelled(job_id, body):
        return [b"cancelled", b""]
    if not expected:
        state = b"dead" if died else b"delayed" if job_id in p.delayed else b"waiting"
        return [state, body]
    if body != expected:
        return [b"changed", b""]
    if p.group_of(body).moving:
        return [b"moving", b""]
    stamp = codec.read_enqueued_ms(body)
    if job_id not in p.wishes.expire_ms:
        stamp = p.later_stamp(stamp)
    head = 18 + len(codec.read_group(body))
    edited = b"%s%011x%s%s" % (body[:2], stamp, body[13:head], envelope)
    p.jobs[job_id] = edited
    p.count("bytes", len(edited) - len(body))
    if died:
        p.count("dead_bytes", len(edited) - len(body))
    return [b"edited", b""]


def hasten(p: PartitionData, args: Args) -> Any:
    """Make a delayed job due now."""
    due = p.delayed.score(args[0])
    if due is None:
        return 0
    if p.group_of(p.jobs[args[0]]).moving:
        return -1
    p.move_due(args[0], min(due, p.now))
    p.wake(b"d")
    return 1


def history(p: PartitionData, args: Args) -> Any:
    """Return what was kept of executions that ended, the latest first."""
    begins, skip, look = args[0], int(args[1]), int(args[2])
    found = []
    for entry in list(p.history)[::-1][skip : skip + look]:
        head, _, lines = entry.partition(b"\n")
        some = b"\n".join(line for line in lines.split(b"\n") if line.startswith(begins))
        if some:
            found.append([int(head.split()[1]), some])
    return [skip + look if skip + look < len(p.history) else -1, *found]
