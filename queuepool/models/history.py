"""What is kept of executions that ended: a line each, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from queuepool.models.jobs import JobId
from queuepool.models.runs import RunEnd

_ENOUGH = 20  # executions that tell how long a task usually takes
_SLOW = 3.0  # times as long as 99 of 100
_SLOW_S = 1.0  # at least


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One execution that ended. group: its key as text. reason, type, message: of its error."""

    job_id: JobId
    task: str
    group: str
    attempt: int
    end: RunEnd
    ended_ms: int
    waited_s: float
    ran_s: float
    reason: str = ""
    type: str = ""
    message: str = ""


def usual_s(runs: Iterable[PastRun]) -> dict[str, float]:
    """Return the time within which 99 of 100 executions of a task ended, if enough are known."""
    times: dict[str, list[float]] = {}
    for run in runs:
        if run.end is RunEnd.DONE:
            times.setdefault(run.task, []).append(run.ran_s)
    return {task: _p99(some) for task, some in times.items() if len(some) >= _ENOUGH}


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[ceil(0.99 * len(times)) - 1]


def is_slow(age_s: float, usual: float | None) -> bool:
    """Return whether a job runs far longer than its task usually does."""
    return usual is not None and age_s > max(_SLOW_S, _SLOW * usual)
