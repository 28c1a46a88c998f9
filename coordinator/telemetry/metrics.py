"""Prometheus metrics of a coordinator: from its events, and from the latest snapshot.

Every coordinator exports what it observes, leader or not; a query over several takes one of
them, such as `max by (partition) (queuepool_pwqd)`. No label contains a group, key or job id; of
limits, the names of at most 100 are shown. A partition that could not be observed has no values,
rather than old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator import events as e
from coordinator.core.model import PartitionView
from coordinator.core.planner import DOWN, UP
from coordinator.policy import Direction
from coordinator.snapshots.limits import LimitBoard
from coordinator.snapshots.store import SnapshotStore
from queuepool.models import LimitStatus, Owner, PartitionState, Tier

_PREFIX = "queuepool_coordinator_"
_CYCLE_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_LATE_BUCKETS_S = (0.5, 1, 2, 5, 10, 30, 60, 300, 3600)
JOB_EVENTS = (
    "enqueued", "done", "failed", "retried", "died", "cancelled", "recovered", "fenced",
    "evicted", "discarded", "replayed",
    "duplicate", "duplicate_finish", "rollback_finish", "conflicts", "expired", "replaced",
)  # fmt: skip
Views = Callable[[], Iterable[PartitionView]]
REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED")


def _counter(
    registry: CollectorRegistry,
    name: str,
    meaning: str,
    label: str = "",
    values: Iterable[str] = (),
) -> Counter:
    """Return a counter. values: of its label, which it shows from the start, as 0."""
    made = Counter(_PREFIX + name, meaning, [label] if label else [], registry=registry)
    for value in values:
        made.labels(value)
    return made


class Metrics:
    """Counts events. Called on the loop's thread and the API's, read by the HTTP threads."""

    def __init__(
        self,
        registry: CollectorRegistry,
        store: SnapshotStore,
        limits: LimitBoard | None = None,
    ) -> None:
        counter = partial(_counter, registry)
        self._leader = Gauge(f"{_PREFIX}leader", "1 while this process leads.", registry=registry)
        self._commands = counter("commands", "Commands sent to consumers.", "type", (UP, DOWN))
        self._failed = counter(
            "commands_failed",
            "Commands rejected because of a newer leader, or without a reply.",
            "why",
            ("refused", "unanswered"),
        )
        self._decisions = counter(
            "decisions",
            "Recorded decisions: changes, commands, new kinds of hold.",
            "direction",
            Direction,
        )
        self._unseen = counter(
            "observe_failures",
            "Cycles in which a server's partitions could not be observed.",
            "server",
        )
        self._cycle = Histogram(
            f"{_PREFIX}cycle_seconds",
            "Duration of a cycle, without its pause.",
            buckets=_CYCLE_BUCKETS_S,
            registry=registry,
        )
        self._broken = counter("turns_failed", "Passes that failed unexpectedly.")
        meaning = "Rejected calls of the gRPC API, by status code."
        self._refused = counter("calls_refused", meaning, "result", REFUSED)
        self._schedules = counter(
            "schedule_times",
            "Times of schedules that fired, or passed without a job.",
            "outcome",
            ("fired", "missed", "overlapped"),
        )
        self._unfired = counter("schedule_failures", "Problems that kept schedules from firing.")
        self._late = Histogram(
            f"{_PREFIX}schedule_late_seconds",
            "How long after its time the job of a schedule was enqueued.",
            buckets=_LATE_BUCKETS_S,
            registry=registry,
        )
        self._observed = _Observed(store)
        registry.register(self._observed)
        registry.register(_Limits(limits or LimitBoard()))

    def __call__(self, event: object) -> None:
        """Count one event."""
        match event:
            case e.CycleEnded(seconds, snapshot):
                self._cycle.observe(seconds)
                self._leader.set(snapshot.leading)
            case e.CommandSent(command, _):
                self._commands.labels(command.type).inc()
            case e.CommandRefused():
                self._failed.labels("refused").inc()
            case e.CommandFailed():
                self._failed.labels("unanswered").inc()
            case e.Decided(decision):
                self._decisions.labels(decision.direction).inc()
            case e.ObservationFailed(server, _, _):
                self._unseen.labels(server).inc()
            case e.LeadLost():
                self._leader.set(0)
            case e.CallRefused(result):
                self._refused.labels(result).inc()
            case e.TurnFailed():
                self._broken.inc()
            case e.ScheduleFired() | e.SchedulePassed() | e.ScheduleFailed():
                self._count_schedule(event)
            case _:
                pass

    def _count_schedule(self, event: e.ScheduleFired | e.SchedulePassed | e.ScheduleFailed) -> None:
        match event:
            case e.ScheduleFired(_, _, late_s):
                self._schedules.labels("fired").inc()
                self._late.observe(late_s)
            case e.SchedulePassed(_, why, count):
                self._schedules.labels(why).inc(count)
            case e.ScheduleFailed():
                self._unfired.inc()

    def show(self, pools: Views) -> None:
        """Export the partitions' other pools, too. pools: returns them as last observed."""
        self._observed.pools = pools

    def of_pool(self, event: object) -> None:
        """Count one event of another pool: what it decided and sent, with those of the default."""
        if isinstance(event, (e.CommandSent, e.CommandRefused, e.CommandFailed, e.Decided)):
            self(event)


