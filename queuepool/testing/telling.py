"""Tells batches how their jobs ended, for run_jobs: what an owner does beside its turns."""

from __future__ import annotations

from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol.batches import home_of_batch, membership_of
from queuepool.routing.slots import partition_of
from queuepool.verbs.flows import telling


def tell(pool: QueuePool, owned: OwnedPartition) -> bool:
    """Tell all that is to be told of an owned partition; return whether that was anything."""
    told: list[bytes] = []
    any_told = False
    while True:
        page = owned.run(telling.untold(owned.ownership, told=told))
        if not page.notes:
            return any_told
        any_told, told = True, [note.entry for note in page.notes]
        for note in page.notes:
            job = membership_of(note.job_id)
            if job is None:
                continue
            slot, name = home_of_batch(job.batch)
            number = partition_of(slot, pool.config.topology.partitions)
            end = (job.batch, job.number, note.end, note.stamp, note.text)
            pool.partition(number, name).run(telling.note_ends([end]))


def tend(owned: OwnedPartition) -> bool:
    """Conclude the batches of an owned partition; return whether a continuation moved."""
    moved = False
    while True:
        tended = owned.run(telling.tend_batches(owned.ownership))
        moved = moved or tended.fired + tended.failed > 0
        if tended.next_due_ms != 0:
            return moved
