"""What the verbs that move task groups promise, on the model of one partition.

M1: a frozen group starts nothing. M2: a job is forgotten only where another partition has it. M3:
totals come along once. M4: jobs arrive in the order in which they would have started.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from queuepool.verbs.moves.verbs import MAX_JOBS, Adopted, Walked
from tests.property.model import gating, holding
from tests.property.model.names import slot_of
from tests.property.model.records import MINUTE_S, Closings, Job, Place, Totals
from tests.property.model.space import Space
from tests.property.model.state import DAY_S, State

_ENDS = ("done", "cancelled", "evicted", "discarded", "expired")
_KINDS = {Place.READY: 1, Place.PARKED: 2, Place.DELAYED: 3}


@dataclass(frozen=True, slots=True)
class Page:
    """What a partition said of a group: its totals, and jobs in the order in which they go."""

    totals: Totals | None
    jobs: Mapping[bytes, Job]

    def some(self, ids: Collection[bytes]) -> Page:
        """Return the same with some of the jobs."""
        return Page(self.totals, {i: job for i, job in self.jobs.items() if i in ids})


def turn_away(
    s: State,
    version: int,
    *,
    moves: bool | None,
    told: int | None,
    since: int | None,
    closing: Collection[int],
) -> int:
    """Accept this version and later ones, unless that is so already; return the least one.

    told: what the caller told last; earlier versions will then do for slots that do not close.
    """
    if version < s.route:
        return s.route
    known = s.closings
    if told is None:
        s.closings = None
    elif known is None or not known.until == s.route == told:
        s.closings = Closings(since or version, version, dict.fromkeys(closing, version))
    else:
        slots = {**known.slots, **dict.fromkeys(closing, version)}
        s.closings = Closings(known.since, version, slots)
    s.route = version
    s.shut = s.shut if moves is None else moves
    if moves is False:
        s.configured.clear()
    return version


def will_do(s: State, version: int, slot: int) -> bool:
    """Return whether jobs of a slot may be added by this version, which may be an older one."""
    known = s.closings
    return version >= s.route or (
        known is not None
        and known.until == s.route
        and known.since <= version
        and known.slots.get(slot, 0) <= version
    )


def check_walk(s: State, found: Walked) -> None:
    """Fail unless a walk named all groups with jobs, and their dead jobs."""
    dead = {i for ids in found.dead.values() for i in ids}
    assert set(found.slots) == {job.group for job in s.jobs.values()}, f"the walk says {found}"
    assert dead == set(s.at(Place.DEAD)), f"the walk says that {dead} are dead"
    for group, slot in found.slots.items():
        live = sum(j.group == group and j.place is not Place.DEAD for j in s.jobs.values())
        assert (found.jobs.get(group, 0), slot) == (live, slot_of(group)), f"{group!r}: {found}"


def freeze(s: State, version: int, groups: Collection[bytes], *, closed: bool) -> list[int]:
    """Let nothing of groups start; return how many jobs of each run, -1 for an unknown one."""
    running = []
    for name in groups:
        group = s.groups.get(name)
        if group is not None:
            group.moving, group.closed = version, closed
            s.frozen.add(name)
        mine = [i for i in s.at(Place.BOOKED) if s.jobs[i].group == name]
        running.append(len(mine) if group is not None else -1)
    return running


def export(s: State, group: bytes, dead: Sequence[bytes], ids: Sequence[bytes]) -> Page:
    """Fail unless these are the jobs that go first, or the dead ones; return what they are now."""
    if dead:
        known = (i for i in dict.fromkeys(dead) if i in s.jobs and s.jobs[i].group == group)
        expected = [i for i in known if s.jobs[i].place is Place.DEAD][:MAX_JOBS]
        assert list(ids) == expected, f"of the dead {expected} go {ids}"
    else:
        _check_order(s, group, ids)
    return Page(copy(s.groups.get(group)), {i: copy(s.jobs[i]) for i in ids})


def _check_order(s: State, group: bytes, ids: Sequence[bytes]) -> None:
    """M4: the lanes by tier, those at gates, the delayed ones; of a serial group gates first."""
    assert len(set(ids)) == len(ids) <= MAX_JOBS, f"M4: {ids} go"
    places = [s.jobs[i].place for i in ids]
    assert set(places) <= set(_KINDS), f"M4: {ids} go, which are {places}"
    assert {s.jobs[i].group for i in ids} <= {group}, f"M4: {ids} go with {group!r}"
    serial = group in s.groups and s.groups[group].serial
    ranks = [0 if serial and place is Place.PARKED else _KINDS[place] for place in places]
    assert ranks == sorted(ranks), f"M4: {ids} go, which are {places}"
    ready = [i for tier in range(4) for i in s.lanes.get((tier, group), ())]
    parked = [lane for (_, _, name), lane in s.gates.items() if name == group]
    for lane in (ready, *parked):
        goes = [i for i in ids if i in set(lane)]
        assert goes == lane[: len(goes)], f"M4: of {lane} {goes} go"
        assert len(ids) == MAX_JOBS or goes == lane, f"M2: of {lane} only {goes} go"
    late = [i for i in s.at(Place.DELAYED) if s.jobs[i].group == group]
    assert ids or not late, f"M2: {late} stay"


def adopt(
    s: State, version: int, group: bytes, page: Page, *, settings: bool, last: bool
) -> Adopted:
    """Take over a page of a group, which is frozen. settings, last: it brings these, and totals."""
    known = s.groups.setdefault(group, Totals())
    known.moving, known.closed = version, True
    s.frozen.add(group)
    if page.totals is not None and settings:
        _bring_settings(known, page.totals)
    if page.totals is not None and last:
        if known.arrived is None:
            for name in _ENDS:
                n = getattr(page.totals, name)
                setattr(known, name, getattr(known, name) + n)
                known.total += n
        known.arrived = version
    here, clashes = list[int](), list[int]()
    for place, (job_id, job) in enumerate(page.jobs.items()):
        if job_id in s.jobs:
            (here if is_same(s.jobs[job_id], job) else clashes).append(place)
        elif job_id in s.marks:
            clashes.append(place)
        else:
            _settle_in(s, job_id, copy(job))
            here.append(place)
    known.forget_s = None
    if not (known.left or known.dead):
        soon_s = MINUTE_S * max(1, known.total)
        soon_s = DAY_S if known.moved and known.total else min(DAY_S, soon_s)
        known.forget_s = s.now_s + max(soon_s, known.keep_s)
    return Adopted(here, clashes)


def is_same(one: Job, other: Job) -> bool:
    """Return whether these are the same job with the same body."""
    return (one.birth, one.order) == (other.birth, other.order)


def _bring_settings(to: Totals, of: Totals) -> None:
    """Let a group run as it might before; what is not set there stays as it is here."""
    to.held, to.serial, to.moved = to.held or of.held, to.serial or of.serial, to.moved or of.moved
    to.most, to.keep_s = of.most or to.most, of.keep_s or to.keep_s
    to.weight = of.weight if of.weight > 1 else to.weight
    to.tier = to.tier if of.tier is None else of.tier
    to.next_id = to.next_id if of.next_id is None else of.next_id
    to.cut = of.cut if of.cut >= 0 else to.cut


def _settle_in(s: State, job_id: bytes, job: Job) -> None:
    group = s.groups[job.group]
    assert job.birth not in s.ended, f"M2: {job_id!r} ended here, and comes again"
    s.jobs[job_id] = job
    s.came += 1
    group.total += 1
    ended = job.place is Place.DEAD
    group.dead += ended
    group.left += not ended
    job.passed, job.back = (gating.UNTOUCHED if job.gate else b""), False
    if job.place is Place.DELAYED:
        group.delayed += 1
        if holding.waits(s, job) and s.tasks.get(job.aside.decode()) != holding.HELD:
            job.due = (job.due[0] - holding.UNTIL_RELEASE_S, *job.due[1:])
    elif not ended:
        s.put_ready(job_id, front=False)
    if not job.key or ended or job.key[:1] == b"S":
        return
    if job.key[1:] in s.holders:
        s.counters["conflicts"] += 1
        job.key = b""
    else:
        s.holders[job.key[1:]] = job_id


def take_over_order(s: State, space: Space) -> None:
    """Let those that are due, or died, in the same second stand as the server has them.

    Their times came as durations, so these differ by the milliseconds that calls took.
    """
    last: Any = (0.0, 0)
    for rank, job_id in enumerate(space.ids("dl")):
        job = s.jobs[job_id]
        assert job.due[0] >= last[0], f"M4: {job_id!r} is due too late"
        job.due = last = (
            job.due[0],
            max(job.due[1], last[1] if job.due[0] == last[0] else 0),
            rank,
        )
    last = (0.0, 0.0)
    for job_id in space.ids("dead"):
        job = s.jobs[job_id]
        assert job.died[0] >= last[0], f"M4: {job_id!r} died too late"
        if job.died[0] == last[0] and job.died[1] <= last[1]:
            job.died = (job.died[0], last[1] + 1e-6)
        last = job.died


def forget(
    s: State, version: int, group: bytes, page: Page, mode: str, marks: set[bytes]
) -> tuple[int, int]:
    """Delete jobs that are elsewhere, and the group; return how many are left, and dead ones.

    mode: as of the verb. marks: those that there are now; a lane that would be empty keeps one.
    """
    known = s.groups.get(group)
    if known is None or (mode == "2" and known.moving == version):
        return 0, 0
    for job_id, was in page.jobs.items():
        job = s.jobs.get(job_id)
        if job is None or not is_same(job, was) or job.place is Place.BOOKED:
            continue
        s.leave(job_id)
        s.free_key(job_id)
        known.dead -= job.place is Place.DEAD
        known.left -= job.place is not Place.DEAD
        known.total -= 1
        s.came -= 1
        del s.jobs[job_id]
    strange = [i for i in marks - s.marks if not (i[:1] == b"=" and i.endswith(group))]
    assert not strange, f"marks out of nothing: {strange}"
    s.marks = set(marks)
    if not (known.left or known.dead):
        known.forget_s = s.now_s + DAY_S
        if mode:
            _drop(s, group, known)
    return known.left, known.dead


def _drop(s: State, group: bytes, known: Totals) -> None:
    """Forget a group, but for the least stamp of its seats."""
    s.frozen.discard(group)
    del s.groups[group]
    if known.moved:
        s.groups[group] = Totals(moved=True, forget_s=known.forget_s)


def thaw(s: State) -> int:
    """Let everything start that is frozen; return how much is frozen still."""
    for name in s.frozen & set(s.groups):
        group = s.groups[name]
        if group.moving is not None or group.arrived is not None:
            group.moving, group.arrived, group.closed = None, None, False
            group.forget_next()
    s.frozen.clear()
    s.tasks.update({t: holding.RELEASED for t, how in s.tasks.items() if how == holding.PASSED})
    return 0
