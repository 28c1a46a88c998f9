"""A claim that waits at the server for the next token."""

import pytest

from consumer.core import events
from consumer.core.turn import Turn
from queuepool.errors import FencedError
from queuepool.verbs import is_fenced
from tests.unit.consumer.core.world import LEASE_S, World


def armed(world: World) -> Turn:
    world.settle()
    plan = world.core.arm(world.now)
    assert plan is not None
    assert [verb.script for verb in plan.verbs] == ["claim"]
    return plan


def fire(world: World, plan: Turn) -> list[bytes]:
    """Let the token come: the server carries the claim out, and the owner learns of it."""
    replies = world.owned.turn(plan.verbs)
    world.core.on_wake(b"w", world.now)
    ready, reported = world.core.apply_replies(plan, replies, world.now)
    world.began(ready)
    world.reported += reported
    return [job.id for job in ready]


def test_a_job_starts_without_another_turn() -> None:
    world = World(workers=2)
    plan = armed(world)
    world.clock.advance(0.5)
    ids = world.enqueue(1)

    assert fire(world, plan) == ids
    assert world.started == set(ids)
    assert world.core.due_s(world.now) > 0
    assert world.running[0].claimed_s == world.now
    world.check()


def test_a_cancellation_that_is_heard_before_the_claim_holds_for_its_jobs() -> None:
    world = World(workers=2)
    plan = armed(world)
    asked, other = world.enqueue(2)
    replies = world.owned.turn(plan.verbs)  # executed; its answer is still on the way
    world.pool.cancel(asked.decode(), partition_key="g")
    world.hear()

    ready, _ = world.core.apply_replies(plan, replies, world.now)

    assert {job.id: job.cancelled for job in ready} == {asked: True, other: False}


def test_while_it_waits_nothing_else_is_claimed_and_the_book_is_not_read() -> None:
    world = World(workers=2)
    plan = armed(world)
    assert world.core.arm(world.now) is None
    world.enqueue(5)
    for _ in range(int(4 * LEASE_S)):
        world.clock.advance(0.5)
        world.core.on_wake(b"d", world.now)
        for _ in range(9):
            if world.core.due_s(world.now) > 0:
                break
            planned = world.core.plan(world.now)
            assert {"claim", "in_flight"}.isdisjoint(verb.script for verb in planned.verbs)
            world.core.apply_replies(planned, world.owned.turn(planned.verbs), world.now)
        else:
            raise AssertionError("something stays due while a claim is armed")

    assert len(fire(world, plan)) == 2
    assert "in_flight" in [verb.script for verb in world.core.plan(world.now).verbs]
    world.check()


def test_it_takes_no_more_than_there_was_room_for_when_it_was_armed() -> None:
    world = World(workers=4)
    world.enqueue(3)
    plan = armed(world)
    world.enqueue(9)
    world.end(list(world.running))

    assert len(fire(world, plan)) == 1
    world.settle()
    assert world.core.open >= 4
    world.check()


def test_a_lost_one_is_found_in_the_book_and_cannot_happen_later() -> None:
    world = World(workers=2)
    plan = armed(world)
    ids = world.enqueue(2)
    world.owned.turn(plan.verbs)  # and the answer is lost with the connection
    world.core.on_no_reply(plan, world.now)
    assert world.core.armed is None
    world.settle()

    assert {job.id for job in world.running} == set(ids)
    assert world.of(events.Reconciled)
    assert is_fenced(world.owned.turn(plan.verbs)[0])
    world.check()


def test_an_owner_that_drains_is_not_settled_before_it_knows_what_a_lost_one_took() -> None:
    world = World(workers=2)
    plan = armed(world)
    world.enqueue(2)
    world.owned.turn(plan.verbs)
    world.core.on_no_reply(plan, world.now)
    world.core.drain(world.now)
    turns = 0
    while not world.core.settled(world.now):
        world.turn()
        turns += 1
        assert turns < 9

    assert world.book == {}
    assert len(world.ready_ids()) == 2
    assert world.running == []


def test_one_that_was_never_sent_leaves_no_trace() -> None:
    world = World(workers=2)
    armed(world)
    world.core.cancel_armed()
    world.enqueue(1)
    world.core.on_wake(b"w", world.now)

    assert len(world.settle()) == 1


def test_nothing_is_armed_by_an_owner_that_is_busy_full_or_leaving() -> None:
    world = World(workers=1)
    world.enqueue(1)
    assert world.core.arm(world.now) is None  # hungry: it has not even looked
    world.settle()
    assert world.core.arm(world.now) is None  # full
    world.end(list(world.running))
    world.settle()
    world.core.drain(world.now)
    assert world.core.arm(world.now) is None


def test_a_fenced_answer_says_that_the_partition_is_lost() -> None:
    world = World(workers=1)
    plan = armed(world)
    world.clock.advance(LEASE_S + 1)
    old, owned = world.core, world.owned
    world.take_over()

    with pytest.raises(FencedError):
        old.apply_replies(plan, owned.turn(plan.verbs), world.now)
