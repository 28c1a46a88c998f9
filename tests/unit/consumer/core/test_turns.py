"""What an owner says and learns: claims, records, commands, cancels, drains."""

import pytest

from consumer.core import events
from consumer.core.commands import resolve
from consumer.core.jobs import End
from queuepool.errors import FencedError
from queuepool.models import Command, JobState
from queuepool.models.places import new_place
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from tests.unit.consumer.core.world import LEASE_S, World


def test_a_claim_asks_for_no_more_than_can_start_while_nothing_is_known_of_the_jobs() -> None:
    world = World(workers=4)
    world.enqueue(100)

    started = world.settle()

    assert len(started) == len(world.book) == 4
    assert world.started == {job.id for job in started}
    world.check()


def test_jobs_start_in_the_order_of_their_enqueue() -> None:
    world = World(workers=3)
    ids = world.enqueue(9)

    order = []
    while batch := world.settle():
        order += [job.id for job in batch]
        world.end(batch, took_s=5.0)

    assert order == ids


def test_short_jobs_are_claimed_ahead_and_long_ones_are_not() -> None:
    world = World(workers=4)
    world.enqueue(1000)
    world.end(world.settle(), took_s=0.0001)

    world.settle()
    assert 4 < len(world.book) <= 4 + world.settings.prefetch
    assert len(world.started) == 4  # those in memory are not booked as running

    world.core.on_stall(world.running[4:], world.now)
    del world.running[4:]
    world.settle()
    assert len(world.book) == 4  # how long jobs take is unknown again


def test_of_very_short_jobs_one_claim_is_on_its_way_while_another_runs() -> None:
    world = World(workers=8)
    world.enqueue(1000)
    world.end(world.settle(), took_s=0.000001)

    world.turn()  # learns how short they are
    world.turn()
    assert world.core.open == 8 + 200
    assert world.core.claims_much(world.now)  # as much again, before any of these has ended
    world.turn()
    assert world.core.open == 8 + 400
    assert not world.core.claims_much(world.now)

    world.end(list(world.running[:200]), took_s=0.000001)
    assert world.core.claims_much(world.now)
    world.core.drain(world.now)
    assert not world.core.claims_much(world.now)


def test_jobs_that_end_among_few_are_recorded_together() -> None:
    world = World(workers=8)
    world.enqueue(20)
    world.end(world.settle(), took_s=0.000001)

    world.settle()

    assert world.core.open == 12
    assert not world.core.claims_much(world.now)  # nothing is left to claim


def test_the_prefetch_never_exceeds_its_setting() -> None:
    world = World(workers=64, prefetch=10)
    world.enqueue(500)
    for _ in range(5):
        world.end(list(world.running), took_s=0.00001)
        world.settle()
        assert world.core.open <= 64 + 10
        world.check()


def test_an_end_is_recorded_once_and_makes_room() -> None:
    world = World(workers=2)
    world.enqueue(4)
    first = world.settle()

    world.end(first[:1])
    second = world.settle()

    assert world.counter("done") == 1
    assert len(second) == 1
    assert world.core.open == 2
    world.check()


def test_a_long_queue_of_ends_is_recorded_in_bounded_turns() -> None:
    world = World(workers=1000)
    world.enqueue(1000)
    for _ in range(5):
        world.settle()
    assert len(world.running) == 1000
    world.end(list(world.running))

    plan = world.core.plan(world.now)
    assert len(plan.outcomes) == 400
    assert all(len(verb.args) < 1000 for verb in plan.verbs)
    world.settle()

    assert world.counter("done") == 1000
    assert world.core.open == 0
    assert not world.core.claimed


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (End.DONE, JobState.DONE),
        (End.RETRY, JobState.DELAYED),
        (End.BURY, JobState.DEAD),
        (End.CANCELLED, JobState.CANCELLED),
    ],
)
def test_each_kind_of_end_moves_the_job_where_it_belongs(end: End, state: JobState) -> None:
    world = World(workers=1)
    (job_id,) = world.enqueue(1)

    world.end(world.settle(), end, delay_ms=5000, error=b"{}")
    world.settle()

    assert world.partition.status(job_id.decode()).state is state
    assert not world.book
    assert not world.core.claimed


def test_a_job_that_was_handed_back_is_claimed_in_the_next_turn() -> None:
    """A server that lost a script would claim before it takes the job back."""
    world = World(workers=1)
    (job_id,) = world.enqueue(1)
    (job,) = world.settle()

    world.end([job], End.HAND_BACK)
    assert list(world.turn()) == []
    (again,) = world.turn()

    assert again.id == job_id
    assert again is not job
    assert world.core.claimed == {job_id: again}
    assert world.core.open == 1
    world.check()


