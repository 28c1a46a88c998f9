"""Jobs that were running in a crash: together after one, on trial before the last one."""

import pytest

from consumer.core.suspects import MOST_WAITING, SETTLE_S, SHARED_S, WINDOWS_S
from tests.sampling import one_in
from tests.unit.consumer.core.poisoned import Ward, ward
from tests.unit.consumer.core.world import LEASE_S, Fate, World

pytestmark = pytest.mark.thorough


def after_crashes(times: int, *, jobs: int = 4, workers: int = 4, **settings: object) -> World:
    """Return a world whose jobs ran in so many crashes, owned again."""
    world = World(workers=workers, **settings)
    world.enqueue(jobs)
    for _ in range(times):
        pass_time(world, lambda: len(world.started) >= jobs)
        world.crash()
    return world


def pass_time(world: World, until: object) -> None:
    """Take turns as they are due until something holds; jobs on trial end, the others continue."""
    for _ in range(2000):
        if until():  # type: ignore[operator]
            return
        if world.core.due_s(world.now) <= 0:
            world.turn()
        else:
            world.clock.advance(world.core.due_s(world.now))
    raise AssertionError("it never holds")


def test_after_one_crash_all_that_ran_runs_again_at_once() -> None:
    world = World(workers=16)
    ids = world.enqueue(20)
    world.settle()
    world.crash()

    world.settle()

    assert {job.id for job in world.running} == set(ids[:16])
    assert world.started == set(ids[:16])  # charged again if that happens again
    world.check()


def test_they_are_booked_before_they_begin() -> None:
    world = World(workers=4)
    world.enqueue(4)
    world.settle()
    world.crash()
    while not len(world.core.in_flight.suspects):
        world.turn()
        assert world.running == []

    world.turn(Fate.ANSWER_LOST)
    world.turn(Fate.NEVER_SENT)
    assert world.running == []
    world.settle()

    assert len(world.running) == len({job.id for job in world.running}) == 4
    world.end(list(world.running))
    world.settle()
    assert world.counter("done") == 4


def test_they_take_their_turn_among_jobs_of_a_higher_tier() -> None:
    world = World(workers=2)
    world.enqueue(40)
    world.settle()
    world.crash()
    first = world.enqueue(2, "urgent", tier="critical")

    started = world.settle()
    world.end(started)
    started += world.settle()

    assert set(first) <= {job.id for job in started}


def test_before_the_last_crash_they_run_one_at_a_time_beside_others() -> None:
    world = after_crashes(2)
    fresh = world.enqueue(300, "others")

    seen: list[bytes] = []
    beside: set[bytes] = set()
    while len(seen) < 4:
        pass_time(world, lambda: world.running)
        suspects = [job for job in world.running if job.crashes]
        world.check()
        seen += [job.id for job in suspects if job.id in world.started and job.id not in seen]
        if suspects and len(world.running) < 4:
            pass_time(world, lambda: len(world.running) == 4)  # the others begin after a moment
            beside |= {job.id for job in world.running} - {job.id for job in suspects}
        world.clock.advance(2.0)
        world.end(list(world.running), took_s=2.0)

    assert len(set(seen)) == 4
    assert beside <= set(fresh)
    assert len(beside) >= 3


def test_a_suspect_that_waits_takes_no_slot_and_counts_as_nobodys_work() -> None:
    world = after_crashes(2, jobs=8, workers=8)
    pass_time(world, lambda: len(world.core.in_flight.suspects) == 7)
    assert world.core.open == 1
    urgent = world.enqueue(7, "urgent", tier="critical")
    world.core.on_wake(b"w", world.now)

    pass_time(world, lambda: set(urgent) <= {job.id for job in world.running})

    assert len([job for job in world.running if job.crashes]) == 1
    assert world.core.open == 8
    assert len(world.core.in_flight.suspects) == 7
    assert len(world.started) == 8


def test_nothing_else_is_claimed_in_the_moment_in_which_a_trial_begins() -> None:
    world = after_crashes(2)
    pass_time(world, lambda: [job for job in world.running if job.crashes])
    began_s = world.now
    world.enqueue(3, "others")
    world.core.on_wake(b"w", world.now)

    pass_time(world, lambda: len(world.running) > 1)

    assert world.now - began_s == pytest.approx(WINDOWS_S[0], abs=0.1)


