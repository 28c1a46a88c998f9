"""A consumer's metrics: a listener that counts, exposed when Prometheus asks.

A consumer may own one partition after the other. Counters and histograms have the partition in
which they were counted, so that each series only grows; gauges have the present one.

Each partition has series for each of its tasks, so a scrape shows only those of the partitions that
were owned last. One that is owned again is shown again, and has gone on from its old values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from consumer.core import events
from consumer.loop.lifecycle import Consumer
from consumer.telemetry.counted import TEXTS, Counted
from queuepool.models.places import place_text

MOST_PARTITIONS = 128  # that are kept: those that were owned last
MOST_SERIES = 2_500  # of counters that a scrape shows, and as many of histograms
_Seen = Sequence[tuple[int | None, str, Counted]]  # with the text of the label


class ConsumerMetrics(Collector):
    """Listens to a consumer and answers scrapes."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._counted: dict[int | None, Counted] = {}  # replaced as a whole: scrapes read it

    def listen(self, event: object) -> None:
        """Count one event for the partition that is owned now."""
        number = self._consumer.partition
        counted = self._counted.get(number)
        if counted is None or isinstance(event, events.Owns):
            counted = self._arrive(number)
        counted.count(event)

    def _arrive(self, number: int | None) -> Counted:
        counted = self._counted.get(number) or Counted()
        if self._consumer.workers is not None:
            counted.follow(self._consumer.workers.replaced)
        others = [pair for pair in self._counted.items() if pair[0] != number]
        self._counted = dict([*others[1 - MOST_PARTITIONS :], (number, counted)])
        if len(others) >= MOST_PARTITIONS:
            self._consumer.hooks.forget_all_but(self._counted)
        return counted

    def _seen(self) -> _Seen:
        """Return what was counted, that of the present partition last."""
        now, counted = self._consumer.partition, self._counted
        order = [*(number for number in counted if number != now), now]
        return [(number, self._label(number), counted.get(number) or Counted()) for number in order]

    def _label(self, number: int | None) -> str:
        return "" if number is None else place_text(number, self._consumer.pool)

    def collect(self) -> Iterator[Metric]:
        """Return the current samples."""
        seen = self._seen()
        yield from self._gauges(self._label(self._consumer.partition))
        yield from _histograms(_latest(seen, Counted.histogram_series))
        yield from self._counters(_latest(seen, Counted.counter_series))

    def _counters(self, seen: _Seen) -> Iterator[Metric]:
        ends = CounterMetricFamily(
            "queuepool_executions", "Executions by outcome.", labels=["partition", "task", "end"]
        )
        processes = CounterMetricFamily(
            "queuepool_pool_processes_ended",
            "Child processes of a process pool that ended, by cause.",
            labels=["partition", "cause"],
        )
        hooks = CounterMetricFamily(
            "queuepool_hook_failures",
            "Calls of hooks that failed or were skipped, by cause.",
            labels=["partition", "cause"],
        )
        labels = {number: partition for number, partition, _ in seen}
        for (number, cause), count in self._consumer.hooks.failures.copy().items():
            if number in labels:
                hooks.add_metric([labels[number], cause], count)
        for _, partition, counted in seen:
            for (task, end), count in list(counted.ends.items()):
                ends.add_metric([partition, task, end], count)
            for cause, count in counted.processes_ended().items():
                processes.add_metric([partition, cause], count)
        yield from (ends, processes, hooks)
        for name, text in TEXTS.items():
            family = CounterMetricFamily(f"queuepool_consumer_{name}", text, labels=["partition"])
            for _, partition, counted in seen:
                family.add_metric([partition], counted.counts[name])
            yield family

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
        owning = GaugeMetricFamily(
            "queuepool_owner", "1 if this process owns the partition.", labels=["partition"]
        )
        owning.add_metric([partition], 1 if core else 0)
        yield owning


def _latest(seen: _Seen, series: Callable[[Counted], int]) -> _Seen:
    """Return the last of them, as many as may have so many series; at least the very last. Pure."""
    first, total = len(seen) - 1, series(seen[-1][2])
    while first and (total := total + series(seen[first - 1][2])) <= MOST_SERIES:
        first -= 1
    return seen[first:]


def _histograms(seen: _Seen) -> Iterator[Metric]:
    wait = HistogramMetricFamily(
        "queuepool_job_wait_seconds",
        "Time from enqueue to the start of an attempt.",
        labels=["partition", "task"],
    )
    process = HistogramMetricFamily(
        "queuepool_job_process_seconds",
        "Time from the start to the end of an execution.",
        labels=["partition", "task"],
    )
    turns = HistogramMetricFamily(
        "queuepool_turn_seconds", "One round trip to the server.", labels=["partition"]
    )
    for _, partition, counted in seen:
        for family, by_task in ((wait, counted.wait), (process, counted.process)):
            for task, histogram in list(by_task.items()):
                family.add_metric([partition, task], histogram.buckets(), histogram.sum)
        turns.add_metric([partition], counted.turns.buckets(), counted.turns.sum)
    yield from (wait, process, turns)


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
