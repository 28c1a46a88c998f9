"""Partitions, their owners and leaders as operators see them: frozen data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import msgspec
from msgspec import Struct

from queuepool.models.limit_use import LimitUse
from queuepool.models.work import EndedWork

JOB_EVENTS = (  # which partitions count
    "enqueued", "done", "failed", "retried", "died", "cancelled", "recovered", "fenced",
    "evicted", "discarded", "replayed",
    "duplicate", "duplicate_finish", "rollback_finish", "conflicts", "expired", "replaced",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a leader to the owner of a partition; the target is absolute."""

    id: str
    type: str
    partition: int
    target_workers: int
    reason: str
    expires_ms: int


class Owner(Struct, frozen=True, kw_only=True):
    """Who owns a partition, as last reported. host is for people; lease_ms may be negative.

    cpu, memory: percent in use of what its machine, or its container, has; None if not reported.
    version: its release, and dead_keep: how many dead jobs, and bytes of them, it keeps; empty and
    None from releases that do not report them. limits: what those let through for which jobs wait.
    work: of its jobs that ended, None if none has, or from releases that do not report it.
    to_end: an operator asked it to end.
    """

    host: str
    epoch: int
    lease_ms: int
    heartbeat_ms: int
    workers: int
    busy: int
    target: int
    applied: str
    cpu: float | None = None
    memory: float | None = None
    version: str = ""
    dead_keep: tuple[int, int] | None = None
    limits: tuple[LimitUse, ...] = ()
    work: EndedWork | None = None
    to_end: bool = False


class PartitionState(Struct, frozen=True, kw_only=True):
    """One partition as observed. ready and lanes are indexed by tier; counters only grow.

    counters: enqueued done failed retried died cancelled duplicate recovered fenced evicted
    discarded replayed duplicate_finish rollback_finish conflicts expired replaced admitted; a
    missing one is 0. `dead_bytes` is among them, and falls.
    aside: delayed jobs whose task no consumer of the partition has registered; aside_tasks: some of
    these tasks.
    held: the ready jobs that are not in `ready`, as their group is held, their task, or the whole
    partition; held_ms: since when that is held, None when it is not; held_tasks: task -> ms since
    when it is held. Jobs of a held task are in `ready` until a claim finds them. capped: those that
    wait because their group runs as many jobs as it may; parked: those that wait for their limits.
    untold: ends that batches are not told yet, and one more if a batch is due. protocol: the least
    of its owner's and of those of former owners that drain; None: there are none.
    """

    partition: int
    observed_ms: int
    ready: tuple[int, int, int, int]
    lanes: tuple[int, int, int, int]
    jobs: int
    bytes: int
    delayed: int
    in_flight: int
    dead: int
    oldest_ms: int
    books: int
    draining: int
    counters: Mapping[str, int]
    owner: Owner | None
    checkpoint: int | None
    checkpoint_ms: int | None
    last_command: str
    aside: int = 0
    aside_tasks: tuple[str, ...] = ()
    held: int = 0
    capped: int = 0
    held_ms: int | None = None
    held_tasks: Mapping[str, int] = msgspec.field(default_factory=dict)
    parked: int = 0
    untold: int = 0
    protocol: int | None = None

    @property
    def ending(self) -> int:
        """Return how many consumers end: former owners that drain, and one that was asked to."""
        return self.draining + (self.owner is not None and self.owner.to_end)

    @property
    def backlog(self) -> int:
        """Return the ready jobs that could run now."""
        return sum(self.ready)

    @property
    def pwqd(self) -> float:
        """Return the per-worker queue depth: backlog / max(workers, 1)."""
        return self.backlog / max(self.owner.workers if self.owner else 0, 1)

    @property
    def has_work(self) -> bool:
        """Return whether an owner has, or would have, something to do now."""
        claimable = self.backlog + self.capped + self.parked + self.in_flight + self.untold
        return has_work(claimable, self.oldest_ms, self.held_ms)


def has_work(claimable: int, oldest: float, held_ms: int | None) -> bool:
    """Return whether an owner has something to do now.

    claimable: jobs that are ready, capped, parked or in flight, and ends that batches are to be
    told. oldest: age of the oldest waiting job, which is a delayed one that is due if nothing else
    is there.
    """
    return claimable > 0 or (held_ms is None and oldest > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Who leads the coordinators. manual: partition -> (workers set by hand, until ms)."""

    leading: bool
    epoch: int
    now_ms: int
    lease_ms: int
    address: str
    manual: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRecord:
    """What operators set about scaling, as stored. version: 0 if nobody ever set anything.

    nonce: of the call that set it, for two that have one version after a failover. problem: why it
    cannot be read; then values are empty.
    """

    version: int = 0
    nonce: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    reason: str = ""
    at_ms: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRecord:
    """Where a keyspace has its jobs. version grows with each change.

    layout: mod or table; slots: that table; servers: where partitions are; moving: slots that are
    on their way. migration: open or sealed, of a queue that began without partitions; legacy: slots
    that are without still. homes: how many partitions there were when the first ones were to move,
    which limits keep as homes; 0: none ever were. firsts: on which servers these were, if they
    moved since. leaving: partitions on their way to other servers; arrived: slots that are there.
    former: where slots were lately. move: what is under way. unheard: servers that did not answer
    when the record was made. All as stored; see queuepool.routing.views and .moves.
    """

    version: int
    partitions: int
    layout: str
    created_ms: int
    slots: str = ""
    servers: str = ""
    moving: str = ""
    migration: str = ""
    legacy: str = ""
    homes: int = 0
    firsts: str = ""
    leaving: str = ""
    arrived: str = ""
    former: str = ""
    move: str = ""
    unheard: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found; see `audit` in docs/protocol.md.

    foreign: values of the wrong type; if there are any, other checks may have been skipped.
    unbalanced: jobs that should exist according to the counters, minus jobs stored.
    """

    unseated: int = 0
    orphan: int = 0
    hollow: int = 0
    foreign: int = 0
    miscounted: int = 0
    stray: int = 0
    unbalanced: int = 0

    @property
    def clean(self) -> bool:
        """Return whether no inconsistency was found."""
        return self == AuditReport()

    def plus(self, later: AuditReport) -> AuditReport:
        """Return the findings of this page and of another page of the same round, combined."""
        sums = {f.name: getattr(self, f.name) + getattr(later, f.name) for f in fields(self)}
        return AuditReport(**sums | {"unbalanced": later.unbalanced})
