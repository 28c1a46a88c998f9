"""After a crash: what ran is charged, what waited is not, order is kept, poison dies."""

from collections.abc import Sequence

import pytest

from queuepool.models import JobState
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def crash(world: World) -> None:
    """Let the lease of an owner end that never says a word again."""
    world.advance(11)


def test_a_dead_owners_jobs_come_first_and_in_order(world: World) -> None:
    dead = world.own(lease_s=10)
    w.enqueue(world, w.names("j", 8))
    w.claim(dead, 2, starting=2)
    w.claim(dead, 3, starting=0)
    w.enqueue(world, ["later"])
    crash(world)
    owned = world.own()

    steps = w.recover(owned)

    assert sum(s.recovered for s in steps) == 5
    assert sum(s.crashed for s in steps) == 2
    assert w.drain(owned) == [*w.names("j", 8), "later"]
    assert world.counters()["recovered"] == 5


def test_only_started_jobs_are_charged_a_crash(world: World) -> None:
    dead = world.own(lease_s=10)
    w.enqueue(world, ["ran", "asked", "waited"])
    w.claim(dead, 3, starting=1)
    dead.run(own.start(dead.ownership, [b"asked"]))
    crash(world)

    w.recover(world.own())

    charged = [world.partition.status(i).crashes for i in ("ran", "asked", "waited")]
    assert charged == [1, 1, 0]
    assert world.partition.status("ran").attempts == 0


def test_a_job_that_waited_in_a_memory_that_died_is_charged_if_that_happens_again(
    world: World,
) -> None:
    dead = world.own(lease_s=10)
    w.enqueue(world, ["ran", "waited", "ready"])
    w.claim(dead, 2, starting=1)
    crash(world)
    owned = world.own()
    w.recover(owned)

    claims = w.claim(owned, 3, starting=1)

    assert list(claims.crashes) == [b"1", b"0", None]
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert sum(step.crashed for step in w.recover(world.own())) == 1
    assert [world.partition.status(i).crashes for i in ("ran", "waited", "ready")] == [1, 1, 0]


def test_a_job_that_crashes_its_consumer_three_times_dies(world: World) -> None:
    w.enqueue(world, ["poison"])
    for _ in range(3):
        dead = world.own(lease_s=10)
        w.recover(dead)
        claims = w.claim(dead)
        dead.run(own.start(dead.ownership, claims.ids))
        crash(world)
    owned = world.own()

    [step] = w.recover(owned)

    assert (step.crashed, step.buried, step.recovered) == (1, (b"poison",), 0)
    status = world.partition.status("poison")
    assert (status.state, status.crashes) == (JobState.DEAD, 3)
    assert status.error is not None
    assert status.error.reason == "crashed"
    group = world.partition.group(b"g")
    assert (group.dead, group.left) == (1, 0)
    assert world.counters()["died"] == 1
    assert group.finished_ms is not None
    assert w.drain(owned) == []