class _Family(NamedTuple):
    """A metric of every partition. label: besides `partition`; empty: one value per partition."""

    kind: type[GaugeMetricFamily] | type[CounterMetricFamily]
    name: str
    meaning: str
    label: str
    values: Callable[[PartitionView, PartitionState], Mapping[str, float]]


def _threads(owner: Owner | None) -> dict[str, int]:
    return {
        "running": 0 if owner is None else owner.workers,
        "busy": 0 if owner is None else owner.busy,
    }


_FAMILIES = (
    _Family(
        GaugeMetricFamily, "queuepool_ready_jobs", "Jobs that could run now.", "tier",
        lambda _, state: {tier.name.lower(): state.ready[tier] for tier in Tier},
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
        GaugeMetricFamily, "queuepool_workers", "Workers wanted, alive, and with a job.", "state",
        lambda view, state: {"target": view.target} | _threads(state.owner),
    ),
    _Family(
        GaugeMetricFamily, "queuepool_oldest_waiting_seconds",
        "Age of the oldest waiting job; of a delayed one, since it was due.", "",
        lambda _, state: {"": state.oldest_ms / 1000},
    ),
    _Family(
        GaugeMetricFamily, "queuepool_pwqd", "Per-worker queue depth: backlog / workers.", "",
        lambda _, state: {"": state.pwqd},
    ),
    _Family(
        GaugeMetricFamily, "queuepool_jobs_of_unknown_tasks",
        "Delayed jobs whose task no consumer of the partition knows.", "",
        lambda _, state: {"": state.aside},
    ),
    _Family(
        CounterMetricFamily, "queuepool_job_events", "Job events by type.", "event",
        lambda _, state: {event: state.counters.get(event, 0) for event in JOB_EVENTS},
    ),
)  # fmt: skip


class _Observed(Collector):
    """The partitions, from the latest snapshot."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store
        self.pools: Views = tuple

    def collect(self) -> Iterable[Metric]:
        everything = (*self._store.snapshot.partitions, *self.pools())
        views = [view for view in everything if not view.problem]
        for family in _FAMILIES:
            labels = ["partition", family.label] if family.label else ["partition"]
            metric = family.kind(family.name, family.meaning, labels=labels)
            for view in views:
                if view.state is not None:
                    for value, count in family.values(view, view.state).items():
                        metric.add_metric([view.name, value][: len(labels)], count)
            yield metric


def _per_s(limit: LimitStatus) -> float | None:
    known = limit.effective
    return None if known is None or limit.pace is None else limit.pace / known.per_s


_OF_LIMITS: tuple[
    tuple[
        type[GaugeMetricFamily] | type[CounterMetricFamily],
        str,
        str,
        Callable[[LimitStatus], float | None],
    ],
    ...,
] = (
    (GaugeMetricFamily, "queuepool_limit_rate", "Starts that a limit allows per second.", _per_s),
    (
        CounterMetricFamily, "queuepool_limit_granted", "Starts that a limit granted.",
        lambda limit: limit.granted,
    ),
    (
        GaugeMetricFamily, "queuepool_limit_paused", "1 while a limit is paused.",
        lambda limit: limit.paused,
    ),
)  # fmt: skip


class _Limits(Collector):
    """The limits that were seen last."""

    def __init__(self, board: LimitBoard) -> None:
        self._board = board

    def collect(self) -> Iterable[Metric]:
        seen = self._board.seen
        for kind, name, meaning, value_of in _OF_LIMITS:
            metric = kind(name, meaning, labels=["limit"])
            for limit in seen:
                if (value := value_of(limit)) is not None:
                    metric.add_metric([limit.name], value)
            yield metric