def test_a_trial_begins_when_what_began_before_it_had_time_to_show_itself() -> None:
    world = World(workers=4)
    world.enqueue(1)
    for _ in range(2):
        world.settle()
        world.crash()
    world.enqueue(2, "others")
    world.core.on_wake(b"w", world.now)
    pass_time(world, lambda: len(world.running) == 2)  # in the same claim as the suspect
    began_s = world.now
    late = world.enqueue(1, "others")
    world.core.on_wake(b"w", world.now)

    pass_time(world, lambda: [job for job in world.running if job.crashes])

    assert world.now - began_s == pytest.approx(SETTLE_S, abs=0.1)
    assert not set(late) & {job.id for job in world.running}


def test_what_began_from_memory_is_booked_before_the_trial_that_begins_after_it() -> None:
    world = World(workers=2, prefetch=10)
    world.enqueue(1)
    for _ in range(2):
        world.settle()
        world.crash()
    world.enqueue(2, "others")
    world.core.prefetch.turned(0.01, 100, 0.01)
    pass_time(world, lambda: any(job.ahead for job in world.running))
    (ahead,) = [job for job in world.running if job.ahead]
    world.end([job for job in world.running if not job.ahead])
    world.settle()
    ahead.started_s = world.now
    world.clock.advance(SETTLE_S)
    world.turn()  # books both

    (suspect,) = [job for job in world.running if job.crashes]
    assert world.book[ahead.id] < world.book[suspect.id]


def test_pauses_for_trials_are_bounded_and_take_half_of_the_time_at_most() -> None:
    world = after_crashes(2, jobs=16, workers=16)
    world.enqueue(4000, "others")
    suspects = world.core.in_flight.suspects
    pass_time(world, lambda: len(suspects))
    step_s = 0.02
    paused_s = longest_s = now_s = 0.0
    began_s = world.now
    while len(suspects):
        while world.core.due_s(world.now) <= 0:
            world.turn(took_s=0.0)
        now_s = now_s + step_s if suspects.hold_s(world.now) else 0.0
        paused_s, longest_s = paused_s + (now_s > 0) * step_s, max(longest_s, now_s)
        world.clock.advance(step_s)
        world.end([j for j in world.running if world.now - j.started_s > 0.7], took_s=0.7)

    assert longest_s <= SETTLE_S + SHARED_S + WINDOWS_S[0] + 0.1
    assert paused_s > SETTLE_S
    assert paused_s - longest_s < 0.5 * (world.now - began_s)


def test_a_job_that_others_died_beside_has_a_longer_window_next_time() -> None:
    world = after_crashes(2, jobs=1)
    for window_s in WINDOWS_S:
        pass_time(world, lambda: [job for job in world.running if job.crashes > 1])
        began_s = world.now
        (late,) = world.enqueue(1, "others")
        world.core.on_wake(b"w", world.now)
        pass_time(world, lambda late=late: late in {job.id for job in world.running})

        assert world.now - began_s == pytest.approx(window_s, abs=0.1)
        world.end([job for job in world.running if job.crashes == 1])
        world.settle()
        world.crash()

    assert not world.data.dead.entries()


def test_those_with_the_fewest_crashes_are_tried_first() -> None:
    world = after_crashes(2, jobs=3)
    pass_time(world, lambda: world.running)
    (tried,) = world.running
    world.clock.advance(WINDOWS_S[0])
    world.enqueue(1, "others")
    world.core.on_wake(b"w", world.now)
    pass_time(world, lambda: len(world.running) == 2)
    world.crash()

    order: list[bytes] = []
    while len(order) < 3:
        pass_time(world, lambda: [j for j in world.running if j.crashes > 1])
        (job,) = [j for j in world.running if j.crashes > 1]
        order.append(job.id)
        world.end([job])

    assert order[-1] == tried.id


def test_a_suspect_is_not_booked_while_every_worker_is_busy() -> None:
    world = after_crashes(2, jobs=2, workers=2)
    world.enqueue(1, "others")
    pass_time(world, lambda: len(world.running) == 2)
    suspect, other = sorted(world.running, key=lambda job: -job.crashes)
    assert (suspect.crashes, other.crashes) == (2, 0)

    world.core.lease.target = 1
    world.end([suspect], took_s=5.0)
    world.clock.advance(2 * SETTLE_S)
    world.settle()
    assert world.running == [other]
    assert world.started == {other.id}

    world.end([other], took_s=5.0)
    pass_time(world, lambda: world.running)
    assert [job.crashes for job in world.running] == [2]


