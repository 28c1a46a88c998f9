"""One logical partition: its keyspace on whichever server holds it.

`Partition` has what any process may do; `OwnedPartition` carries the nonce and the epoch of one
ownership, so that no caller can forget them. Both are thin: the verbs know the scripts.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from queuepool.errors import InvalidInputError
from queuepool.models import (
    AuditReport,
    DeadJob,
    GroupStatus,
    JobState,
    JobStatus,
    PartitionState,
    Replayed,
)
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.servers import Port, Reply
from queuepool.verbs import Verb
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import pools
from queuepool.verbs.producer import verbs as produce

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, or another pool of it: its number, its base key and its server.

    at: the name of its server in the configuration, "" if unknown.
    """

    number: int
    key: bytes
    server: Port
    pool: str = DEFAULT_POOL
    at: str = ""

    @property
    def name(self) -> str:
        """Return its name for people: 3, or 3/video for another pool of it."""
        return place_text(self.number, self.pool)

    def pools(self) -> tuple[str, ...]:
        """Return which pools it has besides the default one. Not for these themselves."""
        return self.run(pools.look())

    def run(self, verb: Verb[T]) -> T:
        """Run one verb here and return its typed reply, or raise."""
        return verb.read(self.server.run(self.key, [verb])[0])

    def status(self, job_id: str) -> JobStatus:
        """Return where one job is."""
        return self.run(produce.status(job_id, self.number, produce.ANY_VERSION))

    def cancel(self, job_id: str) -> JobState:
        """Cancel one job; returns the state it was in."""
        return self.run(produce.cancel(job_id, produce.ANY_VERSION))

    def group(self, group: bytes) -> GroupStatus:
        """Count the jobs of a task group by state."""
        return self.run(produce.group(group, produce.ANY_VERSION))

    def cancel_group(self, group: bytes) -> tuple[int, int]:
        """Cancel a group's jobs in bounded steps; returns (cancelled, asked to stop)."""
        cursor, cancelled, stopping = b"start", 0, 0
        while cursor:
            cursor, n, m = self.run(produce.cancel_group(group, cursor, produce.ANY_VERSION))
            cancelled, stopping = cancelled + n, stopping + m
        return cancelled, stopping

    def observe(self) -> PartitionState:
        """Return everything that is known about the partition, in constant time."""
        return self.run(operate.observe(self.number))

    def dead(self, offset: int = 0, count: int = 100) -> list[DeadJob]:
        """List dead jobs, the oldest first; count 1 to 200."""
        if offset < 0 or not 1 <= count <= own.MAX_BATCH:
            raise InvalidInputError(f"dead(offset={offset}, count={count}): count is 1 to 200")
        found = self.run(operate.dead(self.number, offset, count))
        if self.pool == DEFAULT_POOL:
            return found
        return [replace(job, pool=self.pool) for job in found]

    def replay(self, ids: Sequence[str]) -> Replayed:
        """Send dead jobs back to their lanes; returns how many went, and which may not."""
        parts = [self.run(operate.replay(part)) for part in _batches(ids)]
        kept = tuple(job_id for part in parts for job_id in part.kept_out)
        return Replayed(sum(part.replayed for part in parts), kept)

    def discard(self, ids: Sequence[str]) -> int:
        """Delete dead jobs permanently; returns how many were dead."""
        return sum(self.run(operate.discard(part)) for part in _batches(ids))

    def drain(self, epoch: int) -> bool:
        """Ask the owner of this epoch to end; returns False if it owns the partition no more."""
        return self.run(operate.drain(epoch))

    def audit(self, *, repair: bool = False) -> AuditReport:
        """Check the whole partition in bounded steps; report, and repair if asked."""
        cursor, total = b"0", AuditReport()
        while True:
            cursor, report = self.run(operate.audit(cursor, repair=repair))
            total = total.plus(report)
            if cursor == b"0":
                return total

    def acquire(
        self, *, lease_s: float, host: str = "", nonce: str | None = None, replaces: bool = True
    ) -> OwnedPartition | own.Held:
        """Become the owner, unless another owner's lease still runs.

        replaces: whether to take over a partition whose lease has expired; if not, the answer
        is Held for 0 ms.
        """
        nonce, lease_ms = nonce or secrets.token_hex(8), int(lease_s * 1000)
        acquired = self.run(
            own.acquire(
                self.number,
                nonce,
                lease_ms=lease_ms,
                host=host,
                replaces=replaces,
                pool=self.pool,
            )
        )
        if isinstance(acquired, own.Held):
            return acquired
        return OwnedPartition(self, acquired.on(self.at))


class OwnedPartition:
    """A partition and its ownership, which every verb of verbs.owner takes."""

    def __init__(self, partition: Partition, acquired: own.Acquired) -> None:
        self.partition, self.acquired, self.ownership = partition, acquired, acquired.ownership

    @property
    def epoch(self) -> int:
        """Return the fencing token of this ownership."""
        return self.ownership.epoch

    def run(self, verb: Verb[T]) -> T:
        """Run one verb; return its typed reply. Raises FencedError when there is a newer owner."""
        return self.partition.run(verb)

    def turn(self, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run the verbs of one turn in one round trip; replies in order, errors in their places."""
        return self.partition.server.run(self.partition.key, verbs)


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[i : i + own.MAX_BATCH] for i in range(0, len(ids), own.MAX_BATCH)]
