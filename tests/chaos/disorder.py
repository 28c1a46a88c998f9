"""Whether each group's jobs began in the order in which they were enqueued. Pure.

A job counts from its first begin that was noted. Excused is one that had been started when its
consumer was killed: it may have begun there before it could note that, and what is noted is then
its second start, as a suspect, beside jobs that were enqueued after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.chaos.checker import Run, Strike, folded


def disorder(
    runs: Sequence[Run], strikes: Sequence[Strike], *, groups: int, prefix: str = "job"
) -> list[str]:
    """Return a sentence for each job that began after a later one of its group, three in full.

    runs: in the order of begins. groups: job n of the prefix belongs to group n modulo this.
    """
    first: dict[int, list[int]] = {}
    for job_id in _started(runs, strikes):
        if job_id.startswith(f"{prefix}-"):
            number = int(job_id.rpartition("-")[2])
            first.setdefault(number % groups, []).append(number)
    found = [
        f"out of order: group {group} began job {b} after {a}"
        for group, numbers in first.items()
        for a, b in pairwise(numbers)
        if b < a
    ]
    return folded(found, "out of order")


def _started(runs: Sequence[Run], strikes: Sequence[Strike]) -> Iterator[str]:
    """Yield each job once, in the order of first begins; none whose first begin may be unknown."""
    known = set[str]()
    for run in runs:
        if run.job_id in known:
            continue
        known.add(run.job_id)
        if not any(
            run.job_id in s.started and s.pid != run.pid and s.at_ns <= run.began_ns
            for s in strikes
        ):
            yield run.job_id
