"""Turns whose answer never came, servers that forget, and jobs that kill their consumer."""

import random

import pytest

from consumer.core import events
from consumer.core.jobs import End
from consumer.core.turn import Turn
from queuepool.models import JobState
from queuepool.verbs import is_fenced
from queuepool.verbs.owner import verbs as own
from tests.unit.consumer.core.world import Fate, World

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("fate", [Fate.NEVER_SENT, Fate.ANSWER_LOST])
def test_a_claim_whose_answer_was_lost_is_found_and_starts_after_all(fate: Fate) -> None:
    world = World(workers=2)
    ids = world.enqueue(5)

    world.turn(fate)
    world.settle()

    assert {job.id for job in world.running} <= set(ids)
    assert len(world.running) == 2
    assert set(world.book) == {job.id for job in world.running}
    found = sum(e.jobs for e in world.of(events.Reconciled))  # type: ignore[attr-defined]
    assert found == (0 if fate is Fate.NEVER_SENT else 2)
    world.check()


def late_replies(world: World, late: Turn) -> list[object]:
    """Let the server carry out a lost turn after all: it stalled, and read a newer one first."""
    return list(world.owned.turn(late.verbs))


def test_a_claim_that_the_server_carries_out_late_takes_nothing() -> None:
    world = World(workers=2, poll_s=10)
    world.settle()
    world.enqueue(2)
    world.core.on_wake(b"w", world.now)
    late = world.core.plan(world.now)
    world.core.on_no_reply(late, world.now)
    world.settle()
    booked = dict(world.book)

    replies = late_replies(world, late)

    assert all(is_fenced(reply) for reply in replies)
    assert dict(world.book) == booked
    assert len(world.running) == 2


def test_a_job_that_runs_again_is_not_handed_back_by_a_late_turn() -> None:
    world = World(workers=1)
    world.enqueue(1)
    (job,) = world.settle()
    world.running.remove(job)
    world.core.hand_back([job], world.now)
    late = world.core.plan(world.now)
    world.core.on_no_reply(late, world.now)
    world.settle()  # handed back and claimed again
    (again,) = world.running
    assert again is not job

    replies = late_replies(world, late)

    assert all(is_fenced(reply) for reply in replies)
    assert world.partition.status(job.id.decode()).state is JobState.IN_FLIGHT
    world.check()


@pytest.mark.parametrize("script", ["in_flight", "claim", "renew", "finish", "hand_back"])
def test_a_verb_whose_script_the_server_forgot_may_follow_the_others(script: str) -> None:
    world = World(workers=2)
    world.enqueue(20)
    world.turn(Fate.ANSWER_LOST)
    for _ in range(16):
        world.turn(forgotten=script)
        world.check(lossy=True)
        world.end(list(world.running))
        world.core.on_wake(b"w", world.now)
    world.settle()

    assert len(world.runs) == len(set(world.runs)) == 20
    assert world.counter("done") == 20
    world.check()


@pytest.mark.parametrize("fate", [Fate.NEVER_SENT, Fate.ANSWER_LOST])
def test_a_record_whose_answer_was_lost_is_repeated_and_counts_once(fate: Fate) -> None:
    world = World(workers=4)
    world.enqueue(4)
    a, b, c, d = world.settle()
    world.end([a])
    world.end([b], End.RETRY, delay_ms=60_000)
    world.end([c], End.BURY, error=b"{}")
    world.end([d], End.CANCELLED)

    for _ in range(3):
        world.turn(fate)
    world.settle()

    states = [world.partition.status(job.id.decode()).state for job in (a, b, c, d)]
    assert states == [JobState.DONE, JobState.DELAYED, JobState.DEAD, JobState.CANCELLED]
    assert [world.counter(n) for n in ("done", "retried", "died", "cancelled")] == [1, 1, 1, 1]
    world.check()


