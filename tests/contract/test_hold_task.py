"""Jobs of a held task wait for its release: delayed, uncharged, by the claim that finds them."""

from __future__ import annotations

import pytest

from queuepool.errors import InvalidInputError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import gates
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.test_memory_of_ends import back
from tests.contract.world import World


def hold(world: World, task: str = "mail", *, on: bool = True) -> bool:
    return world.partition.run(produce.hold_task(task, on=on))


def release(world: World, task: str = "mail") -> bool:
    return hold(world, task, on=False)


def rouse(owned: OwnedPartition, *tasks: str) -> int:
    """Do all that an owner does once a claim says that tasks were released; returns jobs due."""
    page = owned.run(own.rouse(owned.ownership, b"0", tasks))
    due = page.due
    while page.cursor != b"0":
        page = owned.run(own.rouse(owned.ownership, page.cursor, tasks))
        due += page.due
    return due


def claimed(owned: OwnedPartition, most: int = 200) -> list[bytes]:
    return list(w.claim(owned, most).ids)


def again(owned: OwnedPartition) -> list[bytes]:
    """Rouse, promote and claim."""
    rouse(owned)
    w.promote(owned)
    return claimed(owned)


def test_a_claim_delays_jobs_of_a_held_task_and_takes_the_others(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], task="mail")
    w.enqueue(world, ["c"], task="mails")
    assert hold(world)
    assert not hold(world)

    claims = w.claim(owned, 10)

    assert (claims.ids, claims.taken, claims.roused) == ([b"c"], 3, b"")
    state = world.partition.observe()
    assert (state.held, state.delayed, state.backlog, state.aside) == (2, 0, 0, 0)
    assert list(state.held_tasks) == ["mail"]
    assert state.aside_tasks == ()
    assert world.partition.status("a").state is JobState.DELAYED
    assert world.partition.status("a").attempts == 0


def test_a_claim_that_finds_held_jobs_alone_starts_none(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], task="mail")
    hold(world)
    assert claimed(owned) == []
    world.advance(366 * 86_400)
    w.promote(owned)
    assert claimed(owned) == []


def test_after_the_release_they_are_due_in_their_order(world: World) -> None:
    owned = world.own()
    ids = w.names("n", 450)[::-1]  # not in the order of their bytes
    w.enqueue(world, ids[:300], task="mail")
    hold(world)
    for _ in range(3):
        claimed(owned)
    w.enqueue(world, ids[300:], task="mail")
    assert claimed(owned) == []

    assert release(world)
    assert not release(world)
    assert w.claim(owned, 10).roused == b"0"
    assert rouse(owned) == 450

    found: list[bytes] = []
    while len(found) < len(ids):
        w.promote(owned)
        found += claimed(owned)
    assert found == [i.encode() for i in ids]
    assert w.claim(owned, 10).roused == b""
    assert world.partition.observe().held_tasks == {}


@pytest.mark.parametrize(("back_s", "at_once"), [(60, [b"b", b"a"]), (600, [b"a"])])
def test_a_clock_that_goes_back_a_little_keeps_their_order_and_a_lot_keeps_no_other_job_waiting(
    world: World, back_s: int, at_once: list[bytes]
) -> None:
    owned = world.own()
    hold(world)
    w.enqueue(world, ["b"], task="mail")
    claimed(owned)
    back(world, back_s)
    w.enqueue(world, ["a"], task="mail")
    claimed(owned)

    release(world)

    assert again(owned) == at_once


def test_a_task_held_again_before_its_jobs_are_due_stays_held(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], task="mail")
    hold(world)
    claimed(owned)
    release(world)
    assert hold(world)
    assert w.claim(owned, 10).roused == b""
    assert again(owned) == []
    release(world)
    assert again(owned) == [b"a"]


def test_the_next_owner_learns_that_the_last_one_did_not_finish(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("n", 600), task="mail")
    hold(world)
    while w.claim(owned, 200).taken:
        pass
    release(world)
    if owned.run(own.rouse(owned.ownership, b"0", ())).cursor != b"0":  # not in memory
        assert w.claim(owned, 10).roused == b"1"
    owned.run(own.release(owned.ownership, drain_lease_ms=0))

    owned = world.own()
    w.claim(owned, 10)
    rouse(owned)
    assert w.claim(owned, 10).roused == b""
    assert world.partition.observe().held == 0


