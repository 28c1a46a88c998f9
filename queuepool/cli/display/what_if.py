"""When the jobs that are there now would have ended otherwise. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from queuepool.cli.display.view import PartitionRow
from queuepool.models import Eta
from queuepool.models.durations import range_of
from queuepool.models.eta import at_rate, last_of, part_with, workers_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One case. workers: over all partitions; None where they do not matter."""

    case: str
    jobs: int
    workers: int | None
    eta: Eta | None

    def line(self) -> str:
        """Return it as a sentence."""
        what = "" if self.workers is None else f" with {self.workers:,} workers"
        ends = "at an unknown time: no job has ended recently"
        return (
            f"{self.case}: {self.jobs:,} jobs{what} end {range_of(self.eta) if self.eta else ends}"
        )

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
    return Answer(
        case="now" if most is None else f"with at most {most:,} workers a partition",
        jobs=sum(jobs),
        workers=sum(counts),
        eta=last_of(
            part_with(left, count, row.service_s)
            for row, left, count in zip(rows, jobs, counts, strict=True)
        ),
    )


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
    return Answer(case=f"{case} of limit {name}", jobs=jobs, workers=None, eta=eta)
