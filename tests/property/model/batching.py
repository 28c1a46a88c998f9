"""What batches promise, on the model: I13, a continuation starts once, with every result.

Whatever ends a job of a batch notes that for the batch, in order; the owner tells, and tells again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.property.model.records import Place

if TYPE_CHECKING:
    from tests.property.model.state import State

DEADLINE_S, KEEP_S, NEVER = 5_000, 20_000, 10_000  # the last one in steps
_LETTERS = {"done": b"d", "cancelled": b"c", "expired": b"e", "evicted": b"v", "discarded": b"g"}


@dataclass(slots=True)
class Told:
    """A note that is stored: of a job, how it ended. heard: whether its batch was told.

    call: which noted it. The notes of one call come in the order in which its script met the jobs,
    which the model does not know.
    """

    job_id: bytes
    end: bytes
    call: int
    heard: bool = False


@dataclass(slots=True)
class Batch:
    """A batch. ends: how each of its jobs ended, as far as it was told. tend_s: when it is due.

    top: the number behind the last one that ended.
    """

    how: str
    due_s: float
    tend_s: float
    state: str = "open"
    sealed: int | None = None
    ends: dict[int, bytes] = field(default_factory=dict)
    top: int = 0

    def count(self, *ends: bytes) -> int:
        """Return how many of its jobs ended in one of these ways."""
        return sum(end in ends for end in self.ends.values())

    @property
    def complete(self) -> bool:
        """Return whether nothing is left to wait for."""
        waits = self.how == "wait" and self.count(b"x")
        return self.sealed is not None and len(self.ends) >= self.sealed and not waits


def note(s: State, job_id: bytes, how: str | bytes) -> None:
    """A job ended, died or came back: a batch is to hear of it, if it is of one."""
    if b"~" in job_id:
        s.told.append(Told(job_id, _LETTERS[how] if isinstance(how, str) else how, s.call))


def put_in_order(s: State, noted: list[tuple[bytes, bytes]]) -> None:
    """Take over the order of the notes of each call. noted: jobs and their ends, as stored."""
    left, ordered = list(s.told), list[Told]()
    for job_id, end in noted:
        same = [told for told in left if (told.job_id, told.end) == (job_id, end)]
        assert same, f"I13: {job_id!r} is noted as {end!r}, not one of {left}"
        assert same[0].call == left[0].call, f"I13: {same[0]} overtook {left[0]}"
        ordered.append(same[0])
        left.remove(same[0])
    assert not left, f"I13: nothing is noted of {left}"
    s.told = ordered


def open_batch(s: State, name: bytes, how: str) -> tuple[bool, str, set[int]]:
    """Define a batch; returns whether it is new, its state, and which of its jobs have ended."""
    known = s.batches.get(name)
    if known is not None:
        return False, known.state, set(known.ends) if known.state == "open" else set()
    due_s = s.now_s + DEADLINE_S
    s.batches[name] = Batch(how, due_s, due_s)
    return True, "open", set()


def seal(s: State, name: bytes, jobs: int) -> int | str:
    """Say how many jobs a batch has."""
    known = s.batches.get(name)
    if known is None or known.state != "open":
        return known.state if known is not None else "unknown"
    if known.sealed is not None:
        return 0 if known.sealed == jobs else -1
    known.sealed = jobs
    _make_due(known)
    return 1


def hear(s: State, some: list[Told]) -> int:
    """Tell batches what is noted, the first ones; returns how much of it was news."""
    news, touched = 0, list[Batch]()
    takes = {name for name, b in s.batches.items() if b.state != "cancelled"}
    for told in some:
        name, _, number = told.job_id[2:].partition(b"~")
        if not told.heard and name in takes and _is_news(s.batches[name], int(number), told.end):
            news += 1
            touched.append(s.batches[name])
        told.heard = True
    for batch in touched:
        _make_due(batch)
    return news


def _is_news(batch: Batch, number: int, end: bytes) -> bool:
    was = batch.ends.get(number)
    if end == b"r":
        return was == b"x" and batch.ends.pop(number) == b"x"
    if was not in (None, b"x") or was == end:
        return False
    batch.ends[number], batch.top = end, max(batch.top, number + 1)
    return True


def _make_due(batch: Batch) -> None:
    if batch.state == "open" and batch.complete:
        batch.tend_s = 0


def cancel(s: State, name: bytes) -> str:
    """Conclude a batch as cancelled; returns what it was."""
    known = s.batches.get(name)
    if known is None:
        return "unknown"
    was = known.state
    if was == "open":
        known.state, known.tend_s = "cancelled", s.now_s + KEEP_S
    return was


def cancel_jobs(s: State, names: set[bytes]) -> tuple[int, int, int]:
    """Cancel the jobs of batches; returns (waiting ones that end, newly asked ones, copied)."""
    gone = asked = copied = 0
    for job_id, job in list(s.jobs.items()):
        if job_id[2:].partition(b"~")[0] not in names or b"~" not in job_id:
            continue
        if job.place is Place.BOOKED:
            job.asked, asked = True, asked + (not job.asked)
        elif s.is_copied(job_id):
            copied += job.place is not Place.DEAD
        elif job.place is not Place.DEAD:
            if job.place in {Place.READY, Place.PARKED}:
                s.marks.add(job_id)
            s.leave(job_id)
            s.end(job_id, "cancelled")
            gone += 1
    return gone, asked, copied


def tend(s: State, errors: dict[bytes, bytes]) -> tuple[int, int, int]:
    """Conclude what is complete or late; returns (let go, died, forgotten). errors: of the dead."""
    counts: Counter[str] = Counter()
    due = sorted((b.tend_s, name) for name, b in s.batches.items() if b.tend_s <= s.now_s)
    for _, name in due[:20]:
        batch = s.batches[name]
        over = s.now_s >= batch.due_s + KEEP_S
        if batch.state == "open" and not (over and _is_early(s, name, batch)):
            counts[_conclude(s, name, batch, errors)] += 1
        elif name in s.jobs:
            batch.tend_s = s.now_s + KEEP_S
        else:
            del s.batches[name]
            counts["forgotten"] += 1
    return counts["fired"], counts["failed"], counts["forgotten"]


def _is_early(s: State, name: bytes, batch: Batch) -> bool:
    """Return whether its producer is still to store the continuation."""
    return batch.sealed is None and name not in s.jobs


def _conclude(s: State, name: bytes, batch: Batch, errors: dict[bytes, bytes]) -> str:
    if not batch.complete and s.now_s < batch.due_s:
        batch.tend_s = batch.due_s
        return "open"
    if _is_early(s, name, batch):
        batch.tend_s = s.now_s + min(1800.0, 0.5 + (s.now_s - batch.due_s) / 4)
        return "open"
    failed = batch.how == "fail" and (not batch.complete or batch.count(b"d") < len(batch.ends))
    batch.state = "failed" if failed else "fired"
    batch.tend_s = s.now_s + KEEP_S
    job = s.jobs.get(name)
    if job is None or job.place is not Place.DELAYED:
        return "gone"
    if not failed:
        job.due = (s.now_s, s.call, 0)
        return "fired"
    s.leave(name)
    assert b"batch-failed" in errors[name], errors[name]
    s.put_dead(name, errors[name])
    return "failed"


def check_start(s: State, job_id: bytes) -> None:
    """I13: no continuation starts before its batch has concluded, and never one of a cancelled."""
    batch = s.batches.get(job_id)
    over = batch is None or batch.state in ("fired", "failed")
    assert over, f"I13: {job_id!r} started while its batch is {batch}"
