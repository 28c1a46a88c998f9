"""Which times of a schedule fire now. Pure.

A time of a schedule is in one of these states:

    ahead --clock--> due --fire--> fired            its job was enqueued
                      |---missed-> missed           nobody fired it within the grace, and its rule
                      |                             (skip, one, all) does not make up for it
                      +---last job has not ended--> overlapped

Ahead are the times after now, settled all until `through_ms` of the leader's record; those between
are due. The leader fires first, and records afterwards. Invariants:

- Each time fires at most once: the script `fire` stores the job and its time in one step, and
  refuses a time that is not after the last one, whoever asks. A record that is lost, or a leader
  that wakes after hours, can only ask again.
- Each time fires at least once within its rule: `through_ms` passes a time only when that time
  fired, or was found missed or overlapped; and only the leader of the newest epoch may record.
- Times are in order: a time never fires after a later one.
- None is missed for the sake of others: of several schedules that are due, those whose times would
  be missed next come first, and those whose times are missed already come last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from queuepool.models import ScheduleStatus

HORIZON_MS = 7 * 86_400_000  # older times are over
MOST_FIRED = 200  # firings in a look


@dataclass(frozen=True, slots=True)
class Firing:
    """What is to be done of a schedule. fire: the times, in order.

    missed, overlapped: times that are settled without. through_ms: until when all are settled then.
    """

    fire: tuple[int, ...]
    missed: int
    overlapped: int
    through_ms: int


def due(status: ScheduleStatus, now_ms: int, room: int = MOST_FIRED) -> Firing | None:
    """Return what is to be done of a schedule now, None for nothing. room: how many may fire."""
    schedule = status.schedule
    if schedule is None or status.paused_ms or room < 1:
        return None
    timetable = schedule.timetable()
    begin = max(status.settled_ms, now_ms - HORIZON_MS)
    first = timetable.after(begin)
    if first is None or first > now_ms:
        return None
    late_until = max(begin, now_ms - round(schedule.grace_s * 1000) - 1)
    late = timetable.count(begin, late_until)
    made_up = {"skip": 0, "one": min(1, late), "all": min(schedule.catch_up, late)}[schedule.missed]
    missed = late - made_up
    at = timetable.skip(begin, missed) if made_up else late_until
    fire = list[int]()
    while len(fire) < room:
        following = timetable.after(at)
        if following is None or following > now_ms:
            return _settled(status, fire, missed, now_ms)
        fire.append(at := following)
    return _settled(status, fire, missed, at)


def in_turn(ready: Iterable[tuple[int, ScheduleStatus]], now_ms: int) -> list[ScheduleStatus]:
    """Return schedules in the order in which they fire. ready: with the time for which each is."""

    def turn(one: tuple[int, ScheduleStatus]) -> tuple[bool, int, str]:
        due_ms, status = one
        schedule = status.schedule
        missed_ms = due_ms if schedule is None else due_ms + round(schedule.grace_s * 1000)
        return missed_ms < now_ms, missed_ms, status.name

    return [status for _, status in sorted(ready, key=turn)]


def _settled(status: ScheduleStatus, fire: list[int], missed: int, through_ms: int) -> Firing:
    assert status.schedule is not None  # noqa: S101 - for the type
    alone = status.schedule.overlap == "skip"
    kept = fire[-1:] if alone else fire  # one after the other would overlap
    return Firing(tuple(kept), missed, len(fire) - len(kept), through_ms)
