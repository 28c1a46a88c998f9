"""Owners of partitions that run no jobs, and say that they do."""

from __future__ import annotations

from collections.abc import Sequence

from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.verbs.owner import verbs as own


def take_over(partition: Partition) -> OwnedPartition:
    """Take a partition over, for ten minutes."""
    taken = partition.acquire(lease_s=600)
    if not isinstance(taken, OwnedPartition):
        raise RuntimeError("a fresh partition has an owner")
    return taken


def report(owners: Sequence[OwnedPartition]) -> None:
    """Say what consumers say: without it, the coordinator has nothing to decide."""
    for one in owners:
        renewal = own.renew(
            one.ownership, lease_ms=600_000, beat=0, workers=8, busy=8, target=8, applied="0-0"
        )
        one.run(renewal)