def test_suspects_go_back_when_their_owner_drains_before_they_begin() -> None:
    world = after_crashes(2)
    pass_time(world, lambda: world.running)
    (running,) = world.running

    world.core.drain(world.now)
    world.settle()

    assert set(world.book) == {running.id}
    assert len(world.ready_ids()) == 3
    world.check()


def test_no_more_suspects_than_a_bound_wait_in_memory_and_the_rest_come_back_later() -> None:
    jobs = MOST_WAITING + 40
    world = World(workers=jobs, max_workers=jobs)
    ids = world.enqueue(jobs)
    for _ in range(2):
        pass_time(world, lambda: len(world.started) >= jobs)
        world.crash()
    turns = 0
    pass_time(world, lambda: len(world.core.in_flight.suspects) >= MOST_WAITING - 1)
    while world.core.due_s(world.now) <= 0:
        world.turn()
        turns += 1

    assert turns < 30  # those that were sent back do not come at once
    assert len(world.core.in_flight.suspects) <= MOST_WAITING
    assert not world.data.attempts
    while len(world.data.jobs):
        pass_time(world, lambda: world.running or not len(world.data.jobs))
        world.end(list(world.running), took_s=0.01)
        world.settle()
    assert world.counter("done") == len(ids)


@pytest.mark.parametrize("max_crashes", [1, 2])
def test_with_fewer_crashes_allowed_the_trial_comes_earlier(max_crashes: int) -> None:
    world = World(workers=4, max_crashes=max_crashes)
    world.enqueue(4)
    world.settle()
    world.crash()

    if max_crashes == 1:
        pass_time(world, lambda: world.partition.observe().dead == 4)
    else:
        pass_time(world, lambda: world.running)
        assert len(world.running) == 1
        assert len(world.core.in_flight.suspects) == 3


# -- poison ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse_s", [0.001, 0.5])
@pytest.mark.parametrize("job_s", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("seed", one_in(2, range(5)))
def test_one_poison_job_dies_of_its_third_crash_alone(
    seed: int, job_s: float, fuse_s: float
) -> None:
    one = ward(seed, innocents=100, poisons=1, job_s=job_s, fuse_s=fuse_s, prefetch=0)

    one.run()

    assert one.dead == set(one.fuse_s)
    assert one.crashes == 3


@pytest.mark.parametrize(("fuse_s", "crashes"), [(2.0, 4), (8.0, 5), (25.0, 6), (200.0, 6)])
@pytest.mark.parametrize("job_s", [1.0, 30.0])
@pytest.mark.parametrize("seed", one_in(2, range(3)))
def test_one_that_kills_later_than_its_window_dies_of_its_sixth_crash_at_the_latest(
    seed: int, job_s: float, fuse_s: float, crashes: int
) -> None:
    one = ward(seed, innocents=100, poisons=1, job_s=job_s, fuse_s=fuse_s, prefetch=0)

    one.run()

    assert one.dead == set(one.fuse_s)
    assert 3 <= one.crashes <= crashes


@pytest.mark.parametrize("seed", one_in(2, range(5)))
def test_claimed_ahead_it_may_begin_once_more_uncharged(seed: int) -> None:
    one = ward(seed, innocents=400, poisons=1, job_s=0.001)

    one.run()

    assert one.dead == set(one.fuse_s)
    assert 3 <= one.crashes <= 4


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("job_s", "fuse_s"), [(0.5, 0.001), (0.5, 0.5), (5.0, 0.001), (5.0, 0.5), (60.0, 0.5)]
)
def test_among_many_poison_jobs_that_kill_soon_no_innocent_dies(
    seed: int, job_s: float, fuse_s: float
) -> None:
    one = ward(seed, innocents=200, poisons=20, job_s=job_s, fuse_s=fuse_s)

    one.run()

    assert one.innocents_dead == 0
    assert max(one.charged[job_id] for job_id in one.fuse_s) <= 3


@pytest.mark.parametrize("seed", one_in(2, range(5)))
def test_a_crash_buries_one_job_at_most(seed: int) -> None:
    one = ward(seed, innocents=200, poisons=10, job_s=5.0)

    one.run()

    assert set(one.fuse_s) <= one.dead
    assert len(one.dead) <= one.crashes


def test_a_crash_of_one_process_costs_little_more_than_its_restart() -> None:
    one: Ward = ward(1, innocents=16, poisons=0, job_s=3.0, workers=16)
    one.world.settle()
    one.world.crash()
    one.crashes = 1

    one.run()

    assert one.busy_s + LEASE_S < 3 * 1.5 + 0.5 + LEASE_S
