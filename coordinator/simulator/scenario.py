"""What is simulated: streams of jobs, limits, faults, and the processes around them. Data. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from coordinator.policy import Limits

TIERS = ("critical", "high", "default", "low")
DEFAULT_TIER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Jobs that arrive all at once."""

    at_s: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Jobs that arrive at random moments, at a constant rate (Poisson)."""

    from_s: float
    until_s: float
    per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Jobs of one kind. cv: scatter of a lognormal service time; 0 is constant.

    lanes: the number of groups that its jobs are spread over. partition: None spreads the groups
    over all partitions. limit: the name of the limit that every job needs.
    """

    name: str
    arrivals: tuple[Burst | Flow, ...] = ()
    service_s: float = 0.12
    cv: float = 0.0
    tier: int = DEFAULT_TIER
    lanes: int = 1
    partition: int | None = None
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A declared limit: its jobs are parked, and occupy no worker, until they may start.

    per_s: starts a second, over all partitions. concurrency: how many run at once in a partition.
    """

    name: str
    per_s: float = math.inf
    burst: float = 1.0
    concurrency: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A limit downstream that no one declared: a job waits for it while it occupies a worker."""

    per_s: float = math.inf
    concurrency: int = 0  # 0: any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens at a time. partition: None is all of them."""

    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChanges(Event):
    """Jobs that start from now on take so long. stream: "" is every stream."""

    service_s: float
    stream: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind(Event):
    """Observations fail for a while."""

    for_s: float
    partition: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderless(Event):
    """No coordinator leads for a while; then a new one, which remembers nothing, does."""

    for_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCounts(Event):
    """What consumers report about their workers is known late, for a while."""

    for_s: float
    by_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Event):
    """The consumer of a partition dies with its jobs; another one starts after a while."""

    for_s: float
    partition: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsChange(Event):
    """The operator changes the bounds of the worker count."""

    bounds: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A whole run.

    hears_s: from a command to the resized pool. reports_s: the longest between two reports; 0
    means that its counts are always fresh. tau_s: of a checkpoint, after a restart.
    """

    name: str = ""
    streams: tuple[Stream, ...] = ()
    limits: tuple[Limit, ...] = ()
    hidden: Hidden = field(default_factory=Hidden)
    events: tuple[Event, ...] = ()
    partitions: int = 1
    bounds: Limits = field(default_factory=Limits)
    workers: int = 0  # at the start; 0: the least
    cycle_s: float = 1.0
    hears_s: float = 0.2
    reports_s: float = 0.0
    tau_s: float = 600.0
    until_s: float = 600.0
    seed: int = 0

    @property
    def first_workers(self) -> int:
        """Return the workers of each partition at the start."""
        return self.workers or self.bounds.min_workers

    @property
    def last_arrival_s(self) -> float:
        """Return when the last job arrives, 0 when none does."""
        ends = [
            arrival.at_s if isinstance(arrival, Burst) else arrival.until_s
            for stream in self.streams
            for arrival in stream.arrivals
        ]
        return max(ends, default=0.0)

    def with_everything_declared(self) -> Scenario:
        """Return the same load, where the limit downstream is declared, so that it is obeyed."""
        hidden = self.hidden
        if math.isinf(hidden.per_s) and not hidden.concurrency:
            return self
        name = "downstream"
        known = Limit(name=name, per_s=hidden.per_s, concurrency=hidden.concurrency or math.inf)
        # A job has one limit here; where it has another, that one is taken to be the narrower.
        streams = tuple(s if s.limit else replace(s, limit=name) for s in self.streams)
        return replace(self, streams=streams, limits=(*self.limits, known), hidden=Hidden())
