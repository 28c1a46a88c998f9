"""Prometheus metrics of a coordinator: from its events, and from the newest snapshot.

Every coordinator exports what it observes, leader or not; a query over several takes one of
them, such as `max by (partition) (queuepool_pwqd)`. No label holds a group, key or job id. A
partition that could not be seen has no values, rather than old ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator import events as e
from coordinator.core.model import PartitionView
from coordinator.snapshots.board import SnapshotStore
from queuepool.models import PartitionState, Tier

_CYCLE_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
JOB_EVENTS = (
    "enqueued", "done", "failed", "retried", "died", "cancelled", "recovered", "fenced",
    "evicted", "discarded", "replayed",
    "duplicate", "duplicate_finish", "rollback_finish",
)  # fmt: skip
REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED")


class Metrics:
    """Counts events. Called on the loop's thread and the API's, read by the HTTP threads."""

    def __init__(self, registry: CollectorRegistry, board: SnapshotStore) -> None:
        prefix = "queuepool_coordinator_"
        self._leader = Gauge(f"{prefix}leader", "1 while this process leads.", registry=registry)
        self._commands = Counter(
            f"{prefix}commands", "Commands sent to consumers.", ["type"], registry=registry
        )
        self._failed = Counter(
            f"{prefix}commands_failed",
            "Commands that were refused (a newer leader) or not answered.",
            ["why"],
            registry=registry,
        )
        self._decisions = Counter(
            f"{prefix}decisions",
            "Decisions worth a record: changes, commands, new kinds of hold.",
            ["direction"],
            registry=registry,
        )
        self._unseen = Counter(
            f"{prefix}observe_failures",
            "Cycles in which a server's partitions could not be observed.",
            ["server"],
            registry=registry,
        )
        self._cycle = Histogram(
            f"{prefix}cycle_seconds",
            "How long a cycle takes, without its pause.",
            buckets=_CYCLE_BUCKETS_S,
            registry=registry,
        )
        self._broken = Counter(
            f"{prefix}turns_failed", "Turns that broke off unexpectedly.", registry=registry
        )
        self._refused = Counter(
            f"{prefix}calls_refused",
            "Calls of the gRPC API that were refused, by status code.",
            ["result"],
            registry=registry,
        )
        for result in REFUSED:
            self._refused.labels(result)
        for kind in ("SCALE_UP", "SCALE_DOWN"):
            self._commands.labels(kind)
        for direction in ("up", "down", "hold"):
            self._decisions.labels(direction)
        for why in ("refused", "unanswered"):
            self._failed.labels(why)
        registry.register(_Observed(board))

    def __call__(self, event: object) -> None:
        """Count one event."""
        match event:
            case e.CycleEnded(seconds, snapshot):
                self._cycle.observe(seconds)
                self._leader.set(snapshot.leading)
            case e.CommandSent(order, _):
                self._commands.labels(order.type).inc()
            case e.CommandRefused():
                self._failed.labels("refused").inc()
            case e.CommandFailed():
                self._failed.labels("unanswered").inc()
            case e.Decided(ruling):
                self._decisions.labels(ruling.direction).inc()
            case e.ObservationFailed(server, _, _):
                self._unseen.labels(server).inc()
            case e.LeadLost():
                self._leader.set(0)
            case e.CallRefused(result):
                self._refused.labels(result).inc()
            case e.TurnFailed():
                self._broken.inc()
            case _:
                pass


class _Observed(Collector):
    """The partitions, as the newest snapshot has them."""

    def __init__(self, board: SnapshotStore) -> None:
        self._board = board

    def collect(self) -> Iterable[Metric]:
        views = [
            v for v in self._board.snapshot.partitions if v.state is not None and not v.problem
        ]
        ready = GaugeMetricFamily(
            "queuepool_ready_jobs", "Jobs that could run now.", labels=["partition", "tier"]
        )
        jobs = GaugeMetricFamily("queuepool_jobs", "Jobs by state.", labels=["partition", "state"])
        workers = GaugeMetricFamily(
            "queuepool_workers",
            "Workers wanted, alive, and with a job.",
            labels=["partition", "state"],
        )
        oldest = GaugeMetricFamily(
            "queuepool_oldest_waiting_seconds",
            "Age of the oldest waiting job.",
            labels=["partition"],
        )
        pwqd = GaugeMetricFamily(
            "queuepool_pwqd", "Per-worker queue depth: backlog / workers.", labels=["partition"]
        )
        aside = GaugeMetricFamily(
            "queuepool_jobs_of_unknown_tasks",
            "Delayed jobs whose task no consumer of the partition knows.",
            labels=["partition"],
        )
        events = CounterMetricFamily(
            "queuepool_job_events", "What has happened to jobs.", labels=["partition", "event"]
        )
        for view in views:
            state = view.state
            if state is None:
                continue
            number = str(view.partition)
            for tier in Tier:
                ready.add_metric([number, tier.name.lower()], state.ready[tier])
            for name, count in _by_state(state).items():
                jobs.add_metric([number, name], count)
            for kind, count in _workers(view, state).items():
                workers.add_metric([number, kind], count)
            oldest.add_metric([number], state.oldest_ms / 1000)
            pwqd.add_metric([number], state.pwqd)
            aside.add_metric([number], state.aside)
            for event in JOB_EVENTS:
                events.add_metric([number, event], state.counters.get(event, 0))
        yield from (ready, jobs, workers, oldest, pwqd, aside, events)


def _by_state(state: PartitionState) -> dict[str, int]:
    return {
        "ready": state.backlog,
        "delayed": state.delayed,
        "in-flight": state.in_flight,
        "dead": state.dead,
    }


def _workers(view: PartitionView, state: PartitionState) -> dict[str, int]:
    owner = state.owner
    return {
        "target": view.target,
        "running": owner.workers if owner is not None else 0,
        "busy": owner.busy if owner is not None else 0,
    }
