"""An owner that repeats what it said: another job of the same id is not taken for the old one."""

import pytest

from consumer.core.jobs import ClaimedJob, End
from queuepool.models import JobState
from queuepool.tasks.job import Job
from queuepool.testing.data import PartitionData
from tests.unit.consumer.core.world import Fate, World


def enqueue(world: World, job_id: bytes) -> None:
    """Enqueue a job of this id, and fail when it is not accepted."""
    results = world.pool.enqueue_many("t", [Job({}, job_id=job_id.decode())], partition_key="g")
    assert results.accepted == 1


def running(world: World) -> ClaimedJob:
    """Return the one job that runs."""
    (job,) = world.running
    return job


def cut_off(world: World, seconds: float = 200.0) -> None:
    """Let time pass in which the owner hears nothing, and no one takes its place."""
    world.clock.advance(seconds)
    world.turn(Fate.NEVER_SENT)


def answer_lost(world: World) -> None:
    """Say what is owed, without hearing the answer; claim nothing behind it."""
    plan = world.core.plan(world.now)
    world.owned.turn([verb for verb in plan.verbs if verb.script != "claim"])
    world.core.on_no_reply(plan, world.now)


def test_a_job_accepted_under_an_id_that_ended_runs_though_the_old_end_is_repeated() -> None:
    world = World(workers=1)
    enqueue(world, b"a")
    (old,) = world.settle()
    world.end([old])
    answer_lost(world)
    cut_off(world)
    enqueue(world, b"a")

    world.settle()

    assert running(world) is not old
    assert world.counter("done") == 1
    world.end(list(world.running))
    world.settle()
    assert (world.counter("done"), world.counter("duplicate_finish")) == (2, 1)
    assert world.data.jobs == {}
    world.check()


def test_a_finish_that_meets_the_next_job_of_the_id_in_the_lane_leaves_it() -> None:
    """The first time, too: a predecessor may have sent the same end."""
    world = World(workers=1)
    enqueue(world, b"a")
    (old,) = world.settle()
    replace(world.data, b"a")
    world.end([old])

    world.settle()

    assert running(world) is not old
    assert world.counter("done") == 0
    world.check()


def replace(data: PartitionData, job_id: bytes) -> None:
    """Let the server have forgotten a job, and accepted another one of its id."""
    body = data.jobs[job_id]
    (epoch,) = data.books
    data.unbook(epoch, job_id)
    data.jobs[job_id] = b"%s%011x%s" % (body[:2], int(body[2:13], 16) + 5, body[13:])
    data.place(job_id, (2, b"g"))


def test_the_next_job_of_an_id_runs_beside_the_old_one_and_each_end_is_its_own() -> None:
    world = World(workers=2)
    enqueue(world, b"a")
    (old,) = world.settle()
    replace(world.data, b"a")
    world.core.on_wake(b"w", world.now)
    (new,) = world.settle()
    assert new is not old

    world.end([old])
    world.settle()
    assert world.partition.status("a").state is JobState.IN_FLIGHT
    world.end([new])
    world.settle()

    assert (world.counter("done"), world.counter("duplicate_finish")) == (1, 1)
    assert not world.core.claimed
    world.check()


@pytest.mark.parametrize("end", [End.RETRY, End.BURY, End.CANCELLED, End.HAND_BACK])
def test_no_other_end_of_an_old_job_touches_the_next_one(end: End) -> None:
    world = World(workers=2)
    enqueue(world, b"a")
    (old,) = world.settle()
    replace(world.data, b"a")
    world.core.on_wake(b"w", world.now)
    (new,) = world.settle()

    world.end([old], end, error=b"{}")
    world.settle()

    assert world.partition.status("a").state is JobState.IN_FLIGHT
    assert world.core.claimed == {b"a": new}
    world.end([new])
    world.settle()
    assert world.counter("done") == 1


def test_a_replayed_job_that_an_armed_claim_brought_outlives_the_repeated_burial() -> None:
    world = World(workers=2, poll_s=10)
    enqueue(world, b"a")
    (old,) = world.settle()
    plan = world.core.arm(world.now)
    assert plan is not None
    world.end([old], End.BURY, error=b"{}")
    answer_lost(world)
    assert world.partition.replay(["a"]).replayed == 1
    replies = world.owned.turn(plan.verbs)  # the token of the replay lets the claim happen
    ready, _ = world.core.apply_replies(plan, replies, world.now)
    world.began(ready)
    assert [job.id for job in ready] == [b"a"]

    world.settle()

    assert world.partition.status("a").state is JobState.IN_FLIGHT
    world.end(ready)
    world.settle()
    assert (world.counter("done"), world.counter("died")) == (1, 1)


def test_a_claim_of_the_next_job_whose_answer_was_lost_is_found() -> None:
    world = World(workers=2)
    enqueue(world, b"a")
    (old,) = world.settle()
    world.end([old])
    answer_lost(world)
    cut_off(world)
    enqueue(world, b"a")
    world.turn()  # the new nonce
    world.turn(Fate.ANSWER_LOST)  # the repeated end, and a claim of the new job

    for _ in range(8):
        world.settle()
        world.clock.advance(0.4)

    assert running(world) is not old
    world.end(list(world.running))
    world.settle()
    assert world.counter("done") == 2
    world.check()


def test_a_left_end_of_a_job_that_a_failover_put_back_is_recorded_and_not_run_again() -> None:
    world = World(workers=2)
    enqueue(world, b"a")
    (old,) = world.settle()
    world.data.unbook(world.owned.epoch, b"a")
    world.data.place(b"a", (2, b"g"), front=True)
    world.end([old])
    world.core.on_wake(b"w", world.now)

    started = world.settle()

    assert started == []
    assert (world.counter("done"), world.counter("duplicate_finish")) == (1, 0)
    assert not world.core.claimed
    world.check()


def test_what_still_runs_is_handed_back_though_an_old_end_of_its_id_is_owed() -> None:
    world = World(workers=2)
    enqueue(world, b"a")
    (old,) = world.settle()
    replace(world.data, b"a")
    world.core.on_wake(b"w", world.now)
    (new,) = world.settle()
    world.end([old])

    assert world.core.give_up(world.now) == 1
    world.running.remove(new)
    world.core.drain(world.now)
    world.settle()

    assert world.partition.status("a").state is JobState.READY
