"""What gates promise, on the model: who waits there, who is let through, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from queuepool.models.tenants import tenant_of
from queuepool.verbs.owner.gates import Admitted
from tests.property.model.records import Place
from tests.property.model.state import State, Waiting

UNTOUCHED = b"0"  # of a job that was never at its gate


def arrive(s: State, job_id: bytes) -> None:
    """A job that is ready from now on goes to its gate if it has one, else to its lane.

    Those of a serial group go to their lane, which keeps their order.
    """
    job = s.jobs[job_id]
    if job.gate and not s.groups[job.group].serial:
        s.park(job_id, back=False)
    else:
        s.put_ready(job_id, front=False)


def admit(
    s: State,
    epoch: int,
    gate: bytes,
    jobs: int,
    most_waiting: int,
    limits: Mapping[bytes, bytes],
    gates: Mapping[Waiting, list[bytes]],
    marks: set[bytes],
) -> Admitted:
    """Let through those that the server let through, if it might.

    limits, gates, marks: what the server says now of jobs, of its gates, and its marks.
    """
    before = {at: list(ids) for at, ids in s.gates.items() if at[0] == gate}
    out = s.admitted(gate)
    n = 0 if s.held else max(0, min(jobs, most_waiting - out))
    went = {i for ids in before.values() for i in ids if not limits.get(i, b"").startswith(b"p|")}
    late = {i for i in went if s.is_late(i)}
    closed = {group for _, _, group in before if s.room(group) == 0}
    # What was let through of a serial group, now or before, keeps the others at the gate.
    kept = closed | {group for _, _, group in before if s.groups[group].serial}
    kept |= {
        group
        for _, _, group in before
        if (tenant := tenant_of(group)) is not None and s.room_of(tenant) == 0
    }
    admitted, cancelled = 0, 0
    for at, ids in before.items():
        popped = [i for i in ids if i in went]
        assert ids[: len(popped)] == popped, f"I4: {popped} were let through before {ids}"
        for job_id in popped:
            job = s.jobs[job_id]
            next_one = s.groups[job.group].next_id == job_id
            s.leave(job_id)
            if s.covered(job):
                assert job_id not in limits, f"{job_id!r} was let through, which was cancelled"
                s.end(job_id, "cancelled")
                cancelled += 1
                continue
            assert limits.get(job_id) == b"%d|%s" % (epoch, gate), f"I2: {job_id!r} is lost"
            assert next_one or at[2] not in closed or s.groups[job.group].next_id in went, (
                f"I12: {job_id!r} was let through, of which none may run: {s.groups[job.group]}"
            )
            assert not (next_one and s.groups[job.group].stopped), f"I19: {job_id!r} is held"
            job.passed = b"%d" % epoch
            s.put_ready(job_id, front=next_one or s.groups[job.group].serial)
            admitted += job_id not in late
    assert admitted <= n, f"I11: {admitted} were let through, of {n} that might be"
    s.counters["admitted"] += admitted
    passed = len(s.marks) - len(marks)
    assert marks <= s.marks, f"marks out of nothing: {marks - s.marks}"
    s.marks = set(marks)
    left = {at: ids for at, ids in s.gates.items() if at[0] == gate}
    if not kept and passed + len(went) <= 2 * n:
        assert admitted == n or not left, f"only {admitted} of {n} let through, {left} left"
    if not (kept or late or cancelled or passed):
        check_turns(before, left)
    stay = sum(len(ids) for at, ids in gates.items() if at[0] == gate)
    return Admitted(gate.decode(), jobs, admitted, out + admitted, stay, cancelled)


def check_turns(before: Mapping[Waiting, list[bytes]], left: Mapping[Waiting, list[bytes]]) -> None:
    """Fail when a group of a tier was passed over twice for others while it had jobs there."""
    for tier in range(4):
        took = {at: len(ids) - len(left.get(at, ())) for at, ids in before.items() if at[1] == tier}
        fewest = min((n for at, n in took.items() if at in left), default=10**9)
        assert max(took.values(), default=0) <= fewest + 1, f"turns at a gate: {took}"


def send_to_gates(
    s: State, epoch: int, ids: Collection[bytes], limits: Mapping[bytes, bytes]
) -> int:
    """Park what the claim of an owner met, and had not admitted itself; returns how many."""
    parked = [i for i in s.at(Place.READY) if i not in ids and limits.get(i, b"").startswith(b"p|")]
    lanes = Counter((s.jobs[i].tier, s.jobs[i].group) for i in parked)
    for lane in lanes:
        waiting = list(s.lanes[lane])
        mine = [i for i in waiting if i in set(parked)]
        taken = [i for i in waiting if i in set(parked) or i in set(ids)]
        assert waiting[: len(taken)] == taken, f"{mine} were parked before {waiting}"
        for job_id in mine:
            job = s.jobs[job_id]
            assert job.gate, f"parked {job_id!r}, which names no limits"
            assert job.passed != b"%d" % epoch, f"parked {job_id!r}, which this owner let through"
            assert s.room(job.group) > 0, f"I12: parked {job_id!r}, of which none may run"
            s.leave(job_id)
        for job_id in [i for i in mine if s.jobs[i].passed == UNTOUCHED]:
            s.park(job_id, back=False)
        again = [i for i in mine if s.jobs[i].passed != b"p"]
        for job_id in again:
            s.park(job_id, back=True)
        if s.groups[lane[1]].serial:  # those that were at the gate before come first
            last = s.jobs[(again or mine)[-1]]
            s.groups[lane[1]].next_id = s.gates[last.gate, last.tier, last.group][0]
    return len(parked)


def take(s: State, epoch: int, job_id: bytes) -> None:
    """Note that a claim took a job, which this owner must have let through."""
    job = s.jobs[job_id]
    if not job.gate:
        return
    assert job.passed == b"%d" % epoch, f"I11: claimed {job_id!r}, whose limits say {job.passed!r}"
    job.passed = b"c"
