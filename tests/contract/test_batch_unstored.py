"""A deadline that passes before the producer of a batch has stored its continuation."""

from __future__ import annotations

import pytest

from queuepool.models import JobState
from queuepool.models.flows import BatchState, OnFailure
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.operator.editing import hasten
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import BATCH, DAY_MS, finish, has_started, open_batch, relay, status
from tests.contract.world import World

DEADLINE_MS, LATER_MS = 60_000, 3_600_000


def _define(world: World, on_failure: OnFailure) -> None:
    """Do what a producer does first, and no more."""
    verb = flow.open_batch(
        BATCH,
        BATCH,
        on_failure=on_failure,
        on_deadline="fail" if on_failure == "fail" else "partial",
        deadline_ms=DEADLINE_MS,
        keep_ms=DAY_MS,
    )
    assert world.partition.run(verb).is_new


def _store(world: World) -> None:
    w.enqueue(world, [BATCH], b"then", delay_ms=DEADLINE_MS + LATER_MS)


@pytest.mark.parametrize("on_failure", ["fail", "partial", "wait"])
@pytest.mark.parametrize("late_s", [61, 600, 80_000])
def test_a_continuation_that_is_stored_late_is_let_go_or_dies_soon(
    world: World, on_failure: OnFailure, late_s: float
) -> None:
    owned = world.own()
    _define(world, on_failure)
    world.advance(late_s)
    before = owned.run(telling.tend_batches(owned.ownership))
    assert (before.fired, before.failed, before.forgotten) == (0, 0, 0)
    assert status(world).state is BatchState.OPEN
    assert before.next_due_ms is not None
    assert 0 < before.next_due_ms < min(1000 + late_s * 250, LATER_MS)

    _store(world)
    world.advance(before.next_due_ms / 1000 + 0.1)
    after = owned.run(telling.tend_batches(owned.ownership))

    failed = on_failure == "fail"
    assert (after.fired, after.failed) == (not failed, failed)
    assert status(world).by_deadline
    assert has_started(owned) is not failed
    assert (world.partition.status(BATCH).state is JobState.DEAD) is failed


def test_a_batch_whose_continuation_is_never_stored_is_forgotten(world: World) -> None:
    owned = world.own()
    _define(world, "partial")
    looks, forgotten, passed_s = 0, 0, 61.0
    world.advance(passed_s)
    while not forgotten:
        tended = owned.run(telling.tend_batches(owned.ownership))
        looks, forgotten = looks + 1, tended.forgotten
        if tended.next_due_ms is not None:
            passed_s += tended.next_due_ms / 1000 + 0.1
            world.advance(tended.next_due_ms / 1000 + 0.1)

    assert DAY_MS / 1000 < passed_s - 60 < DAY_MS / 1000 + LATER_MS / 1000
    assert looks < 100
    assert status(world).state is BatchState.UNKNOWN


def test_a_sealed_batch_does_not_wait_for_a_continuation_that_has_ended(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, deadline_ms=DEADLINE_MS)
    world.partition.run(produce.cancel(BATCH))
    world.advance(61)
    relay(owned)

    assert status(world).state is BatchState.FIRED


def test_a_batch_that_is_not_sealed_is_concluded_while_its_continuation_runs(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, deadline_ms=DEADLINE_MS, seal=False)
    world.partition.run(hasten(BATCH))
    claims = w.claim(owned)
    world.advance(61)
    relay(owned)

    assert status(world).state is BatchState.FIRED
    assert w.book(owned) == sorted(claims.ids)
    finish(owned, claims)
