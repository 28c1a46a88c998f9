"""After a long outage many batches are late: each is concluded before its continuation is due."""

import pytest

from queuepool import After
from queuepool.client.continuing import LATER_S
from queuepool.models import JobState
from tests.unit.consumer.core.world import Fate, World

WORKERS = 400


def _after_an_outage(batches: int) -> tuple[World, list[str]]:
    """Return a new owner of batches that were to be concluded long ago; and their names."""
    world = World(workers=WORKERS)
    names = []
    for _ in range(batches):
        then = After("then", deadline_s=60, on_failure="fail")
        results = world.pool.enqueue_many("t", [{}], partition_key="g", then=then, delay_s=9000)
        names.append(results.batch.name)
    world.clock.advance(60 + LATER_S + 1)
    world.take_over(WORKERS)
    return world, names


@pytest.mark.parametrize("fate", Fate)
@pytest.mark.parametrize("batches", [1, 150])
def test_no_continuation_runs_that_is_to_die(batches: int, fate: Fate) -> None:
    world, names = _after_an_outage(batches)

    world.turn(fate)
    world.settle()

    assert world.runs == []
    assert {world.pool.status(name).state for name in names} == {JobState.DEAD}


def test_delayed_jobs_run_although_batches_cannot_be_concluded() -> None:
    world, _names = _after_an_outage(1)
    ids = world.enqueue(3, delay_s=5)
    world.clock.advance(6)
    for _ in range(5):
        world.answer(world.core.plan(world.now), "tend_batches")
        world.clock.advance(1)

    assert set(ids) <= set(world.runs)


def test_delayed_jobs_do_not_wait_for_batches_that_are_due_later() -> None:
    world, _names = _after_an_outage(1)
    world.settle()
    for _ in range(150):  # all of them are concluded at once
        then = After("then", deadline_s=60)
        world.pool.enqueue_many("t", [{}], partition_key="g", then=then, delay_s=9000)
    [job_id] = world.enqueue(1, delay_s=60.5)
    world.clock.advance(60.1)
    world.core.on_wake(b"f", world.now)
    for _ in range(3):  # renews the lease, then concludes the first of them
        world.turn()
    assert world.core.state.batches_s <= world.now
    world.clock.advance(1)

    world.core.on_wake(b"d", world.now)
    world.turn()
    world.turn()

    assert job_id in world.runs
