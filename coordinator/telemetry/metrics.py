"""Prometheus metrics of a coordinator: from its events, and from the latest snapshot.

Every coordinator exports what it observes, leader or not; a query over several takes one of
them, such as `max by (partition) (queuepool_pwqd)`. No label contains a group, key or job id; of
limits, the names of at most 100 are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator.core import events as e
from coordinator.core.planner import DOWN, UP
from coordinator.policy import Direction
from coordinator.snapshots.limits import LimitBoard
from coordinator.snapshots.moves import MoveBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.moves import Moves
from coordinator.telemetry.partitions import MOST_SHOWN, Partitions, Views
from queuepool.models import LimitStatus

_PREFIX = "queuepool_coordinator_"
_CYCLE_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_LATE_BUCKETS_S = (0.5, 1, 2, 5, 10, 30, 60, 300, 3600)
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
        moves: MoveBoard | None = None,
        *,
        most_partitions: int = MOST_SHOWN,
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
        meaning = "Recorded decisions: changes, commands, new kinds of hold."
        self._decisions = counter("decisions", meaning, "direction", Direction)
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
        self._add_schedules(registry)
        self._observed = Partitions(store, most_partitions)
        registry.register(self._observed)
        registry.register(_Limits(limits or LimitBoard()))
        registry.register(Moves(moves or MoveBoard()))

    def _add_schedules(self, registry: CollectorRegistry) -> None:
        counter = partial(_counter, registry)
        self._schedules = counter(
            "schedule_times",
            "Times of schedules that fired, were missed or overlapped.",
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
    (GaugeMetricFamily, "queuepool_limit_rate", "Starts per second that a limit allows.", _per_s),
    (
        CounterMetricFamily, "queuepool_limit_granted", "Starts granted by a limit.",
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
