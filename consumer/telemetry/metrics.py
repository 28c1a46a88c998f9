"""A consumer's metrics: a listener that counts, exposed when Prometheus asks.

Observing is on the path of every job, so histograms here are plain lists of counts, filled by the
loop and turned into samples only at a scrape. No task group is ever a label.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from consumer.core import events
from consumer.core.jobs import HAND_BACK, End, Outcome
from consumer.loop.lifecycle import Consumer
from queuepool.errors.escaping import visible
from queuepool.models.places import place_text
from queuepool.telemetry.spans import in_use

_BOUNDS_S = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 900.0, 3600.0,
)  # fmt: skip
_ENDS = {end: end.name.lower() for end in End} | {End.CANCELLED: "abandon"}  # the established label
_MAX_TASKS = 200  # labels are bounded: tasks beyond are counted together


class _Histogram:
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


class ConsumerMetrics(Collector):
    """Listens to a consumer and answers scrapes."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._wait: dict[str, _Histogram] = {}
        self._process: dict[str, _Histogram] = {}
        self._turns = _Histogram()
        self._ends: Counter[tuple[str, str]] = Counter()
        self._counts = dict.fromkeys(_TEXTS, 0)

    def listen(self, event: object) -> None:
        """Count one event; those not named below are ignored."""
        if isinstance(event, events.Turned):
            self._turned(event)
        elif (counted := _COUNTED.get(type(event))) is not None:
            name, amount = counted
            self._counts[name] += amount(event)

    def _turned(self, event: events.Turned) -> None:
        self._counts["claimed"] += event.claimed
        self._counts["duplicates"] += event.duplicates
        self._turns.observe((event.seconds,))
        executions: dict[str, list[Outcome]] = {}
        for outcome in event.outcomes:
            if outcome.end is not HAND_BACK:
                executions.setdefault(outcome.task, []).append(outcome)
        for task, outcomes in executions.items():
            self._observe(task, outcomes)

    def _observe(self, task: str, outcomes: Sequence[Outcome]) -> None:
        task = visible(task)  # from a job, so untrusted: labels are read on terminals, too
        if task not in self._process and len(self._process) >= _MAX_TASKS:
            task = "other"
        process = self._process.setdefault(task, _Histogram())
        process.observe([o.ended_s - o.started_s for o in outcomes])
        wait = self._wait.setdefault(task, _Histogram())
        wait.observe([_waited_s(o) for o in outcomes])
        if in_use():
            for o in outcomes:
                if o.trace is not None:
                    process.link(o.ended_s - o.started_s, o.trace)
                    wait.link(_waited_s(o), o.trace)
        self._ends.update([(task, o.reason or _ENDS[o.end]) for o in outcomes])

    def collect(self) -> Iterator[Metric]:
        """Return the current samples."""
        number = self._consumer.partition
        partition = "" if number is None else place_text(number, self._consumer.pool)
        yield from self._gauges(partition)
        for name, text, by_task in (
            (
                "queuepool_job_wait_seconds",
                "Time from enqueue to the start of an attempt.",
                self._wait,
            ),
            (
                "queuepool_job_process_seconds",
                "Time from the start to the end of an execution.",
                self._process,
            ),
        ):
            family = HistogramMetricFamily(name, text, labels=["partition", "task"])
            for task, histogram in list(by_task.items()):
                family.add_metric([partition, task], histogram.buckets(), histogram.sum)
            yield family
        turns = HistogramMetricFamily(
            "queuepool_turn_seconds", "One round trip to the server.", labels=["partition"]
        )
        turns.add_metric([partition], self._turns.buckets(), self._turns.sum)
        yield turns
        ends = CounterMetricFamily(
            "queuepool_executions",
            "Executions by outcome.",
            labels=["partition", "task", "end"],
        )
        for (task, end), count in list(self._ends.items()):
            ends.add_metric([partition, task, end], count)
        yield ends
        for name, count in self._counts.items():
            counter = CounterMetricFamily(
                f"queuepool_consumer_{name}", _TEXTS[name], labels=["partition"]
            )
            counter.add_metric([partition], count)
            yield counter

    def _gauges(self, partition: str) -> Iterator[Metric]:
        core, workers = self._consumer.core, self._consumer.workers
        values = {
            "target": core.target if core else 0,
            "running": workers.alive if workers else 0,
            "busy": core.state.busy if core else 0,
        }
        family = GaugeMetricFamily(
            "queuepool_workers",
            "Workers by state: target, running, busy.",
            labels=["partition", "state"],
        )
        for state, value in values.items():
            family.add_metric([partition, state], value)
        yield family
        ended = CounterMetricFamily(
            "queuepool_pool_processes_ended",
            "Child processes of a process pool that ended, by cause.",
            labels=["partition", "cause"],
        )
        for cause, count in workers.replaced.copy().items() if workers else ():
            ended.add_metric([partition, cause], count)
        yield ended
        hooks = CounterMetricFamily(
            "queuepool_hook_failures",
            "Calls of hooks that failed or were skipped, by cause.",
            labels=["partition", "cause"],
        )
        for cause, count in self._consumer.hooks.failures.copy().items():
            hooks.add_metric([partition, cause], count)
        yield hooks
        owning = GaugeMetricFamily(
            "queuepool_owner", "1 if this process owns the partition.", labels=["partition"]
        )
        owning.add_metric([partition], 1 if core else 0)
        yield owning


def _waited_s(o: Outcome) -> float:
    return o.job.waited_ms / 1000 + o.started_s - o.job.claimed_s


class MetricsOfPools(Collector):
    """The metrics of several pools of one process; their `partition` is 3, 3/video."""

    def __init__(self, pools: Sequence[ConsumerMetrics]) -> None:
        self._pools = pools

    def collect(self) -> Iterator[Metric]:
        """Return the current samples, those of one metric together."""
        for families in zip(*(pool.collect() for pool in self._pools), strict=True):
            first, *others = families
            for other in others:
                first.samples += other.samples
            yield first


_COUNTED: dict[type, tuple[str, Callable[[Any], int]]] = {  # event -> counter, by how much
    events.RecoveredJobs: ("recovered", lambda event: event.result.recovered),
    events.TurnFailed: ("turn_failures", lambda _: 1),
    events.Reconciled: ("reconciled", lambda event: event.jobs),
    events.RolledBack: ("rollbacks", lambda _: 1),
    events.Resized: ("commands", lambda _: 1),
    events.CommandRefused: ("commands_refused", lambda _: 1),
    events.EvictedDead: ("evicted", lambda event: event.jobs),
}
_TEXTS = {
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