def test_what_a_turn_recorded_is_reported_once_although_another_step_failed() -> None:
    world = World(workers=2)
    ids = world.enqueue(3)
    world.end(world.settle(), took_s=1.0)
    world.reported.clear()

    world.answer(world.core.plan(world.now), failing="claim")
    (turned,) = [event for event in world.reported if isinstance(event, events.Turned)]
    assert {outcome.job.id for outcome in turned.outcomes} == set(ids[:2])
    assert not turned.progress  # the server does not answer everything yet
    world.settle()

    reported = [
        o.job.id for e in world.reported if isinstance(e, events.Turned) for o in e.outcomes
    ]
    assert sorted(reported) == sorted(ids[:2])
    world.check(lossy=True)


def test_what_was_not_recorded_is_reported_by_the_turn_that_repeats_it() -> None:
    world = World(workers=2)
    ids = world.enqueue(3)
    world.end(world.settle(), took_s=1.0)
    world.reported.clear()

    world.answer(world.core.plan(world.now), failing="finish")
    turned = [event for event in world.reported if isinstance(event, events.Turned)]
    assert [(list(event.outcomes), event.claimed) for event in turned] in ([], [([], 1)])
    world.settle()

    reported = [
        o.job.id for e in world.reported if isinstance(e, events.Turned) for o in e.outcomes
    ]
    assert sorted(reported) == sorted(ids[:2])
    claimed = sum(event.claimed for event in world.reported if isinstance(event, events.Turned))
    assert claimed == 1
    world.check()


def test_a_job_that_was_handed_back_and_claimed_by_lost_turns_runs_once() -> None:
    world = World(workers=1)
    (job_id,) = world.enqueue(1)
    world.end(world.settle(), End.HAND_BACK)

    world.turn()
    world.turn(Fate.ANSWER_LOST)
    assert set(world.book) == {job_id}  # claimed again, and no one knows
    started = world.settle()

    assert [job.id for job in started] == [job_id]
    world.check()


def test_a_refused_record_keeps_its_outcome_and_what_was_claimed_starts() -> None:
    world = World(workers=2)
    world.enqueue(3)
    first, _ = world.settle()
    world.end([first])

    world.answer(world.core.plan(world.now), failing="finish")
    assert [o.job for o in world.core.in_flight.outbox] == [first]
    assert len(world.running) == 2
    world.settle()

    assert world.counter("done") == 1
    assert first.id not in world.core.claimed
    world.check()


def test_an_outage_is_not_taken_for_a_failover() -> None:
    world = World()
    world.settle()
    for _ in range(5):
        world.clock.advance(1.5)
        world.turn(Fate.NEVER_SENT)
    world.settle()

    assert world.of(events.RolledBack) == []


def test_a_server_that_forgot_a_renewal_is_found_out() -> None:
    world = World(workers=1)
    world.settle()
    owner = world.data.owner
    assert owner is not None
    for _ in range(3):
        world.clock.advance(1.5)
        world.settle()
    owner.beat -= 2

    world.clock.advance(1.5)
    world.settle()

    assert len(world.of(events.RolledBack)) == 1


def test_a_job_that_a_failover_put_back_is_not_run_beside_itself() -> None:
    world = World(workers=2)
    (job_id,) = world.enqueue(1)
    (job,) = world.settle()
    world.data.unbook(world.owned.epoch, job_id)  # the claim is undone on the server
    world.data.place(job_id, (2, b"g"), front=True)
    world.core.on_wake(b"w", world.now)

    assert world.settle() == []
    world.end([job])
    world.settle()

    assert world.counter("done") == 1
    assert world.ready_ids() == []
    assert not world.book


# -- crashes --------------------------------------------------------------------------------------


def test_after_a_crash_what_ran_is_charged_and_what_waited_is_not() -> None:
    world = World(workers=2)
    world.enqueue(50)
    world.end(world.settle(), took_s=0.0001)
    world.settle()
    ran, waited = set(world.started), set(world.book) - world.started
    assert ran
    assert waited

    world.crash()
    world.settle()

    assert {id for id, crashes in world.data.crashes.items() if crashes} == ran
    assert set(world.data.crashes) == ran | waited


