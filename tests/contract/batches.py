"""Batches as their producers, their owner and its consumer treat them."""

from __future__ import annotations

from collections.abc import Sequence

from queuepool.models.flows import BatchResult, BatchStatus, OnFailure
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.protocol.batches import membership_of
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World

BATCH = "AAbbbbbbbbbbbb"
DAY_MS = 86_400_000


def ids_of(jobs: int, batch: str = BATCH) -> list[str]:
    return [f"CC{batch}~{number}" for number in range(jobs)]


def open_batch(
    world: World,
    jobs: int,
    on_failure: OnFailure = "partial",
    *,
    batch: str = BATCH,
    deadline_ms: int = DAY_MS,
    seal: bool = True,
    tier: int = 2,
) -> list[str]:
    """Define a batch as a producer does, with jobs of group g; returns their ids.

    tier: of its continuation.
    """
    verb = flow.open_batch(
        batch,
        batch,
        on_failure=on_failure,
        on_deadline="fail" if on_failure == "fail" else "partial",
        deadline_ms=deadline_ms,
        keep_ms=DAY_MS,
        called="t",
    )
    assert world.partition.run(verb).is_new
    w.enqueue(world, [batch], b"then", tier=tier, delay_ms=deadline_ms + 3_600_000)
    ids = ids_of(jobs, batch)
    if ids:
        w.enqueue(world, ids)
    if seal:
        assert world.partition.run(flow.seal_batch(batch, jobs)) == 1
    return ids


def status(world: World, batch: str = BATCH) -> BatchStatus:
    return world.partition.run(flow.batch(batch))


def status_by(world: World, version: int, batch: str = BATCH) -> BatchStatus:
    """Return the same by a version of the route."""
    return world.partition.run(flow.by_route(flow.batch(batch), version))


def results(world: World, batch: str = BATCH) -> list[BatchResult]:
    """Read all results, page by page."""
    found: list[BatchResult] = []
    while True:
        page = world.partition.run(flow.batch_results(batch, len(found)))
        found += page.found
        if page.next_number >= page.total:
            return found


def finish(owned: OwnedPartition, claims: own.Claims, *places: int) -> None:
    """Record successes as a consumer does those of jobs of batches; results name the job."""
    jobs = [
        (claims.ids[k], codec.read_stamp(claims.bodies[k]), 0, b'"r-%s"' % claims.ids[k])
        for k in places or range(len(claims.ids))
    ]
    owned.run(own.finish_stray(owned.ownership, jobs))


def notes(owned: OwnedPartition) -> list[telling.Note]:
    return list(owned.run(telling.untold(owned.ownership)).notes)


def tell(owned: OwnedPartition, some: Sequence[telling.Note]) -> int:
    """Tell the batch, and nobody that it was told."""
    ends = []
    for note in some:
        job = membership_of(note.job_id)
        assert job is not None
        ends.append((job.batch, job.number, note.end, note.stamp, note.text))
    return owned.run(telling.note_ends(ends))


def relay(owned: OwnedPartition) -> None:
    """Tell all ends, forget them, and conclude what is complete."""
    some = notes(owned)
    tell(owned, some)
    owned.run(telling.untold(owned.ownership, told=[note.entry for note in some]))
    owned.run(telling.tend_batches(owned.ownership))


def has_started(owned: OwnedPartition, batch: str = BATCH) -> bool:
    w.promote(owned)
    return batch.encode() in w.claim(owned).ids