def test_jobs_handed_back_in_great_number_keep_their_order() -> None:
    world = World(workers=350)
    ids = world.enqueue(350)
    world.settle()
    assert [job.id for job in world.running] == ids
    world.core.drain(world.now)

    world.core.hand_back(world.running, world.now)
    world.settle()

    assert world.ready_ids() == ids


def test_a_retry_wakes_the_owner_when_it_is_due() -> None:
    world = World(workers=1)
    world.enqueue(1)
    world.end(world.settle(), End.RETRY, delay_ms=700)
    world.settle()

    assert world.core.due_s(world.now) <= 0.7
    world.clock.advance(0.701)
    (again,) = world.settle()
    assert again.attempt == 2


def test_a_delayed_job_starts_when_it_is_due() -> None:
    world = World(workers=1, poll_s=10)
    world.settle()
    world.enqueue(1, delay_s=5.0)
    world.core.on_wake(b"d", world.now)
    world.settle()
    began = world.now

    while not world.running:
        world.clock.advance(max(0.001, world.core.due_s(world.now)))
        world.settle()

    assert world.now - began == pytest.approx(5.0, abs=0.02)


def test_an_owner_never_sleeps_past_its_renewal() -> None:
    world = World(workers=2, poll_s=10)
    world.enqueue(2)
    world.settle()
    for _ in range(200):
        world.clock.advance(world.core.due_s(world.now) + 0.0001)
        world.turn()
        assert world.core.lease.ends_s - world.now > LEASE_S - 1.5


def test_an_idle_owner_makes_few_turns() -> None:
    world = World()
    turns, until = 0, world.now + 60
    while world.now < until:
        world.clock.advance(max(0.001, world.core.due_s(world.now)))
        world.turn()
        turns += 1
    assert turns < 60 * 4


@pytest.mark.parametrize("token", [b"w", b"d"])
def test_a_token_makes_the_next_turn_due_at_once(token: bytes) -> None:
    world = World(poll_s=10)
    world.settle()
    assert world.core.due_s(world.now) > 0
    world.enqueue(1, delay_s=None if token == b"w" else 0.001)
    world.clock.advance(0.002)  # servers count in ms

    world.core.on_wake(token, world.now)

    assert world.core.due_s(world.now) == 0
    assert len(world.settle()) == 1


def test_a_fenced_owner_starts_nothing_of_what_it_claimed() -> None:
    world = World(workers=4)
    world.enqueue(4)
    world.settle()
    world.end(list(world.running)[:1])
    world.clock.advance(LEASE_S + 1)
    usurper = world.partition.acquire(lease_s=60, host="other")
    books = dict(world.data.books)

    turn = world.core.plan(world.now)
    with pytest.raises(FencedError):
        world.core.apply_replies(turn, world.owned.turn(turn.verbs), world.now)

    assert turn.jobs == []
    assert world.counter("done") == 0
    assert world.data.books == books
    assert usurper.epoch > world.owned.epoch


# -- commands -------------------------------------------------------------------------------------


def test_the_newest_command_wins_and_what_was_applied_is_said_at_once() -> None:
    world = World(workers=4)
    world.settle()
    world.command(9)
    newest = world.command(17)

    world.hear()

    assert world.core.target == 17
    owner = world.partition.observe().owner
    assert owner is not None
    assert (owner.target, owner.applied) == (17, newest)
    assert [e.workers for e in world.of(events.Resized)] == [17]  # type: ignore[attr-defined]