def test_what_waited_in_a_memory_that_died_is_booked_as_started_and_keeps_its_order() -> None:
    world = World(workers=2)
    ids = world.enqueue(50)
    world.end(world.settle(), took_s=0.0001)
    world.settle()
    waited = set(world.book) - world.started
    world.crash()
    world.runs.clear()

    while waited:
        world.settle()
        assert waited & set(world.book) <= world.started
        waited -= set(world.book)
        world.end(list(world.running), took_s=0.0001)
    suspects = [job_id for job_id, crashes in world.data.crashes.items() if crashes]
    order = [job_id for job_id in world.runs if job_id not in suspects]
    assert order == sorted(order, key=ids.index)


def test_a_job_that_waited_in_memory_is_booked_as_running_soon_after_it_began() -> None:
    world = World(workers=1)
    world.enqueue(10)
    world.end(world.settle(), took_s=0.0001)
    world.settle()
    first, second = world.running[:2]
    assert second.ahead
    world.end([first], took_s=0.0001)
    second.started_s = world.now

    world.clock.advance(1.1)
    world.turn(Fate.NEVER_SENT)  # a start that was lost is repeated
    world.settle()

    assert second.id in world.started
    assert len(world.started) == 1


def test_a_job_taken_back_from_memory_does_not_hide_those_behind_it() -> None:
    world = World(workers=2)
    world.enqueue(1000)
    world.end(world.settle(), took_s=0.0001)
    world.settle()
    taken_back = world.running[2:]
    del world.running[2:]
    world.core.on_stall(taken_back, world.now)
    world.end(list(world.running), took_s=0.0001)
    world.settle()
    again, long_one, from_memory, behind, *_ = world.running
    assert (again.id, long_one.id) == (taken_back[0].id, taken_back[1].id)
    world.end([again], took_s=0.0001)
    from_memory.started_s = world.now
    world.clock.advance(1.1)

    world.turn()

    assert from_memory.id in world.started
    assert behind.id not in world.started


# -- everything at once ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_lost_every_job_ends_exactly_once(seed: int) -> None:
    dice = random.Random(seed)
    world = World(workers=dice.choice([1, 3, 8]), prefetch=dice.choice([0, 20, 400]))
    ids = set(world.enqueue(60, "a")) | set(world.enqueue(30, "b", tier="high"))
    ids |= set(world.enqueue(20, "c", delay_s=1.0))

    for _ in range(4000):
        if all(job_id in world.data.dead for job_id in world.data.jobs):
            break
        _something_happens(world, dice)
    else:
        raise AssertionError(f"jobs are left: {world.partition.observe()}")

    assert world.counter("done") + world.counter("died") == len(ids)
    assert world.counter("died") == world.partition.observe().dead
    assert world.partition.audit().clean


def _something_happens(world: World, dice: random.Random) -> None:
    roll = dice.random()
    if roll < 0.5:
        world.turn(dice.choices(list(Fate), (8, 1, 1))[0])
    elif roll < 0.8 and world.running:
        job = dice.choice(world.running[: world.core.target])
        end = dice.choices([End.DONE, End.RETRY, End.BURY, End.HAND_BACK], (12, 2, 1, 2))[0]
        world.end([job], end, took_s=dice.choice([0.0001, 0.1]), delay_ms=300, error=b"{}")
    elif roll < 0.83 and len(world.running) > world.core.target:
        waiting = world.running[world.core.target :]
        del world.running[world.core.target :]
        world.core.on_stall(waiting, world.now)
    elif roll < 0.84:
        world.command(dice.randint(1, 10))
        world.core.on_wake(b"c", world.now)
    elif roll < 0.845:
        world.crash()
    else:
        world.clock.advance(dice.choice([0.001, 0.05, 0.4]))
    if roll < 0.5:
        world.check(lossy=True)


def test_what_follows_a_lost_turn_can_be_said_by_a_life_that_stops() -> None:
    world = World(workers=2)
    world.settle()
    world.enqueue(1)
    world.core.on_wake(b"w", world.now)
    world.turn(Fate.ANSWER_LOST)

    confirm = world.core.unconfirmed
    assert confirm is not None
    world.owned.run(confirm)
    world.owned.run(own.release(world.core.ownership, drain_lease_ms=0))

    assert world.partition.observe().owner is None
