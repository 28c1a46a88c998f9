"""Metrics of the partitions, from the latest snapshot: each, or if there are many, their sums.

A partition takes 2 kB of a scrape. With more of them than `most`, one row stands for all of a
pool, `partition="all"` or `"all/video"`, so that queries and alerts work with either. One that
could not be observed has no values, rather than old ones; sums of counters keep its last ones,
since a counter never falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator.core.model import PartitionView
from coordinator.snapshots.store import SnapshotStore
from queuepool.models import Owner, PartitionState, Tier
from queuepool.models.cluster import JOB_EVENTS
from queuepool.models.places import DEFAULT_POOL

MOST_SHOWN = 128
_TIERS = tuple((tier, tier.name.lower()) for tier in Tier)
Views = Callable[[], Iterable[PartitionView]]
_Values = Mapping[str, float]


class _Family(NamedTuple):
    """A metric of every partition. label: besides `partition`; empty: one value per partition.

    fold: what stands for the values of all.
    """

    kind: type[GaugeMetricFamily] | type[CounterMetricFamily]
    name: str
    meaning: str
    label: str
    values: Callable[[PartitionView, PartitionState], _Values]
    fold: Callable[[Iterable[float]], float] = sum


def _threads(owner: Owner | None) -> dict[str, int]:
    return {
        "running": 0 if owner is None else owner.workers,
        "busy": 0 if owner is None else owner.busy,
    }


_FAMILIES = (
    _Family(
        GaugeMetricFamily, "queuepool_ready_jobs", "Jobs that could run now.", "tier",
        lambda _, state: {name: state.ready[tier] for tier, name in _TIERS},
    ),
    _Family(
        GaugeMetricFamily, "queuepool_jobs", "Jobs by state.", "state",
        lambda _, state: {
            "ready": state.backlog, "held": state.held, "capped": state.capped,
            "parked": state.parked,
            "delayed": state.delayed, "in-flight": state.in_flight, "dead": state.dead,
        },
    ),
    _Family(
        GaugeMetricFamily, "queuepool_workers", "Workers by state: target, running, busy.", "state",
        lambda view, state: {"target": view.target} | _threads(state.owner),
    ),
    _Family(
        GaugeMetricFamily, "queuepool_oldest_waiting_seconds",
        "Age of the oldest waiting job; of a delayed one, since it was due.", "",
        lambda _, state: {"": state.oldest_ms / 1000},
        fold=max,
    ),
    _Family(
        GaugeMetricFamily, "queuepool_pwqd", "Per-worker queue depth: backlog / workers.", "",
        lambda _, state: {"": state.pwqd},
        fold=max,
    ),
    _Family(
        GaugeMetricFamily, "queuepool_jobs_of_unknown_tasks",
        "Delayed jobs whose task no consumer of the partition has registered.", "",
        lambda _, state: {"": state.aside},
    ),
    _Family(
        CounterMetricFamily, "queuepool_job_events", "Job events by type.", "event",
        lambda _, state: {event: state.counters.get(event, 0) for event in JOB_EVENTS},
    ),
)  # fmt: skip


class Partitions(Collector):
    """The partitions of a store, and of the other pools. most: how many are shown each."""

    def __init__(self, store: SnapshotStore, most: int = MOST_SHOWN) -> None:
        self._store, self._most = store, most
        self._counted: dict[tuple[str, str], _Values] = {}  # by family and partition, when summed
        self.pools: Views = tuple

    def collect(self) -> Iterator[Metric]:
        """Return the current samples."""
        views = (*self._store.snapshot.partitions, *self.pools())
        rows = self._each if len(views) <= self._most else self._summed
        for family in _FAMILIES:
            labels = ["partition", family.label] if family.label else ["partition"]
            metric = family.kind(family.name, family.meaning, labels=labels)
            for name, value, count in rows(family, views):
                metric.add_metric([name, value][: len(labels)], count)
            yield metric
        yield _states(views)

    def _each(
        self, family: _Family, views: Sequence[PartitionView]
    ) -> Iterator[tuple[str, str, float]]:
        for view in views:
            if view.state is not None and not view.problem:
                for value, count in family.values(view, view.state).items():
                    yield view.name, value, count

    def _summed(
        self, family: _Family, views: Sequence[PartitionView]
    ) -> Iterator[tuple[str, str, float]]:
        found: dict[str, dict[str, list[float]]] = {}
        for view in views:
            of_pool = found.setdefault(view.pool, {})
            for value, count in self._values(family, view).items():
                of_pool.setdefault(value, []).append(count)
        for pool, values in found.items():
            name = "all" if pool == DEFAULT_POOL else f"all/{pool}"
            for value, counts in values.items():
                yield name, value, family.fold(counts)

    def _values(self, family: _Family, view: PartitionView) -> _Values:
        if view.state is None or view.problem:
            return self._counted.get((family.name, view.name), {})
        values = family.values(view, view.state)
        if family.kind is CounterMetricFamily:
            self._counted[family.name, view.name] = values
        return values


def _states(views: Sequence[PartitionView]) -> Metric:
    """Return how many partitions there are, by what is the matter with them."""
    unseen = sum(view.state is None or bool(view.problem) for view in views)
    ownerless = sum(map(_lacks_an_owner, views))
    metric = GaugeMetricFamily(
        "queuepool_partitions",
        "Partitions: seen, unseen, and ownerless: seen, with work and without an owner.",
        labels=["state"],
    )
    for state, count in (
        ("seen", len(views) - unseen), ("unseen", unseen), ("ownerless", ownerless),
    ):  # fmt: skip
        metric.add_metric([state], count)
    return metric


def _lacks_an_owner(view: PartitionView) -> bool:
    state = view.state
    if state is None or view.problem or (state.owner is not None and state.owner.lease_ms > 0):
        return False
    return bool(state.backlog or state.capped or state.parked or state.in_flight or state.oldest_ms)
