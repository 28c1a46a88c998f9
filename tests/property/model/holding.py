"""What the hold of a task promises, on the model: its jobs wait, uncharged, in their order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.property.model.gating import UNTOUCHED
from tests.property.model.records import Job, Place
from tests.property.model.state import State

UNTIL_RELEASE_S = 315_360_000.0
HELD, RELEASED, ROUSED = "held", "0", "1"
PASSED = "2"  # released, but jobs of it stayed, as they are being copied


def hold(s: State, task: str, *, on: bool) -> bool:
    """Hold a task, or release it; returns whether that changed anything."""
    if (s.tasks.get(task) == HELD) == on:
        return False
    s.tasks[task] = HELD if on else RELEASED
    return True


def set_aside(
    s: State, epoch: int, claimed: Collection[bytes], parked: Collection[bytes], dl: Sequence[bytes]
) -> int:
    """Delay the jobs that the server's claim delayed, if it might; returns how many.

    dl: the delayed jobs, as the server has them in order. claimed, parked: other jobs it took.
    """
    gone = [i for i in dl if s.jobs[i].place is Place.READY]
    taken = {*gone, *claimed, *parked}
    for lane in {(s.jobs[i].tier, s.jobs[i].group) for i in gone}:
        waiting = s.lanes[lane]
        first = [i for i in waiting if i in taken]
        assert waiting[: len(first)] == first, f"{gone} were set aside before {waiting}"
        mine = [i for i in gone if i in waiting]
        assert mine == [i for i in waiting if i in mine], f"{mine} of {waiting} lost their order"
    for place, job_id in enumerate(gone):
        job = s.jobs[job_id]
        assert s.tasks.get(job.task) == HELD, f"{job_id!r} is of no held task"
        s.leave(job_id)
        if job.passed == b"%d" % epoch or job.passed not in (b"", UNTOUCHED, b"c"):
            job.passed = b"c"
        job.place = Place.DELAYED
        job.due = (s.now_s + UNTIL_RELEASE_S, s.call, place + 1)
        job.aside = job.task.encode()
        s.groups[job.group].delayed += 1
        if s.groups[job.group].serial:
            s.groups[job.group].next_id = job_id
    return len(gone)


def check_claimed(s: State, ids: Collection[bytes]) -> None:
    """Fail if a job of a held task was claimed."""
    for job_id in ids:
        assert s.tasks.get(s.jobs[job_id].task) != HELD, f"I19: claimed {job_id!r} of a held task"


def said_of_released(s: State) -> bytes:
    """Return what a claim says about tasks that were released."""
    said = (how.encode() for how in s.tasks.values() if how not in (HELD, PASSED))
    return min(said, default=b"")


def waits(s: State, job: Job) -> bool:
    """Return whether a delayed job waits for the release of its task."""
    return bool(job.aside) and job.due[0] > s.now_s + UNTIL_RELEASE_S / 2
