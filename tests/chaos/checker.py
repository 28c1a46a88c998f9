"""What a run under a fault shows: events of all processes joined with the final books. Pure.

    events   accept (after the enqueue was acknowledged), begin, and end or fail, of each process's
             own file
    books    counters, states of accepted ids, dead, audit, after the fault was over
    strikes  what was done to which consumer, and when: what excuses a second start

Lost         accepted, and in no book, and no execution of it ended
Stuck        accepted, and not ended when everything should have been
Doubled      ended more than once in the books
Duplicate    begun again with the same attempt. Excused when the earlier execution was of a process
start        that was struck, and had not been acknowledged by then
Overlapping  two executions of one job at once. Excused when the earlier one's process was struck
Untimely     begun by a process that was struck, after its lease must have ended
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from queuepool.models import JobState

# Where no book tells: an end that is younger than this when its process is struck may not have
# reached the server. A turn, and room for a busy machine.
ACK_NS = 500_000_000
_LIVE = (JobState.READY, JobState.DELAYED, JobState.IN_FLIGHT)
_NAMED = 3  # ids in a violation, and violations of one kind


@dataclass(frozen=True, slots=True)
class Run:
    """One execution. ended_ns: None when it never ended. failed: it ended by raising."""

    job_id: str
    pid: int
    attempt: int
    began_ns: int
    ended_ns: int | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Events:
    """accepted: id -> monotonic ns of the first acknowledgement. runs: in the order of begins."""

    accepted: Mapping[str, int]
    runs: Sequence[Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """Final state of all partitions. left: jobs stored that are not dead. problems: of audits."""

    counters: Mapping[str, int]
    states: Mapping[str, JobState]
    dead: int = 0
    left: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One blow to one consumer process: a kill, a stop, its network.

    book: the ids in its in-flight set just after; None when that would not tell, because it
    works on, or a successor was there first. started: those of them that were no longer waiting in
    its memory. takeover_s: how long until a process that ran nothing
    before must run something; None when no one should take over. lease_s: so long after it the
    process may begin nothing any more, until over_ns; None when it cannot, being dead.
    """

    pid: int
    at_ns: int
    book: frozenset[str] | None = None
    started: frozenset[str] = frozenset()
    takeover_s: float | None = None
    lease_s: float | None = None
    over_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was seen, and what of it must not be: `violations`, a sentence each, with ids."""

    jobs: int
    lost: tuple[str, ...] = ()
    starts: int = 0  # duplicate ones
    starts_allowed: int = 0
    terminals: int = 0  # duplicate ones
    takeovers_s: tuple[float, ...] = ()
    fenced: int = 0
    violations: tuple[str, ...] = ()

    def also(self, violations: Sequence[str] = (), takeovers_s: Sequence[float] = ()) -> Verdict:
        """Return it with what the fault itself has seen."""
        return replace(
            self,
            violations=(*self.violations, *violations),
            takeovers_s=(*self.takeovers_s, *takeovers_s),
        )

    @property
    def takeover_p50_s(self) -> float | None:
        """Return the median takeover, None without one."""
        return median(self.takeovers_s) if self.takeovers_s else None

    @property
    def takeover_max_s(self) -> float | None:
        """Return the longest takeover, None without one."""
        return max(self.takeovers_s, default=None)


def check(
    events: Events,
    books: Books,
    strikes: Sequence[Strike] = (),
    *,
    lost_allowed: int = 0,
    more_starts: int = 0,
) -> Verdict:
    """Join events, books and strikes.

    lost_allowed and more_starts: what the fault may cost beyond what strikes excuse, for example
    the window of a failover.
    """
    ended = {run.job_id for run in events.runs if run.ended_ns is not None and not run.failed}
    lost = _lost(events, books, ended)
    terminals, said_of_books = _terminals(books, ended)
    starts, unexcused = _duplicate_starts(events.runs, strikes)
    takeovers, late = _takeovers(events.runs, strikes)
    violations = [
        *([f"lost: {_some(lost)}, {lost_allowed} allowed"] if len(lost) > lost_allowed else []),
        *_stuck(events, books, ended),
        *said_of_books,
        *(folded(unexcused, "duplicate starts") if len(unexcused) > more_starts else []),
        *_overlaps(events.runs, strikes),
        *_untimely(events.runs, strikes),
        *late,
        *books.problems,
    ]
    allowed = more_starts + sum(
        1 for s in strikes for run in events.runs if _is_unacknowledged(run, s)
    )
    return Verdict(
        jobs=len(events.accepted),
        lost=tuple(lost),
        starts=starts,
        starts_allowed=allowed,
        terminals=terminals,
        takeovers_s=tuple(takeovers),
        fenced=books.counters.get("fenced", 0),
        violations=tuple(violations),
    )


def _lost(events: Events, books: Books, ended: set[str]) -> list[str]:
    kept = (*_LIVE, JobState.DEAD, JobState.CANCELLED)
    return [
        job_id
        for job_id in sorted(events.accepted)
        if job_id not in ended and books.states.get(job_id, JobState.UNKNOWN) not in kept
    ]


def _stuck(events: Events, books: Books, ended: set[str]) -> Iterator[str]:
    live = [i for i in sorted(events.accepted) if books.states.get(i) in _LIVE]
    if live:
        yield f"stuck: {_some(live)} accepted and not ended"
    if books.left and not live:
        yield f"stuck: {books.left} jobs stored that nobody was told of"
    untold = [i for i, s in sorted(books.states.items()) if s is JobState.DONE and i not in ended]
    if untold:
        yield f"never run: {_some(untold)} done without an execution that ended"


def _terminals(books: Books, ended: set[str]) -> tuple[int, list[str]]:
    """Return how many ends are too many, and what is wrong with the books."""
    count = books.counters.get
    done = count("done", 0)
    gone = done + count("cancelled", 0) + count("evicted", 0) + count("discarded", 0)
    surplus = gone + books.dead + books.left - count("enqueued", 0)
    doubled = max(0, surplus, done - len(ended))
    said = []
    if doubled:
        said.append(f"doubled: {doubled} ends more than jobs in the books ({done} done)")
    if surplus < 0:
        said.append(f"lost: {-surplus} jobs were enqueued and are in no book")
    return doubled, said


def _by_job(runs: Sequence[Run]) -> Iterator[tuple[str, list[Run]]]:
    jobs: defaultdict[str, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.began_ns):
        jobs[run.job_id].append(run)
    yield from jobs.items()


def _is_unacknowledged(run: Run, strike: Strike) -> bool:
    if run.pid != strike.pid:
        return False
    if strike.book is not None:
        return run.job_id in strike.book
    if run.began_ns > strike.at_ns + int((strike.lease_s or 0) * 1e9):
        return False
    return run.ended_ns is None or run.ended_ns > strike.at_ns - ACK_NS


def _duplicate_starts(runs: Sequence[Run], strikes: Sequence[Strike]) -> tuple[int, list[str]]:
    """Return how many there were, and those that nothing excuses."""
    seen, unexcused = 0, []
    for job_id, own in _by_job(runs):
        for before, after in pairwise(own):
            if after.attempt > before.attempt:
                continue
            seen += 1
            if not any(
                _is_unacknowledged(before, s) and s.at_ns <= after.began_ns for s in strikes
            ):
                unexcused.append(
                    f"duplicate start: {job_id} began in process {before.pid} and "
                    f"{(after.began_ns - before.began_ns) / 1e9:.3f} s later in {after.pid}"
                )
    return seen, unexcused


def _overlaps(runs: Sequence[Run], strikes: Sequence[Strike]) -> Iterator[str]:
    for job_id, own in _by_job(runs):
        for before, after in pairwise(own):
            failed = before.ended_ns is None and after.attempt > before.attempt
            over = before.ended_ns is not None and before.ended_ns <= after.began_ns
            excused = any(s.pid == before.pid and s.at_ns <= after.began_ns for s in strikes)
            if not (failed or over or excused):
                yield f"overlapping: {job_id} ran in {before.pid} and in {after.pid} at once"


def _untimely(runs: Sequence[Run], strikes: Sequence[Strike]) -> Iterator[str]:
    for strike in strikes:
        if strike.lease_s is None:
            continue
        from_ns = strike.at_ns + int(strike.lease_s * 1e9)
        late = [
            run.job_id
            for run in runs
            if run.pid == strike.pid
            and run.began_ns > from_ns
            and (strike.over_ns is None or run.began_ns < strike.over_ns)
        ]
        if late:
            yield f"untimely: {_some(late)} begun by {strike.pid} after its lease"


def _takeovers(runs: Sequence[Run], strikes: Sequence[Strike]) -> tuple[list[float], list[str]]:
    first: dict[int, int] = {}
    for run in runs:
        first[run.pid] = min(run.began_ns, first.get(run.pid, run.began_ns))
    took, late = [], []
    for strike in strikes:
        if strike.takeover_s is None or not _has_work_left(runs, strike):
            continue
        after = [ns for ns in first.values() if ns > strike.at_ns]
        if not after:
            late.append(f"no takeover: nobody ran anything after {strike.pid} was struck")
            continue
        took.append((min(after) - strike.at_ns) / 1e9)
        if took[-1] > strike.takeover_s:
            late.append(f"late takeover of {strike.pid}: {took[-1]:.2f} s > {strike.takeover_s:g}")
    return took, late


def _has_work_left(runs: Sequence[Run], strike: Strike) -> bool:
    """Return whether a job ran then or later; a job that never ran is found to be lost."""
    return any(run.ended_ns is None or run.ended_ns > strike.at_ns for run in runs)


def folded(sentences: Sequence[str], what: str) -> list[str]:
    """Return the first sentences, and how many more there are, and of what."""
    more = len(sentences) - _NAMED
    return [*sentences[:_NAMED], *([f"and {more} more {what}"] if more > 0 else [])]


def _some(ids: Sequence[str]) -> str:
    more = len(ids) - _NAMED
    return f"{len(ids)} ({', '.join(ids[:_NAMED])}{f' and {more} more' if more > 0 else ''})"
