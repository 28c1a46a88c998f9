"""Large bodies: the memory of an owner stays small, and every worker has a job nevertheless."""

import pytest

from consumer.core.prefetch import MOST_BYTES
from queuepool.verbs.owner.verbs import CLAIM_BYTES
from tests.unit.consumer.core.world import World

KB = 1000


def held_bytes(world: World) -> int:
    """Return the bytes of the bodies of open jobs."""
    return sum(len(job.body) for job in world.running)


@pytest.mark.parametrize("size_kb", [10, 100, 250])
def test_bodies_in_memory_are_bounded_however_short_the_jobs_are(size_kb: int) -> None:
    world = World(workers=8)
    world.enqueue(300, size_bytes=size_kb * KB)
    most, ended = 0, 0

    while ended < 300:
        world.settle()
        most = max(most, held_bytes(world))
        assert world.core.in_flight.open_bytes == held_bytes(world)
        ended += len(world.running)
        world.end(list(world.running), took_s=0.00001)

    assert most <= MOST_BYTES + CLAIM_BYTES
    world.settle()
    assert world.core.in_flight.open_bytes == 0
    world.check()


def test_every_worker_has_a_job_even_where_their_bodies_have_more_bytes_than_a_claim() -> None:
    world = World(workers=16)
    world.enqueue(40, size_bytes=250 * KB)

    world.settle()

    assert len(world.running) == 16
    world.end(list(world.running), took_s=0.00001)
    world.settle()
    assert 16 <= len(world.running) <= 20  # the claim that gave the last ones work may bring more


def test_small_jobs_are_claimed_ahead_as_ever() -> None:
    world = World(workers=8)
    world.enqueue(1000, size_bytes=KB)
    world.end(world.settle(), took_s=0.000001)

    for _ in range(4):
        world.turn()

    assert world.core.open == 8 + 400
