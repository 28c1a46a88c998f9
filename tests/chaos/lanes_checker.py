"""Whether limits (I11) and the bounds and order of groups (I12) held in a run. Pure.

    rate      in no time t more starts than rate * (t + 2 s) + burst: a token may be used for 2 s;
              and since before the first ask never more than rate * t + burst
    lost      what a blow cost of the rate: the time until so many jobs had begun, less what these
              take at that rate, and less the time for which a server was away
    at once   no more executions at a time than may be
    order     no execution in a serial group begins after one of a later job
    idle      fewer run than may, though jobs wait that never began; not counted while a blow is
              being overcome

What a process that was killed ran is over at its death. One that was frozen and replaced loses
its permits with its lease, and what it still runs after that counts no more: `over` has the moment
of each such process, before which nobody may have what it held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from tests.chaos.checker import Run

TOKEN_S = 2.0
LOST_S = 2.0  # of the rate, for each blow
_NEVER = 2**63


@dataclass(frozen=True, slots=True)
class Blow:
    """What was struck, when, and for how long a server was away by that."""

    what: str
    at_ns: int
    away_s: float = 0.0


def too_fast(starts_ns: Iterable[int], *, rate: float, burst: int, since_ns: int) -> list[str]:
    """Return where jobs began faster than a rate allows. since_ns: before the first ask."""
    starts = sorted(starts_ns)
    found = []
    most, level, before_ns = burst + rate * TOKEN_S, 0.0, since_ns
    for n, at_ns in enumerate(starts, 1):
        since_s = (at_ns - since_ns) / 1e9
        if n > rate * since_s + burst:
            found.append(f"too fast: {n} starts in the first {since_s:.3f} s at {rate:g} a second")
            break
    for at_ns in starts:  # a bucket that leaks at this rate overflows for some t, or for none
        level = max(0.0, level - rate * (at_ns - before_ns) / 1e9) + 1
        before_ns = at_ns
        if level > most:
            found.append(f"too fast: {level:.0f} starts more than {rate:g} a second allow")
            break
    return found


def fullest_second(starts_ns: Iterable[int]) -> int:
    """Return how many jobs began at most in a time of 1 s."""
    starts = sorted(starts_ns)
    most = first = 0
    for last, at_ns in enumerate(starts):
        while starts[first] <= at_ns - 10**9:
            first += 1
        most = max(most, last - first + 1)
    return most


def rate_lost_s(
    starts_ns: Iterable[int], blows: Sequence[Blow], *, rate: float, until_ns: int
) -> dict[Blow, float]:
    """Return the seconds of the rate that each blow cost until the next one, or the end."""
    starts = sorted(starts_ns)
    ends = [*(blow.at_ns for blow in blows[1:]), until_ns]
    lost = {}
    for blow, end_ns in zip(blows, ends, strict=True):
        began = sum(blow.at_ns <= at_ns < end_ns for at_ns in starts)
        lost[blow] = (end_ns - blow.at_ns) / 1e9 - blow.away_s - began / rate
    return lost


def at_once(runs: Iterable[Run], over: Mapping[int, int]) -> list[Run]:
    """Return those that ran at once when most did, in the order of their begins."""
    running: list[Run] = []
    most: list[Run] = []
    for run in _real(runs, over):
        running = [r for r in running if _end_ns(r, over) > run.began_ns]
        running.append(run)
        if len(running) > len(most):
            most = list(running)
    return most


def too_many(name: str, runs: Iterable[Run], bound: int, over: Mapping[int, int]) -> list[str]:
    """Return a sentence if more ran at once than may."""
    most = at_once(runs, over)
    if len(most) <= bound:
        return []
    which = ", ".join(f"{r.job_id} in {r.pid}" for r in most)
    return [f"too many: {len(most)} of {name} ran at once, of at most {bound}: {which}"]


def disorder(name: str, runs: Iterable[Run], over: Mapping[int, int]) -> list[str]:
    """Return a sentence if a job of a group began, or began again, after a later one.

    Its number is what follows the last "-" of the id.
    """
    in_order = _real(runs, over)
    for a, b in pairwise(in_order):
        if _number(b) < _number(a):
            return [f"out of order: in {name} {b.job_id} began in {b.pid} after {a.job_id}"]
    return []


def idle_s(
    runs: Iterable[Run],
    accepted: Iterable[int],
    bound: int,
    over: Mapping[int, int],
    *,
    blind: Sequence[tuple[int, int]] = (),
) -> list[float]:
    """Return all times, in s, in which fewer than `bound` ran while jobs waited.

    accepted: when the jobs were, in ns. blind: times that do not count.
    """
    known = set[str]()
    changes = [(at_ns, 0, 1) for at_ns in accepted]
    for run in _real(runs, over):
        changes.append((run.began_ns, 1, 0 if run.job_id in known else -1))
        changes.append((_end_ns(run, over), -1, 0))
        known.add(run.job_id)
    waiting = running = 0
    idle: list[float] = []
    since_ns: int | None = None
    for at_ns, began, more in sorted(changes):  # of one moment: ends, accepts, begins
        waiting, running = waiting + more, running + began
        is_idle = waiting > 0 and running < bound
        if since_ns is not None and not is_idle:
            idle += (ns / 1e9 for ns in _without(since_ns, at_ns, blind))
        since_ns = None if not is_idle else at_ns if since_ns is None else since_ns
    return idle


def _without(begin_ns: int, end_ns: int, blind: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the lengths of what others leave of a time."""
    for from_ns, until_ns in chain(sorted(blind), [(end_ns, end_ns)]):
        if from_ns > begin_ns:
            yield min(from_ns, end_ns) - begin_ns
        begin_ns = max(begin_ns, until_ns)
        if begin_ns >= end_ns:
            return


def _real(runs: Iterable[Run], over: Mapping[int, int]) -> list[Run]:
    """Return the executions in order, without those that a process began when it was over."""
    real = (run for run in runs if run.began_ns < over.get(run.pid, _NEVER))
    return sorted(real, key=lambda run: run.began_ns)


def _end_ns(run: Run, over: Mapping[int, int]) -> int:
    return min(run.ended_ns or _NEVER, over.get(run.pid, _NEVER))


def _number(run: Run) -> int:
    return int(run.job_id.rpartition("-")[2])
