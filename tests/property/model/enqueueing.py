"""What the verbs that bring jobs in, hand them out or cancel them promise, on the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queuepool.models import JobId, Replayed
from queuepool.models.tenants import tenant_of
from queuepool.verbs.producer.verbs import Conflicts
from tests.property.model import batching, gating
from tests.property.model.holding import HELD
from tests.property.model.names import size_of, tail_of, task_of
from tests.property.model.records import Book, Bounds, Job, Place, Totals
from tests.property.model.state import DAY_S, State


@dataclass(frozen=True, slots=True)
class Run:
    """Jobs alike, as enqueue takes them."""

    tier: int
    group: bytes
    delay_s: int
    ids: tuple[bytes, ...]
    keys: Mapping[bytes, bytes] = field(default_factory=dict)  # id -> unique key, behind e or s
    expires_s: int = 0
    mode: bytes = b""  # on conflict: r replace, d debounce
    gates: Mapping[bytes, bytes] = field(default_factory=dict)  # id -> its limits


def enqueue(s: State, runs: Sequence[Run]) -> bytes | Conflicts:
    """Accept each id once: not while it lives, nor soon after it ended.

    I14: nor while another job that has not ended has its unique key.
    """
    status, by, known = b"", [], s.births
    for run in runs:
        for job_id in run.ids:
            if job_id in s.jobs or job_id in s.ends.known(s.now_s) or job_id in s.marks:
                s.counters["duplicate"] += 1
                status += b"0"
                continue
            key = run.keys.get(job_id, b"")
            if key[1:] in s.holders:
                holder = s.holders[key[1:]]
                replaced = bool(run.mode) and replace(s, holder, run, job_id, known)
                s.counters["replaced" if replaced else "conflicts"] += 1
                status += b"3" if replaced else b"2"
                by.append(holder)
                continue
            status += b"1"
            s.births += 1
            s.jobs[job_id] = job = Job(s.births, s.call, run.tier, run.group, size_of(job_id))
            if key:
                job.key, s.holders[key[1:]] = key, job_id
            job.payload, job.task = tail_of(job_id), task_of(job_id)
            if run.expires_s:
                job.expires_s = s.now_s + run.expires_s
            job.gate = run.gates.get(job_id, b"")
            job.passed = gating.UNTOUCHED if job.gate else b""
            s.counters["enqueued"] += 1
            group = s.groups.setdefault(run.group, Totals())
            group.total += 1
            group.left += 1
            group.forget_s = None
            if run.delay_s:
                job.place, job.due = Place.DELAYED, (s.now_s + run.delay_s, s.call, 0)
                group.delayed += 1
            else:
                gating.arrive(s, job_id)
    return Conflicts(status, tuple(by)) if by else status


def replace(s: State, job_id: bytes, run: Run, newest: bytes, known: int) -> bool:
    """Give a job that waits the payload of a newer one; its id, tier and place stay.

    known: the last birth before this call.
    """
    job = s.jobs[job_id]
    if job.place is Place.BOOKED:
        return job.payload == tail_of(newest)
    if job.group != run.group or job.gate != run.gates.get(newest, b""):
        return False
    job.payload, job.size, job.order = tail_of(newest), size_of(newest), s.call
    job.task = task_of(newest)
    job.expires_s = s.now_s + run.expires_s if run.expires_s else None
    if run.mode == b"d" and job.place is Place.DELAYED and job.birth <= known:
        job.due = (s.now_s + run.delay_s, s.call, 0)
    return True


def claim(
    s: State,
    epoch: int,
    ids: Sequence[bytes],
    marks: set[bytes],
    limits: Mapping[bytes, bytes],
    limit: int,
    starting: int,
) -> int:
    """Take the jobs that the server took, if it might.

    Returns how many went with them: marks, and jobs to their gates. limits: what the server says
    of jobs now.
    """
    assert len(set(ids)) == len(ids) <= limit, "claimed too many, or one twice"
    parked = gating.send_to_gates(s, epoch, ids, limits)
    book = s.books.setdefault(epoch, Book())
    for place, job_id in enumerate(ids):
        job = s.jobs.get(job_id)
        assert job is not None, f"claimed {job_id!r}, which is gone"
        assert job.place is Place.READY, f"claimed {job_id!r}, which is {job.place}"
        assert s.lanes[job.tier, job.group][0] == job_id, f"{job_id!r} overtook others of its lane"
        assert not s.held, f"I19: claimed {job_id!r} while the partition was held"
        assert not s.groups[job.group].held, f"I19: claimed {job_id!r} of a held group"
        assert s.groups[job.group].moving is None, f"M1: claimed {job_id!r}, which is on its way"
        assert s.room(job.group) > 0, f"I12: {job_id!r} is one more than its group may run"
        tenant = tenant_of(job.group)
        assert tenant is None or s.room_of(tenant) > 0, f"I19: {job_id!r}: its tenant has no room"
        batching.check_start(s, job_id)
        gating.take(s, epoch, job_id)
        s.leave(job_id)
        job.place, job.epoch = Place.BOOKED, epoch
        starts = job.crashes == 0 or (place < starting and job.crashes is None)
        (book.started if starts else book.waiting).append(job_id)
        if starts:
            s.note_start(job_id)
    if not book.order():
        del s.books[epoch]
    assert marks <= s.marks, f"marks out of nothing: {marks - s.marks}"
    went = len(s.marks) - len(marks)
    s.marks = set(marks)
    return went + parked


def expire(s: State, there: set[bytes]) -> int:
    """End the jobs that the server's claim found to be late, if it might; returns how many."""
    gone = [i for i in s.jobs if i not in there]
    for job_id in gone:
        job = s.jobs[job_id]
        assert job.place is Place.READY, f"{job_id!r} expired, which is {job.place}"
        assert s.is_late(job_id), f"{job_id!r} expired too soon"
        s.leave(job_id)
        s.end(job_id, "expired")
    return len(gone)


