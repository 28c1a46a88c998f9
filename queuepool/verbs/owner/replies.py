"""What owners send and receive: their ownership, and the typed replies of their verbs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field, structs

from queuepool.models import Command
from queuepool.models.places import DEFAULT_POOL, partition_at, place_text


class Ownership(Struct, frozen=True):
    """The ownership of one partition: what every write of the owner carries.

    server: the name of the one that it was acquired on, "" if unknown.
    """

    partition: int
    nonce: str
    epoch: int
    pool: str = DEFAULT_POOL
    server: str = ""

    def __str__(self) -> str:
        return f"partition {place_text(self.partition, self.pool)}"

    @property
    def asker(self) -> int | str:
        """Return how the homes of limits know the place; see asker_at."""
        return asker_at(self.partition, self.pool, self.server)

    def rotated(self) -> Ownership:
        """Return the same ownership under its next nonce, which `rotate_nonce` activates."""
        stem, _, number = self.nonce.partition(".")
        return structs.replace(self, nonce=f"{stem}.{int(number or 0) + 1}")


def asker_at(partition: int, pool: str, server: str) -> int | str:
    """Return how the homes of limits know a partition, or a pool of it, on a server.

    Epochs are compared there, so it is the same for all ownerships of one keyspace, and differs
    between two of which each may have an owner: 3@main, and 3@big to which it moves. It is 3 where
    the server is unknown.
    """
    number = partition_at(partition) if server else partition
    name = number if pool == DEFAULT_POOL else f"{number}~{pool}"
    return f"{name}@{server}" if server else name


class Acquired(Struct, frozen=True):
    """The partition is ours. epochs_to_recover: how many predecessors left jobs in flight."""

    ownership: Ownership
    now_ms: int
    epochs_to_recover: int
    checkpoint: int | None
    checkpoint_ms: int | None
    applied: str

    def on(self, server: str) -> Acquired:
        """Return the same, acquired on this server."""
        return structs.replace(self, ownership=structs.replace(self.ownership, server=server))


class Held(Struct, frozen=True):
    """Another process owns the partition for another lease_ms.

    lifeline: a connection of that process, "" if unknown; see Lifeline. host: its host and pid.
    """

    lease_ms: int
    epoch: int
    heartbeat_ms: int = 0
    lifeline: str = ""
    host: str = ""


class Vacancy(Struct, frozen=True):
    """work: 2 if a partition has some and no owner, 1 if that waits for limits, else 0.

    epoch: of an owner that has not released it, whose lease may be over.
    """

    work: int
    epoch: int | None = None


class Renewal(Struct, frozen=True):
    """News for the owner. next_due_ms: until the next delayed job, None if there is none.

    to_end: an operator asks this owner to end.
    """

    draining: bool
    now_ms: int
    rolled_back: bool
    epochs_to_recover: int
    next_due_ms: int | None
    commands: tuple[Command, ...]
    cancels: frozenset[bytes]
    to_end: bool = False


class Claims(Struct, frozen=True):
    """Claimed jobs, in order. attempts and crashes are empty when no job has any; see read_count.

    taken: ids taken from lanes, including marks of cancelled jobs, or the limit if the bodies
    reached the maximum of bytes; less than the limit means that nothing else is ready. limits: id,
    gate, ... of the jobs that name limits. roused: whether jobs of tasks that are held no more
    need be made due: 0 if nobody has begun with that, 1 if somebody has; empty: they need not.
    """

    now_ms: int
    ids: Sequence[bytes]
    bodies: Sequence[bytes]
    attempts: Sequence[bytes | None]
    crashes: Sequence[bytes | None]
    taken: int
    limits: Sequence[bytes] = ()
    roused: bytes = b""


class Finished(Struct, frozen=True):
    """The outcome of acknowledgements. rolled_back: a failover had undone the claim.

    left: ids that were not in flight but have a body; `finish_stray` handles them.
    """

    finished: int
    duplicates: int
    rolled_back: int
    left: tuple[bytes, ...] = ()


class Buried(Struct, frozen=True):
    """One byte per job, b or 0 (not in flight here), and how many dead ones were evicted."""

    status: bytes
    evicted: int


class Promoted(Struct, frozen=True):
    """What became due. next_due_ms: 0 if more is due now, None if nothing waits."""

    promoted: int
    cancelled: int
    next_due_ms: int | None


class Roused(Struct, frozen=True):
    """A page. cursor: of the next; jobs: by task, that waited for it to be known; due: made due."""

    cursor: bytes
    jobs: Mapping[str, int]
    due: int


class Recovered(Struct, frozen=True):
    """What one call recovered from a dead owner; call again while epochs_to_recover > 0."""

    epochs_to_recover: int
    recovered: int
    crashed: int
    cancelled: int
    buried: tuple[bytes, ...] = ()


class Acks(Struct):
    """Acknowledgements of one group; results are (id, ttl ms, result) of those that have one."""

    size_bytes: int = 0
    ids: list[bytes] = field(default_factory=list)
    results: list[tuple[bytes, int, bytes]] = field(default_factory=list)