def test_a_large_book_is_recovered_in_steps_of_200(world: World) -> None:
    dead = world.own(lease_s=10)
    ids = w.names("j", 500)
    for i in range(0, 500, 100):
        w.enqueue(world, ids[i : i + 100], b"g%d" % (i // 250))
    for starting in (120, 0, 0):
        w.claim(dead, 200, starting=starting)
    in_order = [i.decode() for i in w.book(dead)]
    crash(world)
    owned = world.own()

    steps = w.recover(owned)

    assert [s.recovered for s in steps] == [200, 180, 120]
    assert [s.crashed for s in steps] == [0, 0, 120]
    for group in (ids[:300], ids[300:]):
        expected = [i for i in in_order if i in set(group)]
        assert [i for i in _peek(world) if i in set(group)] == expected
    assert sorted(w.drain(owned)) == ids


def _peek(world: World) -> list[str]:
    lanes = snapshot(world)["lanes"]
    return [i.decode() for lane in lanes.values() for i in lane]


def test_books_of_several_dead_owners_are_recovered_one_after_the_other(world: World) -> None:
    w.enqueue(world, ["a", "b"])
    for _ in range(2):
        dead = world.own(lease_s=10)
        w.claim(dead, 1)
        crash(world)
    owned = world.own()
    assert owned.acquired.epochs_to_recover == 2

    steps = w.recover(owned)

    assert [s.epochs_to_recover for s in steps] == [1, 0]
    assert sorted(w.drain(owned)) == ["a", "b"]


def test_a_cancelled_job_is_not_recovered(world: World) -> None:
    dead = world.own(lease_s=10)
    w.enqueue(world, ["one", "other"])
    w.enqueue(world, ["all"], b"gone")
    w.claim(dead)
    world.partition.cancel("one")
    world.partition.cancel_group(b"gone")
    crash(world)
    owned = world.own()

    [step] = w.recover(owned)

    assert (step.cancelled, step.recovered, step.crashed) == (2, 1, 1)
    assert world.partition.status("one").state is JobState.CANCELLED
    assert w.drain(owned) == ["other"]


def test_there_may_be_nothing_to_recover(world: World) -> None:
    owned = world.own()

    assert w.recover(owned) == [own.Recovered(0, 0, 0, 0)]


@pytest.mark.parametrize("state", ["rec", "dr", "fl"])
def test_status_finds_jobs_of_dead_and_draining_owners(world: World, state: str) -> None:
    old = world.own(lease_s=10)
    w.enqueue(world, ["a"])
    w.claim(old)
    if state == "rec":
        crash(world)
        world.own()
    elif state == "dr":
        old.run(own.release(old.ownership, drain_lease_ms=60_000))
        world.own()

    status = world.partition.status("a")

    assert status.state is JobState.IN_FLIGHT
    assert world.partition.cancel("a") is JobState.IN_FLIGHT
    assert world.partition.observe().in_flight == 1


def begin_again(world: World, crashes: int, ids: Sequence[str]) -> None:
    """Let all these jobs run in so many crashes, none of which buries one; recover the last."""
    w.enqueue(world, ids)
    for _ in range(crashes):
        dead = world.own(lease_s=10)
        w.recover(dead)
        dead.run(own.start(dead.ownership, w.claim(dead, 200, starting=0).ids))
        crash(world)
    w.recover(world.own(lease_s=10))
    crash(world)


def crash_in_order(world: World, ids: Sequence[str], max_crashes: int = 3) -> list[own.Recovered]:
    """Let these jobs begin in this order under one epoch, crash, and recover."""
    dead = world.own(lease_s=10)
    w.claim(dead, 200, starting=0)
    for start in range(0, len(ids), 200):
        dead.run(own.start(dead.ownership, [i.encode() for i in ids[start : start + 200]]))
    crash(world)
    steps = w.recover(world.own(lease_s=10), max_crashes=max_crashes)
    crash(world)
    return steps


def test_the_last_crash_buries_only_the_job_that_began_last(world: World) -> None:
    begin_again(world, 2, ["first", "second", "third"])

    [step] = crash_in_order(world, ["second", "third", "first"])

    assert (step.crashed, step.buried, step.recovered) == (3, (b"first",), 2)
    assert world.partition.status("first").state is JobState.DEAD
    charged = [world.partition.status(i).crashes for i in ("first", "second", "third")]
    assert charged == [3, 3, 3]


def test_a_job_after_which_others_began_survives_three_crashes_more(world: World) -> None:
    begin_again(world, 2, ["slow"])
    for n in range(4):
        w.enqueue(world, [f"other-{n}"])
        assert world.partition.status("slow").state is JobState.READY
        steps = crash_in_order(world, ["slow", f"other-{n}"])

    assert [one for step in steps for one in step.buried] == [b"slow"]
    assert (world.partition.status("slow").crashes, world.counters()["died"]) == (6, 1)


def test_where_one_crash_buries_it_buries_all_that_ran(world: World) -> None:
    w.enqueue(world, ["a", "b", "c"])

    [step] = crash_in_order(world, ["a", "b", "c"], max_crashes=1)

    assert (step.buried, step.recovered) == ((b"c", b"b", b"a"), 0)


def test_of_a_large_book_one_job_began_last_whatever_the_steps(world: World) -> None:
    ids = w.names("j", 200)
    begin_again(world, 2, ids)
    more = w.names("k", 60)
    w.enqueue(world, more)
    dead = world.own(lease_s=10)
    w.claim(dead, 200, starting=0)
    w.claim(dead, 200, starting=0)
    dead.run(own.start(dead.ownership, [i.encode() for i in ids]))
    dead.run(own.start(dead.ownership, [i.encode() for i in more]))
    crash(world)

    first = world.own(lease_s=10)
    steps = [first.run(own.recover(first.ownership, max_crashes=3, error=b"{}"))]
    crash(world)  # before the second step: its successor continues
    steps += w.recover(world.own())

    assert [step.crashed for step in steps] == [200, 60]
    assert not any(step.buried for step in steps)


def test_progress_ends_with_a_crash(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    owned.run(own.progress(owned.ownership, dict.fromkeys(w.claim(owned).ids, b"half")))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))

    w.recover(world.own())

    assert world.partition.status("a").progress is None