def check_tiers(before: State, epoch: int, ids: Sequence[bytes]) -> None:
    """In strict order, fail when a tier was served while a higher one had jobs left.

    Jobs that may not start are none: the claim that meets them ends, parks or delays them.
    """
    ready = {t: before.ready(t) for t in range(4)}
    for job_id in before.at(Place.READY):
        job = before.jobs[job_id]
        parks = job.gate and job.passed != b"%d" % epoch
        waits = parks or before.is_late(job_id) or before.tasks.get(job.task) == HELD
        ready[before.groups[job.group].place(job.tier)] -= bool(waits)
    for job_id in ids:
        tier = before.groups[before.jobs[job_id].group].place(before.jobs[job_id].tier)
        higher = [t for t in range(tier) if ready[t] > 0]
        assert not higher, f"{job_id!r} of tier {tier} came too soon"
        ready[tier] -= 1


def promote(s: State, there: set[bytes]) -> tuple[int, int]:
    """Move the due jobs that the server moved, if it might; returns (promoted, cancelled)."""
    due = sorted(
        (i for i in s.at(Place.DELAYED) if s.jobs[i].due[0] <= s.now_s and not s.is_copied(i)),
        key=lambda i: (s.jobs[i].due, i),
    )
    moved = [i for i in s.at(Place.DELAYED) if i not in there]
    assert set(moved) <= set(due), f"M2: of {moved} not all are due, or some are copied"
    moved = [i for i in due if i in moved]
    assert len(moved) == min(100, len(due)), "jobs that are due were left behind"
    for tier in (0, 1):
        if [i for i in due if i in there and s.jobs[i].tier <= tier]:
            others = [i for i in moved if s.jobs[i].tier > tier]
            assert not others, f"{others} were promoted before those of tier {tier}"
    cancelled, retried = 0, list[bytes]()

    def is_next(job_id: bytes) -> bool:
        return s.groups[s.jobs[job_id].group].next_id == job_id

    for job_id in moved:
        s.leave(job_id)
        if s.covered(s.jobs[job_id]):
            s.end(job_id, "cancelled")
            cancelled += 1
        else:
            retried.append(job_id)
    # The retry for which a serial group waits goes to the front, when the others are in their lanes
    for job_id in retried:
        if not is_next(job_id):
            s.put_ready(job_id, front=False)
    for job_id in filter(is_next, retried):
        s.put_ready(job_id, front=True)
    return len(moved) - cancelled, cancelled


def configure(
    s: State,
    group: bytes,
    most: int | None,
    serial: bool | None,
    weight: int | None,
    tier: int | None = None,
    keep_s: int = 0,
) -> bool | None:
    """Set how many jobs of a group may run, and when; returns whether that changed anything."""
    if keep_s:
        s.groups.setdefault(group, Totals())
    target = s.groups.get(group)
    if target is None:
        return None
    before = target.most, target.serial, target.weight, target.tier, target.keep_s
    target.keep_s = keep_s or target.keep_s
    after = target.keep_s
    target.most = target.most if most is None else most
    target.serial = target.serial if serial is None else serial
    target.weight = target.weight if weight is None else weight
    if tier is not None:
        target.tier = None if tier < 0 else tier
        target.moved = target.moved or target.tier is not None
    if before[3] != target.tier and target.total:
        keep_s = max(keep_s, DAY_S)
    if keep_s and target.left == target.dead == 0:
        target.forget_s = max(target.forget_s or 0, s.now_s + keep_s)
    changed = before != (target.most, target.serial, target.weight, target.tier, after)
    if changed:
        target.forget_next()
    if not (target.keep_s or target.total) and target.cut < 0:
        del s.groups[group]  # nothing was set, so nothing is kept
    return changed