def test_a_command_is_obeyed_once() -> None:
    world = World(workers=4)
    world.command(9)
    world.hear()
    for _ in range(3):
        world.clock.advance(1.5)
        world.settle()

    assert len(world.of(events.Resized)) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"expires_ms": -1}, "expired"),
        ({"partition": 3}, "addressed to another partition"),
        ({"target_workers": 0}, "target out of range"),
        ({"target_workers": 4097}, "target out of range"),
        ({"type": "EXPLODE"}, "unknown type"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused_and_passed_over(
    changes: dict[str, object], why: str
) -> None:
    world = World(workers=4)
    world.command(99, **changes)
    world.hear()

    assert world.core.target == 4
    assert [e.refused.why for e in world.of(events.CommandRefused)] == [why]  # type: ignore[attr-defined]
    world.command(6)
    world.hear()
    assert world.core.target == 6
    assert len(world.of(events.CommandRefused)) == 1


def test_the_owner_of_the_new_place_of_a_partition_obeys_what_is_said_to_the_partition() -> None:
    """It took the place while the partition moved there; the place is the partition by now."""
    command = Command(
        id="1-0", type="SCALE_UP", target_workers=9, reason="", partition=3, expires_ms=1
    )

    found = resolve(
        [command], partition=new_place(3), now_ms=0, min_workers=1, max_workers=64, applied=""
    )

    assert (found.target, found.refused) == (9, ())


def test_a_target_is_clamped_to_the_most_workers() -> None:
    world = World(workers=4, max_workers=16)
    world.command(1000)
    world.hear()
    assert world.core.target == 16


@pytest.mark.parametrize(("commanded", "target"), [(1, 4), (9, 9), (99, 16)])
def test_a_target_is_clamped_to_the_range_of_the_pool(commanded: int, target: int) -> None:
    world = World(workers=6, pools="default=process:4..16")
    world.command(commanded)
    world.hear()
    assert world.core.target == target


def test_jobs_are_claimed_only_for_slots_that_are_there() -> None:
    world = World(workers=4)
    world.core.state.spare = -3  # child processes that start, slots that heavy jobs take
    world.enqueue(100)
    world.settle()
    assert len(world.running) == 1

    world.core.state.spare = 0
    world.settle()
    assert len(world.running) == 4


def test_slots_that_are_missing_count_as_busy() -> None:
    world = World(workers=4)
    world.enqueue(1)
    world.settle()
    world.core.state.alive, world.core.state.spare = 4, -2
    assert world.core.state.busy == 3
    world.core.state.alive = 2
    assert world.core.state.busy == 2


def test_more_commands_than_one_renewal_carries_are_heard_to_the_last() -> None:
    world = World(workers=4)
    for target in range(1, 130):
        world.command(target)
    world.hear()
    assert world.core.target == 129


def test_a_smaller_target_claims_nothing_until_enough_jobs_have_ended() -> None:
    world = World(workers=8)
    world.enqueue(100)
    world.settle()
    world.command(2)
    world.hear()

    for left in range(7, 1, -1):
        world.end(world.running[:1], took_s=3.0)
        assert world.settle() == []
        assert len(world.running) == left
    world.end(world.running[:1], took_s=3.0)
    assert len(world.settle()) == 1
    world.check()


# -- cancel ---------------------------------------------------------------------------------------


def test_a_running_job_learns_that_it_shall_stop() -> None:
    world = World(workers=2)
    asked, other = world.enqueue(2)
    world.settle()

    world.pool.cancel(asked.decode(), partition_key="g")
    world.hear()

    assert {job.id: job.cancelled for job in world.running} == {asked: True, other: False}


def test_a_running_job_learns_so_while_its_owner_drains() -> None:
    world = World(workers=2)
    asked, _ = world.enqueue(2)
    world.settle()
    world.core.drain(world.now)
    world.owned.run(_leave(world))

    world.pool.cancel(asked.decode(), partition_key="g")
    world.clock.advance(1.5)
    world.turn()

    assert world.core.claimed[asked].cancelled


def _leave(world: World) -> Verb[bool]:
    return own.release(world.owned.ownership, drain_lease_ms=10_000)


def test_a_group_that_is_cancelled_asks_each_of_its_running_jobs() -> None:
    world = World(workers=4)
    world.enqueue(3, "a")
    world.enqueue(3, "b")
    world.settle()

    world.pool.group("a").cancel()
    world.hear()

    assert all(job.cancelled == (job.group == b"a") for job in world.running)


# -- progress -------------------------------------------------------------------------------------


def test_progress_is_sent_soon_and_only_of_jobs_that_are_ours() -> None:
    world = World(workers=1, poll_s=1.0)
    (job_id,) = world.enqueue(1)
    world.settle()
    world.core.state.progress[job_id] = b"half"
    world.core.state.progress[b"nobody"] = b"lost"

    assert world.core.due_s(world.now) <= 0.3
    world.clock.advance(0.3)
    world.turn()

    assert world.partition.status(job_id.decode()).progress == "half"
    assert not world.core.state.progress
    assert set(world.data.progress) == {job_id}


# -- drain ----------------------------------------------------------------------------------------


def test_a_draining_owner_claims_promotes_and_recovers_nothing() -> None:
    world = World(workers=2)
    world.enqueue(10)
    world.settle()
    world.crash()
    world.enqueue(3, delay_s=0.01)
    world.core.drain(world.now)
    world.clock.advance(30)

    for _ in range(5):
        plan = world.core.plan(world.now)
        assert not {v.script for v in plan.verbs} & {"claim", "promote", "recover"}
        world.clock.advance(world.core.due_s(world.now))
        world.turn()

    assert world.core.open == 0


def test_a_draining_owner_still_records_what_ends() -> None:
    world = World(workers=2)
    world.enqueue(2)
    running = world.settle()
    world.core.drain(world.now)
    world.owned.run(_leave(world))

    world.end(running)
    world.settle()

    assert world.counter("done") == 2
    assert not world.core.claimed


def test_what_still_runs_at_the_deadline_is_handed_back_uncharged() -> None:
    world = World(workers=3)
    ids = world.enqueue(3)
    first, *_ = world.settle()
    world.core.drain(world.now)
    world.end([first])

    assert world.core.give_up(world.now) == 2
    world.settle()

    assert world.ready_ids() == ids[1:]
    assert not world.data.crashes
    assert not world.data.attempts
