"""Does a journal keep the promises? Pure; every violation is a sentence.

Lost        an accepted job that never ended, or ended done without ever having run
Doubled     a job that ended twice in the books, or ran again although its owner was not lost
Overlapping two executions of a job at once, or two suspects at once in one process
Innocent    a job dead of crashes more often than it can have been there when one happened
Untimely    an execution that began when its owner had no lease, or after the job's end
Out of order two jobs of a lane begun in another order than accepted, although nothing went wrong

What groups and jobs ask for beyond being run is checked in rules.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from consumer.core.jobs import End
from tests.simulation.journal import Execution, Journal
from tests.simulation.rules import Follower

_TURN_S, _LONG_TURN_S = 0.1, 6.0  # the latter: stalls and outages end it, or the lease does


def violations(journal: Journal, *, lossless: bool, max_crashes: int = 3) -> list[str]:
    """Return what is wrong; lossless: nothing went wrong, so nothing may happen twice."""
    follower = Follower(journal, turn_s=_TURN_S if lossless else _LONG_TURN_S)
    follower.follow()
    return [
        *journal.problems,
        *follower.violations,
        *_ends(journal, max_crashes, follower.held),
        *_repeats(journal, lossless),
        *_starts(journal),
        *_suspects(journal),
        *_targets(journal),
        *(_order(journal) if lossless else ()),
    ]


def _ends(journal: Journal, max_crashes: int, held: set[bytes]) -> Iterator[str]:
    ends = Counter(t.job_id for t in journal.terminals)
    states = {t.job_id: t.state for t in journal.terminals}
    ran = Counter(e.job_id for e in journal.executions)
    stored = set(journal.stored)
    for job_id in sorted(journal.accepted - stored):
        yield f"lost: {job_id!r} was accepted and never stored"
    for job_id in sorted(stored - set(ends) - held):
        yield f"lost: {job_id!r} never ended"
    for job_id, times in sorted(ends.items()):
        if times > 1:
            yield f"doubled: {job_id!r} ended {times} times"
        if states[job_id] in ("done", "dead") and not ran[job_id]:
            yield f"lost: {job_id!r} is {states[job_id]} and never ran"
        if states[job_id] == "crashed" and ran[job_id] + journal.unheard[job_id] < max_crashes:
            yield (
                f"innocent: {job_id!r} is dead of {max_crashes} crashes, ran {ran[job_id]} times "
                f"and was {journal.unheard[job_id]} times claimed unheard"
            )
        if states[job_id] == "cancelled" and job_id not in journal.cancel_asked:
            yield f"lost: {job_id!r} was cancelled and nobody asked"
    for job_id in sorted(journal.rejected & stored):
        yield f"doubled: {job_id!r} was rejected and is stored"
    for job_id, times in sorted(Counter(journal.stored).items()):
        if times > 1:
            yield f"doubled: {job_id!r} was stored {times} times"


def _repeats(journal: Journal, lossless: bool) -> Iterator[str]:
    ended = {t.job_id: t.at_s for t in journal.terminals}
    by_job: defaultdict[bytes, list[Execution]] = defaultdict(list)
    for execution in journal.executions:
        by_job[execution.job_id].append(execution)
    for job_id, executions in by_job.items():
        excused = job_id in journal.disturbed
        for before, after in pairwise(executions):
            why = _why_again(journal, before, after)
            if why is None:
                continue
            if lossless or not excused:
                yield why
            else:
                journal.seen["excused"] += 1
        last = executions[-1]
        if last.start_s > ended.get(job_id, last.start_s) and not excused:
            lost_s = journal.lost_s.get(last.epoch)
            if lost_s is None or lost_s > last.start_s:
                yield f"untimely: {job_id!r} began at {last.start_s:.3f} after its end"


def _why_again(journal: Journal, before: Execution, after: Execution) -> str | None:
    """Return what is wrong with a second execution, or None: it failed, or its owner was lost."""
    if before.end is End.RETRY and not before.runs_at(after.start_s):
        return None
    lost_s = journal.lost_s.get(before.epoch)
    if before.epoch != after.epoch and lost_s is not None and lost_s <= after.start_s:
        journal.seen["repeated after a loss"] += 1
        return None
    kind = "overlapping" if before.runs_at(after.start_s) else "doubled"
    return (
        f"{kind}: {before.job_id!r} began at {before.start_s:.3f} in epoch {before.epoch}, again "
        f"at {after.start_s:.3f} in epoch {after.epoch}"
    )


def _starts(journal: Journal) -> Iterator[str]:
    for e in journal.executions:
        if e.lease_left_s <= 0:
            yield (
                f"untimely: {e.job_id!r} began at {e.start_s:.3f} in epoch {e.epoch}, "
                f"whose lease was over for {-e.lease_left_s:.3f} s"
            )
    if any(later <= earlier for earlier, later in pairwise(journal.epochs)):
        yield f"epochs do not grow: {journal.epochs}"


def _suspects(journal: Journal) -> Iterator[str]:
    by_life: defaultdict[int, list[Execution]] = defaultdict(list)
    for execution in journal.executions:
        if execution.suspect:
            by_life[execution.epoch].append(execution)
    for epoch, suspects in by_life.items():
        for before, after in pairwise(suspects):
            if before.runs_at(after.start_s):
                yield (
                    f"overlapping: suspects {before.job_id!r} and {after.job_id!r} ran at once "
                    f"at {after.start_s:.3f} in epoch {epoch}"
                )


def _targets(journal: Journal) -> Iterator[str]:
    for who, target, least, most in journal.targets:
        if not least <= target <= most:
            yield f"{who} wants {target} workers, outside of {least} to {most}"


def _order(journal: Journal) -> Iterator[str]:
    begun: set[bytes] = set()
    lanes: defaultdict[tuple[object, ...], list[bytes]] = defaultdict(list)
    for e in journal.executions:
        if e.job_id not in begun and e.job_id in journal.lane_of:
            begun.add(e.job_id)
            lanes[journal.lane_of[e.job_id]].append(e.job_id)
    place = {job_id: i for i, job_id in enumerate(journal.stored)}
    for lane, ids in lanes.items():
        if any(i in journal.handed_back and i in journal.limits_of for i in ids):
            journal.seen["back at a gate"] += 1  # each before those that were there, one by one
            continue
        places: Sequence[int] = [place[i] for i in ids]
        if list(places) != sorted(places):
            yield f"out of order: lane {lane} began {places}"
