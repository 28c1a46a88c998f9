"""How much work has ended, in jobs of equal length: what completions of mixed tasks say. Pure.

Completions a second compare two moments only while the mix of jobs stays as it is: a hundred jobs
of 20 ms are less work than twenty of 1 s. So each job counts as the usual worker-seconds w of its
task, in units u of these:

    equal = sum of w / u, where u = (sum of w x w) / (sum of w) over the jobs of the last minutes

So as many jobs of equal length would scatter as much (Kish, 1965: the effective size of a weighted
sample), and if all tasks take equally long, `equal` is the number of jobs. What is usual for a task
follows its jobs over minutes only: if each takes longer than before, they are still as much work,
and `took`, which is what they really took, in the same units, tells that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_USUAL_S = 120.0  # over which what is usual follows
_MOST_TASKS = 64  # that are told apart
_OTHERS = ""
_LEAST_S = 1e-6


@dataclass(frozen=True, slots=True)
class EndedWork:
    """Jobs that ended, as how many of equal length they count, and took. All only grow."""

    ended: int
    equal: float
    took: float


class _Task:
    __slots__ = ("jobs", "usual_s", "worker_s")  # jobs and worker_s fade

    def __init__(self) -> None:
        self.jobs = self.worker_s = self.usual_s = 0.0


class WorkMeter:
    """Adds up the jobs of one process as they end."""

    def __init__(self) -> None:
        self._tasks: dict[str, _Task] = {}
        self._at_s = 0.0
        self._ended = self._equal = self._took = 0.0

    @property
    def total(self) -> EndedWork:
        """Return what has ended so far."""
        return EndedWork(int(self._ended), self._equal, self._took)

    def add(self, ended: Iterable[tuple[str, float, float]], now_s: float) -> None:
        """Count jobs that ended: (task, worker-seconds, as how many jobs it counts)."""
        keep = math.exp(-max(now_s - self._at_s, 0.0) / _USUAL_S)
        self._at_s = max(now_s, self._at_s)
        for task in self._tasks.values():
            task.jobs *= keep
            task.worker_s *= keep
        counts, all_s = dict[_Task, float](), 0.0
        for name, took_s, jobs in ended:
            task = self._task(name)
            worker_s = max(took_s, _LEAST_S) * jobs
            task.jobs += jobs
            task.worker_s += worker_s
            counts[task] = counts.get(task, 0.0) + jobs
            all_s += worker_s
        if not counts:
            return
        for task in counts:
            task.usual_s = task.worker_s / task.jobs
        unit_s = self._unit_s()
        self._took += all_s / unit_s
        for task, jobs in counts.items():
            self._ended += jobs
            self._equal += jobs * task.usual_s / unit_s

    def _task(self, name: str) -> _Task:
        task = self._tasks.get(name)
        if task is None:
            name = name if len(self._tasks) < _MOST_TASKS else _OTHERS
            task = self._tasks.setdefault(name, _Task())
        return task

    def _unit_s(self) -> float:
        work_s = squares = 0.0
        for task in self._tasks.values():
            work_s += task.jobs * task.usual_s
            squares += task.jobs * task.usual_s**2
        return squares / work_s
