"""What the verbs that take jobs out of a book promise, on the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from queuepool.verbs.owner import verbs as own
from tests.property.model import holding
from tests.property.model.records import Book, Place
from tests.property.model.state import State

SPARED = 3  # crashes beyond the last one that a job survives when others began after it


def finish(
    s: State, epoch: int, runs: dict[bytes, list[bytes]]
) -> tuple[int, int, tuple[bytes, ...]]:
    """End jobs of this life; returns (finished, duplicates, those that are elsewhere)."""
    finished = duplicates = 0
    left: dict[bytes, None] = {}
    for ids in runs.values():
        elsewhere = {i for i in ids if i in s.jobs and not in_book(s, epoch, i)}
        for job_id in ids:
            if job_id not in s.jobs:
                s.remember(job_id)
                duplicates += 1
            elif job_id in elsewhere:
                duplicates += job_id in left
                left[job_id] = None
            else:
                s.leave(job_id)
                s.end(job_id, "done")
                finished += 1
    s.counters["duplicate_finish"] += duplicates
    return finished, duplicates, tuple(left)


def finish_stray(s: State, epoch: int, ids: Sequence[tuple[bytes, bool]]) -> tuple[int, int, int]:
    """End jobs wherever they are, unless they are dead, copied or not the ones that were claimed.

    Returns (finished, duplicates, of the finished those not of this life).
    """
    finished = strays = 0
    for job_id, claimed in ids:
        job = s.jobs.get(job_id)
        if job is None:
            s.remember(job_id)
        if job is None or not claimed or job.place is Place.DEAD:
            continue
        if job.place is not Place.BOOKED and s.is_copied(job_id):
            continue
        strays += not in_book(s, epoch, job_id)
        if job.place in {Place.READY, Place.PARKED}:
            s.marks.add(job_id)
        s.leave(job_id)
        s.end(job_id, "done")
        finished += 1
    s.counters["duplicate_finish"] += len(ids) - finished
    s.counters["rollback_finish"] += strays
    return finished, len(ids) - finished, strays


def in_book(s: State, epoch: int, job_id: bytes) -> bool:
    """Return whether a job is in the book of this life."""
    return epoch in s.books and job_id in s.books[epoch].order()


def retry(
    s: State, epoch: int, ids: Sequence[bytes], delay_s: float, charge: bool | str, error: bytes
) -> bytes:
    """Send jobs back to delayed, or end those whose cancellation was asked for."""
    status = b""
    aside = charge.encode() if isinstance(charge, str) else b""
    for place, job_id in enumerate(ids):
        if not in_book(s, epoch, job_id):
            status += b"0"
            continue
        job = s.jobs[job_id]
        s.leave(job_id)
        if s.unwanted(job):
            s.end(job_id, "cancelled")
            status += b"c"
            continue
        # Those set aside keep their order, and stand behind what is due in the same ms.
        rank = place + 1 if aside else 0
        job.place, job.due, job.aside = Place.DELAYED, (s.now_s + delay_s, s.call, rank), aside
        if not aside:
            s.note_start(job_id)
        job.attempts += charge is True
        job.error = error or job.error
        s.groups[job.group].delayed += 1
        if s.groups[job.group].serial:
            s.groups[job.group].next_id = job_id
        s.counters["retried"] += 1
        s.counters["failed"] += charge is True
        status += b"r"
    return status


def rouse(s: State, tasks: Sequence[str]) -> own.Roused:
    """Make due the jobs set aside for these tasks, and those of tasks held no more."""
    late = [i for i in s.at(Place.DELAYED) if s.jobs[i].aside]
    passed = {s.jobs[i].aside.decode() for i in late if s.is_copied(i)}
    aside = [s.jobs[i] for i in late if not s.is_copied(i)]
    waiting = [j for j in aside if not holding.waits(s, j) and j.aside.decode() in tasks]
    later = [job for job in waiting if job.due[0] > s.now_s]
    shift_s = max([120.0, *(job.due[0] - s.now_s for job in later)])
    freed = [
        job
        for job in aside
        if holding.waits(s, job) and s.tasks.get(job.aside.decode()) != holding.HELD
    ]
    for job in freed:
        job.due = (job.due[0] - holding.UNTIL_RELEASE_S, *job.due[1:])
    for place, job in enumerate(sorted([*later, *freed], key=lambda job: job.due)):
        job.due = (job.due[0] - shift_s, s.call, place)
    s.tasks = {
        task: how if how == holding.HELD else holding.PASSED
        for task, how in s.tasks.items()
        if how == holding.HELD or task in passed
    }
    return own.Roused(b"0", dict(Counter(j.aside.decode() for j in waiting)), len(later + freed))


def bury(s: State, epoch: int, ids: Sequence[bytes], error: bytes) -> bytes:
    """Bury jobs of this life; what is evicted for them is seen and then checked by `evict`."""
    status = b""
    for job_id in ids:
        if not in_book(s, epoch, job_id):
            status += b"0"
            continue
        s.leave(job_id)
        s.jobs[job_id].attempts += 1
        s.counters["failed"] += 1
        s.put_dead(job_id, error)
        status += b"b"
    return status


def evict(s: State, there: set[bytes], *, buried: int, keep_jobs: int, keep_s: float) -> int:
    """Forget the dead that the server no longer has: the oldest that had to go, few a call.

    Of those that are copied none goes; they count as gone. Returns how many went.
    """
    dead = {i: s.jobs[i].died for i in s.at(Place.DEAD)}
    gone = [i for i in dead if i not in there]
    over = list[bytes]()
    for place, job_id in enumerate(sorted(dead, key=lambda i: (dead[i], i))[: 2 * buried]):
        if len(dead) - place <= keep_jobs and s.now_s - dead[job_id][0] <= keep_s:
            break
        over += [] if s.is_copied(job_id) else [job_id]
    # Of those that died in one call, any may be the older ones
    assert not [i for i in gone if s.is_copied(i)], f"M2: evicted {gone}, which are copied"
    times = sorted(dead[i] for i in gone), sorted(dead[i] for i in over)
    assert times[0] == times[1], f"evicted {gone}, not {over}"
    for job_id in gone:
        s.end(job_id, "evicted")
    return len(gone)


def end_cancelled(s: State, epoch: int, ids: Sequence[bytes]) -> int:
    """End jobs of this life as cancelled."""
    mine = [i for i in dict.fromkeys(ids) if in_book(s, epoch, i)]
    for job_id in mine:
        s.leave(job_id)
        s.end(job_id, "cancelled")
    return len(mine)


def hand_back(s: State, epoch: int, ids: Sequence[bytes]) -> int:
    """Return jobs of this life to the front of their lanes, uncharged, in the order given."""
    found = 0
    for job_id in reversed(ids):
        if not in_book(s, epoch, job_id):
            continue
        found += 1
        s.leave(job_id)
        if s.unwanted(s.jobs[job_id]):
            s.end(job_id, "cancelled")
        else:
            s.put_ready(job_id, front=True)
    return found


def start(s: State, epoch: int, ids: Sequence[bytes]) -> int:
    """Note that claimed jobs run now."""
    book, found = s.books.get(epoch, Book()), 0
    for job_id in ids:
        found += job_id in book.order()
        if job_id in book.order():
            s.note_start(job_id)
        if job_id in book.waiting:
            book.waiting.remove(job_id)
            book.started.append(job_id)
    return found


def recover(
    s: State, there: dict[int, list[bytes]], *, max_crashes: int, error: bytes
) -> tuple[int, int, int, int, tuple[bytes, ...]]:
    """Empty the first book to recover, as far as the server did: at most 200 jobs, the last ones.

    Of a whole book, jobs that started come first in their lanes, then those that waited.
    """
    if not s.to_recover:
        return 0, 0, 0, 0, ()
    epoch = s.to_recover[0]
    book = s.books.get(epoch, Book())
    order, kept = [*book.started, *book.waiting], set(there.get(epoch, []))
    moved = [i for i in order if i not in kept]
    started = {i for i in book.started if i in moved}
    assert order[len(order) - len(moved) :] == moved, "recovered from the middle of the order"
    assert len(moved) <= 200, "recovered too many in one call"
    assert moved or not order, "recovered nothing"
    latest = None if book.past else next(reversed(book.started), None)
    book.past = book.past or bool(started)
    recovered = crashed = cancelled = 0
    buried: list[bytes] = []
    for job_id in reversed(moved):
        job = s.jobs[job_id]
        s.leave(job_id)
        if s.unwanted(job):
            s.end(job_id, "cancelled")
            cancelled += 1
            continue
        job.crashes = (job.crashes or 0) + (job_id in started)
        crashed += job_id in started
        spared = 0 if job_id == latest or max_crashes == 1 else SPARED
        if job_id in started and job.crashes >= max_crashes + spared:
            s.put_dead(job_id, error)
            buried.append(job_id)
        else:
            s.put_ready(job_id, front=True)
            recovered += 1
    s.counters["recovered"] += recovered
    if not kept:
        s.to_recover.pop(0)
    return len(s.to_recover), recovered, crashed, cancelled, tuple(buried)
