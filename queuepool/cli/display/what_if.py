"""When the jobs that are there now would have ended otherwise. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from queuepool.cli.display.output import clean
from queuepool.cli.display.view import PartitionRow
from queuepool.models import Eta
from queuepool.models.durations import range_of
from queuepool.models.eta import at_rate, last_of, part_with, workers_within

_NAMED = 5  # partitions of a reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One case. workers: over all partitions; None where they do not matter.

    reason: why eta is None. complete: whether all partitions could be read, so that jobs are all.
    """

    case: str
    jobs: int
    workers: int | None
    eta: Eta | None
    reason: str = ""
    complete: bool = True

    def line(self) -> str:
        """Return it as a sentence."""
        jobs = f"{self.jobs:,} jobs" if self.complete else "an unknown number of jobs"
        if self.workers is not None and self.complete:
            jobs += f" with {self.workers:,} workers"
        ends = range_of(self.eta) if self.eta else f"at an unknown time: {self.reason}"
        return f"{self.case}: {jobs} end {ends}"

    def plain(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def with_most(rows: Iterable[PartitionRow], most: int | None) -> Answer:
    """Return when what is ready or in flight ends, now or with this maximum of each partition."""
    rows = list(rows)
    jobs = [row.backlog + row.in_flight for row in rows]
    counts = [
        workers_within(most, max(row.target, row.workers), left, row.service_s)
        for row, left in zip(rows, jobs, strict=True)
    ]
    eta = last_of(
        part_with(left, count, row.service_s)
        for row, left, count in zip(rows, jobs, counts, strict=True)
    )
    case = "now" if most is None else f"with at most {most:,} workers a partition"
    return _answer(rows, jobs, Answer(case=case, jobs=sum(jobs), workers=sum(counts), eta=eta))


def with_rate(
    rows: Iterable[PartitionRow],
    name: str,
    per_s: float | None,
    case: str,
    waiting: int | None = None,
) -> Answer:
    """Return when the jobs that wait for a limit have ended, with as many workers as it needs.

    waiting: how many do; None: all that are parked in these rows.
    """
    rows = list(rows)
    parked = sum(row.parked for row in rows)
    service_s = sum(row.parked * row.service_s for row in rows) / parked if parked else 0.0
    jobs = parked if waiting is None else waiting
    eta = None if per_s is None else at_rate(jobs, per_s, service_s)
    answer = Answer(case=f"{case} of limit {name}", jobs=jobs, workers=None, eta=eta)
    return _answer(rows, [row.parked for row in rows], answer)


def _answer(rows: Sequence[PartitionRow], jobs: Sequence[int], answer: Answer) -> Answer:
    """Return an answer without a time if jobs of a row may not run, and why there is none."""
    unread = [row for row in rows if row.problem]
    unowned = [row for row, left in zip(rows, jobs, strict=True) if left and not row.owned]
    if unread:
        reason = f"{_names(unread)} cannot be read: {clean(unread[0].cause)}"
        return replace(answer, eta=None, reason=reason, complete=False)
    if unowned:
        has = "has" if len(unowned) == 1 else "have"
        return replace(answer, eta=None, reason=f"{_names(unowned)} {has} no owner")
    return answer if answer.eta else replace(answer, reason="no job has ended recently")


def _names(rows: Sequence[PartitionRow]) -> str:
    if len(rows) == 1:
        return f"partition {rows[0].name}"
    more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    return f"partitions {', '.join(row.name for row in rows[:_NAMED])}{more}"
