"""Metrics of partitions: each one, or their sums if there are many."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as changed
from prometheus_client import CollectorRegistry, generate_latest

from coordinator.core.model import PartitionView
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.partitions import Partitions
from queuepool.models import Owner
from tests.unit.coordinator.observed import owner, state


def view(number: int, backlog: int = 0, done: int = 0, *, pool: str = "default") -> PartitionView:
    seen = state(owner(8, busy=2), partition=number, backlog=backlog, done=done)
    return PartitionView(
        partition=number, server="main", state=seen, seen_s=1.0, problem="", finished_per_s=0.0,
        target=8, manual_until_ms=None, pool=pool,
    )  # fmt: skip


class Shown:
    """What a scrape shows of some partitions."""

    def __init__(self, most: int) -> None:
        self.store, self.registry = SnapshotStore(), CollectorRegistry()
        self.registry.register(Partitions(self.store, most))

    def of(self, *views: PartitionView) -> None:
        self.store.publish(replace(self.store.snapshot, partitions=views))

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


def test_few_partitions_are_shown_each_and_many_as_their_sum() -> None:
    few, many = Shown(2), Shown(1)
    for shown in (few, many):
        shown.of(view(0, backlog=5), view(1, backlog=7))

    ready = "queuepool_jobs"
    assert few.value(ready, partition="1", state="ready") == 7
    assert few.value(ready, partition="all", state="ready") is None
    assert many.value(ready, partition="all", state="ready") == 12
    assert many.value(ready, partition="1", state="ready") is None
    assert many.value("queuepool_workers", partition="all", state="busy") == 4
    assert many.value("queuepool_pwqd", partition="all") == 7 / 8, "of the fullest"


def test_each_pool_has_a_sum_of_its_own() -> None:
    shown = Shown(1)
    shown.of(view(0, backlog=5), view(0, backlog=9, pool="video"), view(1, backlog=1, pool="video"))

    assert shown.value("queuepool_jobs", partition="all", state="ready") == 5
    assert shown.value("queuepool_jobs", partition="all/video", state="ready") == 10


def test_a_sum_of_counters_does_not_fall_while_a_partition_is_not_seen() -> None:
    shown = Shown(1)
    shown.of(view(0, done=5), view(1, done=7))
    assert shown.value("queuepool_job_events_total", partition="all", event="done") == 12

    shown.of(view(0, done=6), changed(view(1), state=None, problem="main: no answer"))

    assert shown.value("queuepool_job_events_total", partition="all", event="done") == 13
    assert shown.value("queuepool_workers", partition="all", state="busy") == 2, "what is seen"


def test_partitions_with_work_and_without_an_owner_are_counted() -> None:
    shown = Shown(200)
    gone: Owner = owner(8, lease_ms=-1)
    orphan, idle = (changed(view(n), state=state(gone, backlog=n)) for n in (3, 0))
    shown.of(view(0, backlog=5), orphan, idle, changed(view(4), problem="main: no answer"))

    found = {
        name: shown.value("queuepool_partitions", state=name)
        for name in ("seen", "unseen", "ownerless")
    }
    assert found == {"seen": 3, "unseen": 1, "ownerless": 1}


def test_a_scrape_of_4_000_partitions_is_small_and_one_of_128_fits_in_300_kb() -> None:
    many, whole = Shown(128), Shown(128)
    many.of(*(view(n, backlog=n, done=10**6) for n in range(4_000)))
    whole.of(*(view(n, backlog=n, done=10**6) for n in range(128)))

    assert len(generate_latest(many.registry)) < 10_000
    assert 100_000 < len(generate_latest(whole.registry)) < 300_000
