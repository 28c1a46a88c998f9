"""Counters of a consumer that roams belong to the partition in which they were counted."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumer.core import events
from consumer.core.jobs import End
from consumer.loop.lifecycle import Consumer
from consumer.telemetry import metrics as telemetry
from consumer.telemetry.metrics import ConsumerMetrics, MetricsOfPools
from consumer.workers.hooks import HookRunner
from queuepool.tasks.registry import Registry

Samples = dict[tuple[str, ...], float]
GROWING = ("_total", "_count", "_sum", "_bucket")


class Roamer:
    """What metrics read of a consumer, and what they hear from it."""

    def __init__(self) -> None:
        self.pool, self.partition = "default", cast("int | None", None)
        self.core, self.workers = cast("Any", None), cast("Any", None)
        self.hooks = HookRunner(Registry())
        self.metrics = ConsumerMetrics(cast("Consumer", self))

    def owns(self, partition: int) -> None:
        self.partition = partition
        self.workers = SimpleNamespace(alive=1, replaced=Counter[str]())
        self.core = SimpleNamespace(target=1, state=SimpleNamespace(busy=0))
        self.metrics.listen(events.Owns(cast("Any", None), 1))

    def leaves(self) -> None:
        self.partition = self.core = self.workers = None

    def works(self, jobs: int = 1, tasks: int = 1) -> None:
        assert self.partition is not None
        job = SimpleNamespace(waited_ms=5, claimed_s=1.0)
        outcomes = [
            SimpleNamespace(
                end=End.DONE, task=f"work-{number}", reason="", job=job,
                started_s=1.0, ended_s=2.0, trace=None,
            )
            for number in range(tasks)
        ]  # fmt: skip
        turned = events.Turned(cast("Any", outcomes * jobs), jobs, 0, 0.01)
        self.metrics.listen(turned)
        self.metrics.listen(events.TurnFailed(RuntimeError(), 0.1))
        self.workers.replaced["crashed"] += jobs
        self.hooks.failures[self.partition, "raised"] += jobs

    def samples(self) -> Samples:
        families = MetricsOfPools([self.metrics]).collect()
        return {
            (sample.name, *(text for _, text in sorted(sample.labels.items()))): sample.value
            for family in families
            for sample in family.samples
        }

    def by_partition(self, name: str) -> dict[str, float]:
        """Return the samples of a metric that are not zero, by partition."""
        return {
            sample.labels["partition"]: sample.value
            for family in self.metrics.collect()
            for sample in family.samples
            if sample.name == name and sample.value
        }

    def lines(self) -> int:
        return len(self.samples())


EACH = [
    "queuepool_executions_total",
    "queuepool_consumer_claimed_total",
    "queuepool_job_wait_seconds_count",
    "queuepool_job_process_seconds_count",
    "queuepool_pool_processes_ended_total",
    "queuepool_hook_failures_total",
]


@pytest.mark.parametrize("name", EACH)
def test_what_was_done_in_a_partition_stays_there(name: str) -> None:
    consumer = Roamer()
    for partition, jobs in ((3, 2), (5, 1), (3, 4)):
        consumer.owns(partition)
        consumer.works(jobs)
        consumer.leaves()

    assert consumer.by_partition(name) == {"3": 6, "5": 1}


def test_no_series_ever_shrinks() -> None:
    draw, consumer = random.Random(7), Roamer()
    before: Samples = {}
    for _ in range(200):
        consumer.leaves()
        consumer.metrics.listen(events.TurnFailed(RuntimeError(), 0.1))  # it owns none
        consumer.owns(draw.randrange(8))
        consumer.works(draw.randrange(1, 4))
        now = consumer.samples()

        kept = {key: value for key, value in before.items() if key[0].endswith(GROWING)}
        assert all(now[key] >= value for key, value in kept.items() if value)
        before = now
    assert len({value for key, value in before.items() if key[0] == EACH[0]}) > 1


def test_gauges_are_of_the_present_partition() -> None:
    consumer = Roamer()
    for partition in (3, 5):
        consumer.owns(partition)
        consumer.works()

    assert consumer.by_partition("queuepool_owner") == {"5": 1}
    assert [key for key in consumer.samples() if key[0] == "queuepool_owner"] == [
        ("queuepool_owner", "5")
    ]
    consumer.leaves()
    assert consumer.samples()["queuepool_owner", ""] == 0


def test_a_partition_has_its_counters_as_soon_as_it_is_owned() -> None:
    consumer = Roamer()
    consumer.owns(3)

    assert consumer.samples()["queuepool_consumer_claimed_total", "3"] == 0
    assert ("queuepool_consumer_claimed_total", "") not in consumer.samples()


def test_the_partitions_that_were_owned_last_are_kept() -> None:
    consumer, most = Roamer(), telemetry.MOST_PARTITIONS
    for partition in (*range(most), 0, *range(most, most + 10)):
        consumer.owns(partition)
        consumer.works()
        consumer.leaves()

    kept = consumer.by_partition("queuepool_executions_total")

    assert kept == {"0": 2, **{str(n): 1 for n in range(11, most + 10)}}


@pytest.mark.parametrize("tasks", [1, 20, 100, 250])
def test_a_consumer_that_has_been_everywhere_exports_little_more_than_one_that_stays(
    tasks: int,
) -> None:
    stays, roams = Roamer(), Roamer()
    for partition in range(telemetry.MOST_PARTITIONS):
        roams.owns(partition)
        roams.works(tasks=tasks)
    stays.owns(telemetry.MOST_PARTITIONS - 1)
    stays.works(tasks=tasks)

    assert roams.lines() <= max(5_500, stays.lines() + 2_500)
    assert stays.samples().items() <= roams.samples().items()


def test_a_partition_that_is_left_out_meanwhile_continues_where_it_was() -> None:
    consumer, tasks = Roamer(), 200
    name = "queuepool_job_wait_seconds_count"
    exported = []
    for partition in (3, *range(10, 40), 3):
        consumer.owns(partition)
        consumer.works(tasks=tasks)
        exported.append(consumer.samples().get((name, str(partition), "work-0")))
        assert ("3" in consumer.by_partition(name)) is (partition == 3)

    assert exported == [1] * 31 + [2]


def test_failures_of_hooks_are_forgotten_with_their_partition() -> None:
    consumer, most = Roamer(), telemetry.MOST_PARTITIONS
    for partition in range(most + 10):
        consumer.owns(partition)
        consumer.works()

    assert consumer.hooks.failures == {(n, "raised"): 1 for n in range(10, most + 10)}
