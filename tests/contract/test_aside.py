"""Jobs of a task that no consumer knows are set aside: delayed, uncharged, due when one does."""

from collections.abc import Sequence

import pytest

from queuepool.errors import FencedError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.test_memory_of_ends import back
from tests.contract.world import World

ERROR = b'{"reason":"unknown-task"}'


def set_aside(
    owned: OwnedPartition, ids: Sequence[bytes], task: str = "new", delay_ms: int = 30_000
) -> bytes:
    return owned.run(own.retry(owned.ownership, [(i, delay_ms, task, ERROR) for i in ids]))


def aside(
    world: World,
    *ids: str,
    task: str = "new",
    group: bytes = b"g",
    owned: OwnedPartition | None = None,
) -> OwnedPartition:
    """Enqueue jobs, claim them, and set them aside; returns the owner."""
    owned = owned or world.own()
    w.enqueue(world, ids, group)
    claimed = w.claim(owned, len(ids)).ids
    assert set_aside(owned, claimed, task) == b"r" * len(ids)
    return owned


def replaced(world: World, owned: OwnedPartition) -> OwnedPartition:
    """Return the next owner, when this one has left."""
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    return world.own()


def rouse(owned: OwnedPartition, *tasks: str) -> dict[str, int]:
    """Make all of these tasks' jobs due; returns how many of each."""
    cursor, total = b"0", dict[str, int]()
    while True:
        page = owned.run(own.rouse(owned.ownership, cursor, tasks))
        cursor, told = page.cursor, page.jobs
        for task, n in told.items():
            total[task] = total.get(task, 0) + n
        if cursor == b"0":
            return total


def test_a_job_set_aside_is_delayed_counted_and_charged_nothing(world: World) -> None:
    aside(world, "a", "b")

    state, job = world.partition.observe(), world.partition.status("a")
    group = world.partition.group(b"g")

    assert (state.delayed, state.aside, state.aside_tasks) == (2, 2, ("new",))
    assert state.counters.get("failed", 0) == 0
    assert state.backlog == 0  # it makes no worker wanted
    assert (job.state, job.attempts) == (JobState.DELAYED, 0)
    assert job.error is not None
    assert job.error.reason == "unknown-task"
    assert (group.delayed, group.left) == (2, 2)


def test_it_is_said_to_be_due_only_when_it_is(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    set_aside(owned, w.claim(owned, 1).ids, delay_ms=20)

    while True:
        told_ms = w.renew(owned).next_due_ms
        promoted = owned.run(own.promote(owned.ownership))
        if promoted.promoted:
            break
        assert told_ms, "it is due, says renew"
        assert promoted.next_due_ms, "it is due, says promote"
        if world.in_memory:
            world.advance(0.001)


def test_when_its_pause_is_over_it_is_ready_in_its_order_and_waits_for_no_task(
    world: World,
) -> None:
    names = [f"job-{n:03}" for n in range(99, 0, -1)]  # not in the order of their bytes
    owned = aside(world, *names)
    world.advance(31)

    w.promote(owned)

    assert w.claim(owned, 200).ids == [name.encode() for name in names]
    assert world.partition.observe().aside == 0
    assert world.partition.status(names[0]).error is None


def test_who_is_set_aside_later_is_due_later_whatever_its_pause(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["b", "a", "c"])
    claimed = w.claim(owned).ids
    for job_id, delay_ms in zip(claimed, (60_000, 1_000, 30_000), strict=True):
        set_aside(owned, [job_id], delay_ms=delay_ms)

    world.advance(40)
    assert w.promote(owned).promoted == 0
    world.advance(21)
    w.promote(owned)

    assert w.claim(owned).ids == claimed


def test_a_clock_that_went_back_keeps_nobody_waiting(server_world: World) -> None:
    owned = server_world.own()
    aside(server_world, "a", owned=owned)
    server_world.client.hincrby(server_world.partition.key + b":c", "aside", 3_600_000)

    aside(server_world, "b", owned=owned)
    server_world.advance(31)

    assert w.promote(owned).promoted == 2


def test_who_knows_the_task_makes_its_jobs_due_at_once_after_a_clock_went_back(
    world: World,
) -> None:
    owned = aside(world, "a", "b")
    back(world, 3600)

    assert rouse(owned, "new") == {"new": 2}

    assert w.promote(owned).promoted == 2
    assert w.claim(owned).ids == [b"a", b"b"]


def test_who_knows_the_task_makes_its_jobs_due_at_once_in_their_order(world: World) -> None:
    names = [f"job-{n:03}" for n in range(99, 0, -1)]
    first = aside(world, *names)
    aside(world, "other", task="still-unknown", owned=first)
    w.enqueue(world, ["later"], delay_ms=600_000)
    owned = replaced(world, first)

    assert rouse(owned, "new", "old") == {"new": 99}
    assert rouse(owned, "new", "old") == {"new": 99}  # a repeat changes nothing

    w.promote(owned)
    assert w.claim(owned, 200).ids == [name.encode() for name in names]
    state = world.partition.observe()
    assert (state.delayed, state.aside, state.aside_tasks) == (2, 1, ("still-unknown",))


def test_a_thousand_jobs_set_aside_are_made_due_page_by_page(world: World) -> None:
    owned = world.own()
    for page in range(10):
        ids = w.names(f"p{page}-", 100)
        w.enqueue(world, ids)
        set_aside(owned, w.claim(owned, 100).ids)

    assert rouse(owned, "new") == {"new": 1000}

    assert w.promote(owned).promoted == 1000
    assert world.partition.observe().aside == 0


def test_a_job_set_aside_can_be_cancelled(world: World) -> None:
    aside(world, "a", "b")

    assert world.partition.cancel("a") is JobState.DELAYED

    assert world.partition.status("a").state is JobState.CANCELLED
    assert world.partition.observe().aside == 1


def test_jobs_set_aside_are_cancelled_with_their_group(world: World) -> None:
    owned = aside(world, "a", "b")
    aside(world, "other", group=b"other", owned=owned)

    assert world.partition.cancel_group(b"g") == (2, 0)

    assert world.partition.observe().aside == 1
    world.advance(31)
    w.promote(owned)
    assert world.partition.observe().aside == 0


def test_an_end_that_a_failover_undid_leaves_no_trace_of_waiting(world: World) -> None:
    owned = world.own(nonce="first")
    w.enqueue(world, ["a"])
    claims = w.claim(owned)
    set_aside(owned, claims.ids)

    w.finish(owned, claims)

    state = world.partition.observe()
    assert (state.aside, state.jobs) == (0, 0)


def test_a_name_may_be_any_text(world: World) -> None:
    owned = aside(world, "a", task=": odd:é'1")

    assert world.partition.observe().aside_tasks == (": odd:é'1",)
    assert rouse(owned, "1") == {}
    assert rouse(owned, ": odd:é'1") == {": odd:é'1": 1}


def test_only_the_owner_rouses(world: World) -> None:
    stale = aside(world, "a")
    replaced(world, stale)

    with pytest.raises(FencedError):
        rouse(stale, "new")

    assert world.partition.observe().aside == 1


def test_observe_names_a_few_of_many_tasks(world: World) -> None:
    owned = world.own()
    ids = w.names("j", 150)
    w.enqueue(world, ids)
    for n, job_id in enumerate(w.claim(owned, 150).ids):
        set_aside(owned, [job_id], f"task-{n}")

    state = world.partition.observe()

    assert state.aside == 150
    assert 0 < len(state.aside_tasks) <= 100
