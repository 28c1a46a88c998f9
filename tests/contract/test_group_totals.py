"""What a group says of its jobs: success is counted, and the dead who left are not successes."""

import pytest

from queuepool.models import GroupStatus
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


def states(group: GroupStatus) -> dict[str, int]:
    """Return the states that are not 0."""
    names = ("ready", "delayed", "in_flight", "done", "dead", "cancelled", "evicted", "discarded")
    return {name: getattr(group, name) for name in names if getattr(group, name)}


def test_evicted_jobs_are_not_done(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c", "d"])
    claims = w.claim(owned)
    w.bury(owned, claims.ids[:3], keep_jobs=1)
    w.finish(owned, claims, 3)

    group = world.partition.group(b"g")

    assert states(group) == {"done": 1, "dead": 1, "evicted": 2}
    assert (group.left, group.died) == (0, 3)


def test_discarded_jobs_are_not_done(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    claims = w.claim(owned)
    w.bury(owned, claims.ids[:2])
    world.partition.discard(["a", "never"])
    w.finish(owned, claims, 2)

    group = world.partition.group(b"g")

    assert states(group) == {"done": 1, "dead": 1, "discarded": 1}
    assert group.died == 2


def test_a_job_that_was_replayed_and_finished_is_done(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.bury(owned, w.claim(owned).ids)
    world.partition.replay(["a"])
    w.drain(owned)

    group = world.partition.group(b"g")

    assert states(group) == {"done": 1}
    assert group.died == 0


def test_each_state_of_a_group_is_counted_and_they_sum_up_to_its_total(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["done", "evicted", "discarded", "dead", "ran", "retried"])
    claims = w.claim(owned)
    w.finish(owned, claims, 0)
    w.bury(owned, [b"evicted", b"discarded", b"dead"], keep_jobs=2)
    world.partition.discard(["discarded"])
    w.retry(owned, [b"retried"], delay_ms=60_000)
    w.enqueue(world, ["ready"])
    w.enqueue(world, ["cancelled"], delay_ms=60_000)
    world.partition.cancel("cancelled")

    group = world.partition.group(b"g")

    assert states(group) == {
        "done": 1, "evicted": 1, "discarded": 1, "dead": 1, "in_flight": 1, "delayed": 1,
        "ready": 1, "cancelled": 1,
    }  # fmt: skip
    assert group.total == 8


def test_what_a_finish_did_not_find_is_not_done(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    claims = w.claim(owned)
    w.bury(owned, [b"b"])

    finished = [w.finish(owned, claims) for _ in range(2)]

    assert finished == [own.Finished(2, 1, 0), own.Finished(0, 3, 0)]
    assert states(world.partition.group(b"g")) == {"done": 2, "dead": 1}


def test_a_group_named_twice_in_one_finish_counts_both_times(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    w.claim(owned)
    size = 13 + len(w.tail(b"g"))

    reply = owned.partition.server.run(
        owned.partition.key,
        [Verb("finish", [owned.ownership.nonce, owned.ownership.epoch, 2, "a", "b",
                             "g", size, 1, 0, "g", size, 1, 0], list)],
    )  # fmt: skip

    assert reply == [[2, 0, 0]]
    assert states(server_world.partition.group(b"g")) == {"done": 2}


def test_two_jobs_of_a_group_that_end_late_in_one_call_are_both_counted(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    w.claim(owned)

    owned.run(own.finish_stray(owned.ownership, [(i, b"", 0, b"") for i in (b"a", b"b")]))

    assert states(world.partition.group(b"g")) == {"done": 2, "in_flight": 1}


@pytest.mark.parametrize("first", ["finish", "finish_stray", "evict", "discard"])
def test_the_totals_of_a_version_without_done_are_taken_over(
    server_world: World, first: str
) -> None:
    world, owned = server_world, server_world.own()
    w.enqueue(world, ["a", "b", "c", "d", "e"])
    claims = w.claim(owned)
    w.finish(owned, claims, 0)
    w.bury(owned, [b"b", b"c"])
    world.client.hdel(world.partition.key + b":g:g", "done")
    assert states(world.partition.group(b"g")) == {"done": 1, "dead": 2, "in_flight": 2}

    if first == "evict":
        w.bury(owned, [b"d"], keep_jobs=2)
    elif first == "discard":
        world.partition.discard(["b"])
    elif first == "finish_stray":
        owned.run(own.finish_stray(owned.ownership, [(b"d", b"", 0, b"")]))
    else:
        w.finish(owned, claims, 3)
    w.finish(owned, claims, 4)

    assert states(world.partition.group(b"g")) == {
        "finish": {"done": 3, "dead": 2},
        "finish_stray": {"done": 3, "dead": 2},
        "evict": {"done": 2, "dead": 2, "evicted": 1},
        "discard": {"done": 2, "dead": 1, "discarded": 1, "in_flight": 1},
    }[first]  # fmt: skip
