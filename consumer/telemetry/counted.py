"""What a consumer counted in one partition. No task group is ever a label.

Observing is on the path of every job, so histograms here are plain lists of counts, filled by the
loop and turned into samples only at a scrape.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client.samples import Exemplar

from consumer.core import events
from consumer.core.jobs import HAND_BACK, End, Outcome
from queuepool.errors.escaping import visible
from queuepool.telemetry.spans import in_use

_BOUNDS_S = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 900.0, 3600.0,
)  # fmt: skip
_ENDS = {end: end.name.lower() for end in End} | {End.CANCELLED: "abandon"}  # the established label
_OF_HISTOGRAM = len(_BOUNDS_S) + 3  # series: a bucket for what is beyond, the sum and the count
_MAX_TASKS = 200  # labels are bounded: tasks beyond are counted together


class Histogram:
    """Counts of buckets, and for each the latest value that a trace shows, if one does."""

    __slots__ = ("counts", "linked", "sum")

    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(_BOUNDS_S) + 1), 0.0
        self.linked: dict[int, Exemplar] = {}

    def observe(self, seconds: Sequence[float]) -> None:
        counts = self.counts
        for value in seconds:
            counts[bisect_left(_BOUNDS_S, value)] += 1
        self.sum += sum(seconds)

    def link(self, value: float, ids: tuple[str, str]) -> None:
        """Note the trace and span that show how a value came about."""
        labels = {"trace_id": ids[0], "span_id": ids[1]}
        self.linked[bisect_left(_BOUNDS_S, value)] = Exemplar(labels, value, time.time())

    def buckets(self) -> list[Any]:
        total, rows = 0, list[Any]()
        for bound, count in zip((*_BOUNDS_S, float("inf")), self.counts, strict=True):
            total += count
            text = "+Inf" if bound == float("inf") else str(bound)
            rows.append((text, float(total), self.linked.get(len(rows))))
        return rows


class Counted:
    """Counts of one partition, which only grow. `count` is for the loop, the rest for scrapes."""

    def __init__(self) -> None:
        self.wait: dict[str, Histogram] = {}
        self.process: dict[str, Histogram] = {}
        self.turns = Histogram()
        self.ends: Counter[tuple[str, str]] = Counter()
        self.counts = dict.fromkeys(TEXTS, 0)
        self._processes_ended = Counter[str](), Counter[str]()  # of earlier workers, of the present

    def count(self, event: object) -> None:
        """Count one event; those not named below are ignored."""
        if isinstance(event, events.Turned):
            self._turned(event)
        elif (counted := _COUNTED.get(type(event))) is not None:
            name, amount = counted
            self.counts[name] += amount(event)

    def follow(self, processes_ended: Counter[str]) -> None:
        """Count what new workers count from now on, after the earlier ones."""
        self._processes_ended = self.processes_ended(), processes_ended

    def processes_ended(self) -> Counter[str]:
        """Return how many child processes ended, by cause."""
        earlier, present = self._processes_ended
        return earlier + present.copy()

    def histogram_series(self) -> int:
        """Return how many series the histograms have."""
        return _OF_HISTOGRAM * (len(self.wait) + len(self.process) + 1)

    def counter_series(self) -> int:
        """Return about how many series the counters have: few have a cause."""
        return len(self.ends) + len(self.counts)

    def _turned(self, event: events.Turned) -> None:
        self.counts["claimed"] += event.claimed
        self.counts["duplicates"] += event.duplicates
        self.turns.observe((event.seconds,))
        executions: dict[str, list[Outcome]] = {}
        for outcome in event.outcomes:
            if outcome.end is not HAND_BACK:
                executions.setdefault(outcome.task, []).append(outcome)
        for task, outcomes in executions.items():
            self._observe(task, outcomes)

    def _observe(self, task: str, outcomes: Sequence[Outcome]) -> None:
        task = visible(task)  # from a job, so untrusted: labels are read on terminals, too
        if task not in self.process and len(self.process) >= _MAX_TASKS:
            task = "other"
        process = self.process.setdefault(task, Histogram())
        process.observe([o.ended_s - o.started_s for o in outcomes])
        wait = self.wait.setdefault(task, Histogram())
        wait.observe([_waited_s(o) for o in outcomes])
        if in_use():
            for o in outcomes:
                if o.trace is not None:
                    process.link(o.ended_s - o.started_s, o.trace)
                    wait.link(_waited_s(o), o.trace)
        self.ends.update([(task, o.reason or _ENDS[o.end]) for o in outcomes])


def _waited_s(o: Outcome) -> float:
    return o.job.waited_ms / 1000 + o.started_s - o.job.claimed_s


_COUNTED: dict[type, tuple[str, Callable[[Any], int]]] = {  # event -> counter, by how much
    events.RecoveredJobs: ("recovered", lambda event: event.result.recovered),
    events.TurnFailed: ("turn_failures", lambda _: 1),
    events.Reconciled: ("reconciled", lambda event: event.jobs),
    events.RolledBack: ("rollbacks", lambda _: 1),
    events.Resized: ("commands", lambda _: 1),
    events.CommandRefused: ("commands_refused", lambda _: 1),
    events.EvictedDead: ("evicted", lambda event: event.jobs),
}
TEXTS = {
    "claimed": "Jobs claimed.",
    "duplicates": "Jobs whose end had already been recorded.",
    "recovered": "Jobs of dead owners returned to their lanes.",
    "turn_failures": "Turns without a reply from the server.",
    "reconciled": "Jobs handed back because the reply to their claim was lost.",
    "rollbacks": "Failovers in which the server lost confirmed writes.",
    "commands": "Commands obeyed.",
    "commands_refused": "Commands refused.",
    "evicted": "Dead jobs deleted because a limit was reached.",
}