def configure_tenant(
    s: State, tenant: bytes, held: bool | None, most: int | None, weight: int | None
) -> bool:
    """Set how a tenant may run; returns whether that changed anything."""
    before = s.tenants.get(tenant, Bounds())
    target = Bounds(
        before.held if held is None else held,
        before.most if most is None else most,
        before.weight if weight is None else weight,
    )
    s.tenants[tenant] = target
    return before != target


def hold(s: State, group: bytes | None, *, on: bool) -> bool | None:
    """Hold a group or the partition, or release it; returns whether that changed anything."""
    target = s if group is None else s.groups.get(group)
    if target is None:
        return None
    changed = target.held != on
    target.held = on
    if isinstance(target, Totals) and changed:
        target.forget_next()
    return changed


def cancel(s: State, job_id: bytes) -> str:
    """Cancel one job; returns what it was."""
    job = s.jobs.get(job_id)
    if job is None:
        return "unknown"
    if job.place is Place.BOOKED:
        job.asked = True
        return "in-flight"
    if job.place is Place.DEAD:
        return "dead"
    if job.place in {Place.READY, Place.PARKED}:
        s.marks.add(job_id)
    s.leave(job_id)
    s.end(job_id, "cancelled")
    return "delayed" if job.place is Place.DELAYED else "ready"


def cut_group(s: State, group: bytes) -> None:
    """Set the cut of a group: what it holds now is to be cancelled."""
    if group in s.groups:
        s.groups[group].cut = s.call


def cancel_running(s: State, group: bytes) -> int:
    """Ask those jobs of a group that run, and are older than its cut, to stop; returns how many."""
    lives = [*s.draining, *([s.owner.epoch] if s.owner and s.owner.nonce else [])]
    running = [i for e in lives if e in s.books for i in s.books[e].order()]
    asked = [i for i in running if s.jobs[i].group == group and s.covered(s.jobs[i])]
    for job_id in asked:
        s.jobs[job_id].asked = True
    return len(asked)


def cancel_waiting(s: State, group: bytes, there: set[bytes], marks: set[bytes]) -> int:
    """Cancel those waiting jobs of a group that the server dropped, if it might."""
    gone = [i for i in s.jobs if i not in there]
    mine = {i for i in gone if s.jobs[i].group == group}
    assert mine == set(gone), f"cancelled jobs of other groups: {set(gone) - mine}"
    for job_id in gone:
        job = s.jobs[job_id]
        waits = {Place.READY, Place.PARKED, Place.DELAYED}
        assert job.place in waits, f"cancelled {job_id!r}, a {job.place} one"
        assert s.covered(job), f"cancelled {job_id!r}, which is newer than the cancellation"
        s.leave(job_id)
        s.end(job_id, "cancelled")
    assert marks <= s.marks | set(gone), "marks out of nothing"
    s.marks = set(marks)
    return len(gone)


def replay(s: State, ids: Sequence[bytes]) -> Replayed:
    """Send dead jobs to the back of their lanes with a clean record, as new ones.

    One whose unique key another job has by now stays dead, as do those of a group on its way.
    """
    kept, went = list[JobId](), 0
    for job_id in ids:
        job = s.jobs.get(job_id)
        if job is None or job.place is not Place.DEAD:
            continue
        if job.key[1:] in s.holders or s.groups[job.group].moving is not None:
            kept.append(JobId(job_id.decode()))
            continue
        went += 1
        if job.key:
            job.key = b"s" + job.key[1:] if job.key[:1] == b"S" else job.key
            s.holders[job.key[1:]] = job_id
        job.attempts, job.crashes, job.error = 0, None, b""
        job.order = s.call  # as if it were enqueued now
        batching.note(s, job_id, b"r")
        s.put_ready(job_id, front=False)
        s.groups[job.group].dead -= 1
        s.groups[job.group].left += 1
    s.counters["replayed"] += went
    return Replayed(went, tuple(kept))


def discard(s: State, ids: Sequence[bytes]) -> int:
    """Forget dead jobs, but none of a group on its way."""
    dead = [i for i in dict.fromkeys(ids) if i in s.jobs and s.jobs[i].place is Place.DEAD]
    dead = [i for i in dead if s.groups[s.jobs[i].group].moving is None]
    for job_id in dead:
        s.end(job_id, "discarded")
    return len(dead)
