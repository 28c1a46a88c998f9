"""Jobs and groups as applications see them: frozen, printable data. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum, StrEnum
from typing import Any, NewType

from queuepool.errors.escaping import key_text, visible
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.models.spread import unmarked
from queuepool.models.tenants import key_in, tenant_text

JobId = NewType("JobId", str)


def group_text(group: bytes) -> str:
    """Return the displayed name of a task group: its key, or the hash of a long one.

    Before that its tenant, if it has one: acme:42.
    """
    tenant = tenant_text(group)
    if tenant is not None:
        return f"{visible(tenant)}:{group_text(key_in(group))}"
    try:
        text = unmarked(group).decode()
    except UnicodeDecodeError:
        return group.hex()
    return text if text.isprintable() else group.hex()


def in_words(record: Any, names: Iterable[str]) -> str:
    """Return a readable repr: names for enums and groups, without empty defaults."""
    parts = []
    for name in names:
        value = getattr(record, name)
        if value is None or value is False:
            continue
        if name == "group":
            value = group_text(value)
        elif isinstance(value, (IntEnum, StrEnum)):
            value = str(value)
        parts.append(f"{name}={value!r}")
    return f"{type(record).__name__}({', '.join(parts)})"


class Tier(IntEnum):
    """Priority tier of a job; a lower number gets more weight."""

    CRITICAL = 0
    HIGH = 1
    DEFAULT = 2
    LOW = 3

    def __str__(self) -> str:
        return self.name.lower()


class Durability(StrEnum):
    """What must happen before an enqueue is acknowledged; see docs/lifecycle.md."""

    FAST = "fast"  # the primary executed it
    REPLICATED = "replicated"  # enough replicas have it, too
    FSYNCED = "fsynced"  # the primary has written it to its disk


class JobState(StrEnum):
    """Where a job is. UNKNOWN: it ended before the retention period, or was never accepted."""

    READY = "ready"
    PARKED = "parked"  # ready, but a limit lets no job start now
    DELAYED = "delayed"
    IN_FLIGHT = "in-flight"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # it was to start sooner
    UNKNOWN = "unknown"


class EnqueueStatus(StrEnum):
    """The outcome of one job of an enqueue call."""

    ACCEPTED = "accepted"
    # The id was accepted before; nothing changed. With your own id, that may have been an
    # earlier attempt of this same call whose reply was lost.
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"  # not enqueued: the job of this id, not ended, has its unique key
    REPLACED = "replaced"  # the job of this id, which has its unique key, waits with this payload
    REJECTED = "rejected"  # not enqueued: a partition was full, or the call ended before its turn
    UNKNOWN = "unknown"  # sent, not answered or not confirmed: enqueue it again with the same id


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRecord:
    """Why an attempt failed.

    reason: failed, permanent, timeout, bad-payload, bad-result, crashed, undecodable or
    unknown-task.
    """

    reason: str
    type: str = ""
    message: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Where a job is and what is known about it; parts that do not apply are None.

    at_ms: due when delayed, start when in flight (None while it only waits in a consumer's
    memory), death when dead. attempts counts the failed ones. slot: of its partition key.
    pool: where it runs, unless that is the default one.
    """

    job_id: JobId
    state: JobState
    partition: int
    task: str | None = None
    tier: Tier | None = None
    group: bytes | None = None
    slot: int | None = None
    enqueued_ms: int | None = None
    at_ms: int | None = None
    attempts: int = 0
    crashes: int = 0
    error: ErrorRecord | None = None
    progress: str | None = None
    result: Any = None
    cancel_requested: bool = False
    pool: str | None = None

    @property
    def tenant(self) -> str | None:
        """Return the tenant, if the job has one."""
        return None if self.group is None else tenant_text(self.group)

    def __repr__(self) -> str:
        """Return what is known as text, without the parts that do not apply."""
        return in_words(self, [f.name for f in fields(self)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    r"""A dead job as listed: what it was and why it died. payload is None when undecodable.

    A damaged job_id is text with \xHH escapes, which both pools accept. long_key: the partition
    key, if it was too long to be the group; a very long one is cut.
    """

    job_id: JobId
    partition: int
    died_ms: int
    task: str
    group: bytes
    attempts: int
    crashes: int
    error: ErrorRecord
    payload: Mapping[str, Any] | None
    body: bytes = field(repr=False, default=b"")
    long_key: str | None = field(repr=False, default=None)
    pool: str = field(repr=False, default=DEFAULT_POOL)

    @property
    def place(self) -> str:
        """Return the name of the partition, or of its pool: 3, or 3/video."""
        return place_text(self.partition, self.pool)

    @property
    def key(self) -> str:
        r"""Return the partition key as text that commands accept: with \xHH for odd bytes."""
        return self.long_key or key_text(key_in(self.group))

    @property
    def tenant(self) -> str | None:
        """Return the tenant, if the job has one."""
        return tenant_text(self.group)

    def __repr__(self) -> str:
        return in_words(self, [f.name for f in fields(self) if f.repr])


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay did.

    kept_out: jobs that stay dead, as others hold their unique keys, or their groups are on their
    way to another partition.
    """

    replayed: int
    kept_out: tuple[JobId, ...] = ()


_SUMMED = (
    *("total", "ready", "delayed", "in_flight", "done", "dead", "cancelled", "evicted"),
    *("discarded", "expired", "parked"),
)


def total_of(pools: Iterable[GroupStatus]) -> GroupStatus:
    """Return the totals of a group, given those in the pools of its partition."""
    found = list(pools)
    total, *others = [each for each in found if each.total] or found[:1]
    for each in others:
        total = total.plus(each)
    return total


def parts_together(parts: Sequence[GroupStatus]) -> GroupStatus:
    """Return the totals of a group, given those of the parts that it is spread over."""
    total, *others = parts
    for each in others:
        total = total.plus(each)
    bounds = [each.max_running for each in parts]
    if others and all(bounds):
        total = replace(total, max_running=sum(bound for bound in bounds if bound))
    return total


def _latest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """Totals of a task group by state; total = the sum of all the others.

    Dead jobs that are no longer kept are `evicted` (a limit was reached) or `discarded` (by an
    operator). Nothing is inferred: a job is `done` when its success was recorded. held_ms: since
    when the group is held, so that its ready jobs wait; None: it is not. max_running: how many
    jobs may run at once, None for any number; serial: one at a time, in order; weight: its share of
    turns beside 1 of other groups. parked: jobs that wait for their limits. tier: the one whose
    turns its jobs have, None: each has those of its own. spread: over how many slots it is spread.
    """

    total: int
    ready: int
    delayed: int
    in_flight: int
    done: int
    dead: int
    cancelled: int
    created_ms: int | None = None
    finished_ms: int | None = None
    evicted: int = 0
    discarded: int = 0
    expired: int = 0
    held_ms: int | None = None
    max_running: int | None = None
    serial: bool = False
    weight: int = 1
    parked: int = 0
    tier: Tier | None = None
    spread: int = 1

    def plus(self, other: GroupStatus) -> GroupStatus:
        """Return the totals of two pools of one partition together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        both = (self, other)
        finished = None if self.left or other.left else _latest(g.finished_ms for g in both)
        return GroupStatus(
            **sums,
            created_ms=min((g.created_ms for g in both if g.created_ms), default=None),
            finished_ms=finished,
            held_ms=min((g.held_ms for g in both if g.held_ms), default=None),
            max_running=_latest(g.max_running for g in both),
            serial=self.serial or other.serial,
            weight=max(self.weight, other.weight),
            tier=other.tier if self.tier is None else self.tier,
            spread=max(self.spread, other.spread),
        )

    @property
    def is_known(self) -> bool:
        """Return whether its partition has a record of it."""
        return self.created_ms is not None or self.total > 0 or self.has_settings

    @property
    def has_settings(self) -> bool:
        """Return whether it is held, bounded or serial, or has another weight or a tier."""
        bounded = self.max_running is not None or self.serial or self.held_ms is not None
        return bounded or self.weight != 1 or self.tier is not None

    @property
    def left(self) -> int:
        """Return how many jobs have not ended: they are ready, parked, delayed or in flight."""
        return self.ready + self.parked + self.delayed + self.in_flight

    @property
    def died(self) -> int:
        """Return how many jobs died and were not replayed: dead, evicted or discarded."""
        return self.dead + self.evicted + self.discarded

    @property
    def progress(self) -> float:
        """Return the share of jobs that ended, 0.0 to 1.0; 1.0 for a group without jobs."""
        return 1.0 if self.total == 0 else (self.total - self.left) / self.total
