"""Cancelling jobs and groups, wherever they are."""

from queuepool.models import JobState
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def test_a_ready_job_is_gone_at_once(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])

    assert world.partition.cancel("b") is JobState.READY

    assert world.partition.status("b").state is JobState.CANCELLED
    assert world.partition.observe().backlog == 2
    assert w.drain(owned) == ["a", "c"]
    group = world.partition.group(b"g")
    assert (group.cancelled, group.done, group.left) == (1, 2, 0)


def test_a_delayed_job_is_gone_at_once(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], delay_ms=1_000)

    assert world.partition.cancel("a") is JobState.DELAYED

    world.advance(2)
    assert w.promote(owned).promoted == 0
    assert world.partition.group(b"g").cancelled == 1


def test_a_running_job_is_asked(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned)

    assert world.partition.cancel("a") is JobState.IN_FLIGHT

    assert world.partition.status("a").cancel_requested
    assert b"c" in snapshot(world)["tokens"]
    w.finish(owned, claims)  # it finished nevertheless
    assert world.partition.status("a").state is JobState.DONE
    assert snapshot(world)["cancels"] == set()


def test_a_cancelled_job_is_not_retried(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    world.partition.cancel("a")

    assert w.retry(owned, [b"a"]) == b"c"

    assert world.partition.status("a").state is JobState.CANCELLED
    assert world.partition.group(b"g").cancelled == 1


def test_dead_ended_and_unknown_jobs_are_left_alone(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["dead", "done"])
    w.bury(owned, [w.claim(owned, 1).ids[0]])
    w.drain(owned)

    assert world.partition.cancel("dead") is JobState.DEAD
    assert world.partition.cancel("done") is JobState.UNKNOWN
    assert world.partition.cancel("never") is JobState.UNKNOWN
    assert world.partition.status("dead").state is JobState.DEAD


def test_a_cancelled_id_cannot_be_used_before_its_turn_has_come(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["first", "a"])
    world.partition.cancel("a")
    world.advance(600)  # the memory of ended jobs is over, its place in the lane is not

    assert w.enqueue(world, ["a"]) == b"0"
    assert w.drain(owned) == ["first"]
    assert w.enqueue(world, ["a"]) == b"1"
    assert w.drain(owned) == ["a"]


def test_a_job_asked_to_cancel_is_not_handed_back(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.enqueue(world, ["b"], b"h")
    w.enqueue(world, ["c"], b"i")
    claims = w.claim(owned)
    world.partition.cancel("a")
    world.partition.cancel_group(b"h")

    assert owned.run(own.hand_back(owned.ownership, claims.ids)) == 3

    assert world.partition.status("a").state is JobState.CANCELLED
    assert world.partition.group(b"h").cancelled == 1
    assert world.counters()["cancelled"] == 2
    assert snapshot(world)["cancels"] == set()
    assert w.drain(owned) == ["c"]


def test_cancelling_twice_counts_once(world: World) -> None:
    world.own()
    w.enqueue(world, ["a"])

    assert world.partition.cancel("a") is JobState.READY
    assert world.partition.cancel("a") is JobState.UNKNOWN
    assert world.counters()["cancelled"] == 1


def test_a_group_is_cancelled_wherever_its_jobs_are(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("run", 3))
    w.claim(owned, 3)
    for tier in (0, 2):
        w.enqueue(world, w.names(f"ready{tier}-", 250 // (tier + 1)), tier=tier)
    w.enqueue(world, w.names("late", 30), delay_ms=1_000)
    w.enqueue(world, ["other"], b"other")

    cancelled, asked = world.partition.cancel_group(b"g")

    assert (cancelled, asked) == (250 + 83 + 30, 3)
    group = world.partition.group(b"g")
    assert (group.cancelled, group.in_flight, group.delayed) == (363, 3, 0)
    assert group.left == 3
    assert w.drain(owned) == ["other"]
    assert w.renew(owned).cancels == {b"run00000", b"run00001", b"run00002"}


def test_cancelling_a_group_twice_or_one_that_never_was_does_nothing(world: World) -> None:
    world.own()
    w.enqueue(world, w.names("a", 3))
    world.partition.cancel_group(b"g")

    assert world.partition.cancel_group(b"g") == (0, 0)
    assert world.partition.cancel_group(b"never") == (0, 0)
    assert world.partition.observe().jobs == 0


def test_jobs_enqueued_after_a_cancel_are_not_touched(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["old"])
    world.partition.cancel_group(b"g")

    w.enqueue(world, ["new"])  # in the same millisecond, in memory
    w.enqueue(world, ["late"], delay_ms=1_000)

    claims = w.claim(owned)
    assert list(claims.ids) == [b"new"]
    assert w.retry(owned, [b"new"]) == b"r"
    world.advance(2)
    assert w.promote(owned).promoted == 2
    assert sorted(w.drain(owned)) == ["late", "new"]


def test_jobs_enqueued_between_the_steps_of_a_cancel_stay(world: World) -> None:
    w.enqueue(world, w.names("j", 199))
    w.enqueue(world, w.names("k", 100))
    cursor, cancelled, _asked = world.partition.run(produce.cancel_group(b"g", b"start"))
    w.enqueue(world, ["later"])

    while cursor:
        cursor, more, _asked = world.partition.run(produce.cancel_group(b"g", cursor))
        cancelled += more

    assert cancelled == 299
    assert w.claim(world.own(), 200).ids == [b"later"]
    assert world.partition.group(b"g").left == 1


def test_a_job_of_a_cancelled_group_is_dropped_wherever_it_turns_up(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["retried", "running"])
    w.claim(owned, 2)
    world.partition.cancel_group(b"g")

    assert w.retry(owned, [b"retried"]) == b"c"
    assert owned.run(own.end_cancelled(owned.ownership, [b"running"])) == 1

    group = world.partition.group(b"g")
    assert (group.cancelled, group.left) == (2, 0)
    assert group.finished_ms is not None


def test_jobs_that_become_due_between_the_steps_of_a_cancel_are_dropped(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("late", 3), delay_ms=1_000)
    world.advance(2)
    cursor, cancelled, _asked = world.partition.run(produce.cancel_group(b"g", b"start"))

    promoted = w.promote(owned)
    while cursor:
        cursor, more, _asked = world.partition.run(produce.cancel_group(b"g", cursor))
        cancelled += more

    assert promoted.promoted == 0
    assert cancelled + promoted.cancelled == world.counters()["cancelled"] == 3
    assert world.partition.status("late00000").state is JobState.CANCELLED
    group = world.partition.group(b"g")
    assert (group.cancelled, group.delayed, group.left) == (3, 0, 0)
    assert group.finished_ms is not None
    world.advance(86_401)
    assert world.partition.group(b"g").total == 0
    assert world.partition.status("late00000").state is JobState.UNKNOWN


def test_running_jobs_are_asked_when_no_lane_holds_more(server_world: World) -> None:
    world = server_world
    owned = world.own()
    w.enqueue(world, w.names("a", 250))
    w.claim(owned, 2)
    cursor, _cancelled, asked = world.partition.run(produce.cancel_group(b"g", b"start"))
    assert asked == 0  # who stopped now would claim the 48 that are left
    assert list(w.claim(owned, 1).ids) == [b"a00202"]

    while cursor:
        assert w.renew(owned).cancels == set()
        cursor, _cancelled, asked = world.partition.run(produce.cancel_group(b"g", cursor))

    assert asked == 3
    assert w.renew(owned).cancels == {b"a00000", b"a00001", b"a00202"}


def test_jobs_of_a_draining_owner_are_asked_too(world: World) -> None:
    old = world.own()
    w.enqueue(world, ["a"])
    w.claim(old)
    old.run(own.release(old.ownership, drain_lease_ms=60_000))

    assert world.partition.cancel_group(b"g") == (0, 1)

    assert w.renew(old).cancels == {b"a"}
    old.run(own.end_cancelled(old.ownership, [b"a"]))


def test_a_cancelled_group_is_forgotten_after_a_day(world: World) -> None:
    world.own()
    w.enqueue(world, ["a"])
    world.partition.cancel_group(b"g")

    assert world.partition.group(b"g").cancelled == 1
    world.advance(86_401)
    assert world.partition.group(b"g").total == 0


def test_a_group_can_be_cancelled_again_in_the_same_millisecond(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["before"])
    tail = w.tail(b"g")
    again = produce.enqueue(
        [2, b"g", 0, 1, b"between", tail],
        jobs=1,
        size_bytes=13 + len(tail),
        max_depth=9,
        max_bytes=2**40,
    )
    world.partition.cancel_group(b"none")  # a server that knows the script keeps the order
    first = produce.cancel_group(b"g", b"start")
    second = produce.cancel_group(b"g", b"start")

    replies = owned.turn([first, again, second])  # one round trip: no time passes between them

    assert [first.read(replies[0])[1], second.read(replies[2])[1]] == [1, 1]
    assert world.partition.observe().jobs == 0