def test_a_release_during_a_round_needs_another_one(server_world: World) -> None:
    world, owned = server_world, server_world.own()
    w.enqueue(world, w.names("n", 600), task="mail")
    w.enqueue(world, ["other"], task="other")
    hold(world, "mail")
    hold(world, "other")
    while w.claim(owned, 200).taken:
        pass
    release(world, "mail")
    page = owned.run(own.rouse(owned.ownership, b"0", ()))
    assert page.cursor != b"0"
    release(world, "other")
    while page.cursor != b"0":
        page = owned.run(own.rouse(owned.ownership, page.cursor, ()))
    assert w.claim(owned, 1).roused == b"0"
    rouse(owned)
    assert w.claim(owned, 1).roused == b""
    assert world.partition.observe().held == 0


def test_jobs_of_other_held_and_of_unknown_tasks_stay_where_they_are(world: World) -> None:
    owned = world.own()
    for task in ("mail", "other", "new"):
        w.enqueue(world, [task], task=task)
    hold(world, "mail")
    hold(world, "other")
    assert claimed(owned) == [b"new"]
    owned.run(own.retry(owned.ownership, [(b"new", 30_000, "new", b"")]))

    release(world, "mail")
    assert again(owned) == [b"mail"]
    state = world.partition.observe()
    assert (state.held, state.delayed, state.aside, state.aside_tasks) == (1, 1, 1, ("new",))


def test_a_vacant_partition_with_released_jobs_has_work(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], task="mail")
    hold(world)
    claimed(owned)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert world.partition.run(own.vacancy()).work == 0
    release(world)
    assert world.partition.run(own.vacancy()).work == 2


def test_an_urgent_job_comes_first_when_released(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("n", 150), task="mail")
    w.enqueue(world, ["critical"], task="mail", tier=0)
    hold(world)
    claimed(owned)
    release(world)
    rouse(owned)
    w.promote(owned)
    assert b"critical" in claimed(owned, 100)


def test_a_serial_group_waits_behind_its_held_job_and_keeps_its_order(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], task="mail")
    w.enqueue(world, ["b"], task="write")
    world.partition.run(produce.configure(b"g", serial=True))
    hold(world)
    assert claimed(owned) == []
    assert claimed(owned) == []
    release(world)
    assert again(owned) == [b"a"]
    owned.run(own.hand_back(owned.ownership, [b"a"]))
    assert claimed(owned) == [b"a"]


def test_a_capped_group_has_room_for_others_while_its_jobs_are_held(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], task="mail")
    w.enqueue(world, ["c", "d"], task="write")
    world.partition.run(produce.configure(b"g", max_running=2))
    hold(world)
    assert claimed(owned) == []
    assert claimed(owned) == [b"c", b"d"]


def test_a_held_job_expires_and_never_starts_late(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], task="mail", expires_ms=5000)
    hold(world)
    assert claimed(owned) == []
    world.advance(10)
    release(world)
    assert again(owned) == []
    assert world.partition.status("a").state is JobState.EXPIRED


def test_a_held_job_keeps_the_unique_key_that_it_has_until_its_start(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], task="mail", unique={0: b"k"}, until=b"s")
    hold(world)
    assert claimed(owned) == []
    refused = w.enqueue(world, ["b"], task="mail", unique={0: b"k"}, until=b"s")
    assert isinstance(refused, produce.Conflicts)


def test_a_held_job_is_cancelled_like_a_delayed_one(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], task="mail")
    hold(world)
    claimed(owned)
    assert world.partition.cancel("a") is JobState.DELAYED
    assert world.partition.cancel_group(b"g") == (1, 0)
    assert world.partition.observe().jobs == 0


def test_names_are_compared_as_they_are_in_bodies(world: World) -> None:
    owned = world.own()
    names = ['a"b', "a\\b", "ärger", "a\nb", "%d+", "a/b"]
    for number, name in enumerate(names):
        w.enqueue(world, [f"j{number}"], task=name)
        assert hold(world, name)
    assert claimed(owned) == []
    for name in names:
        assert release(world, name)
    assert len(again(owned)) == len(names)


def test_only_so_many_tasks_are_held(world: World) -> None:
    for number in range(produce.MAX_HELD_TASKS):
        assert hold(world, f"task-{number}")
    with pytest.raises(InvalidInputError, match="100 others"):
        hold(world)
    release(world, "task-1")
    with pytest.raises(InvalidInputError, match="100 others"):
        hold(world)
    rouse(world.own())
    assert hold(world)


def test_an_admitted_job_returns_to_the_front_of_its_gate(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], task="mail", limits=b"slow")
    claimed(owned)
    assert owned.run(gates.admit(owned.ownership, "slow", 1, most_waiting=10)).admitted == 1
    hold(world)
    assert claimed(owned) == []
    release(world)
    assert again(owned) == []
    assert world.partition.observe().parked == 2
