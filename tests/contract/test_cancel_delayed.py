"""Cancelling a group costs its own delayed jobs, however many others wait for their time."""

import pytest

from queuepool.models import JobState
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World


def calls_to_cancel(world: World, group: bytes) -> tuple[int, int]:
    """Cancel a group as a client does; returns (calls, jobs cancelled)."""
    cursor, calls, cancelled = b"start", 0, 0
    while cursor:
        cursor, n, _ = world.partition.run(produce.cancel_group(group, cursor))
        calls, cancelled = calls + 1, cancelled + n
    return calls, cancelled


def test_it_does_not_look_at_the_delayed_jobs_of_others(world: World) -> None:
    for start in range(0, 6_000, 200):
        w.enqueue(world, w.names(f"other{start}-", 200), b"other", delay_ms=60_000)
    w.enqueue(world, w.names("mine", 10), b"mine", delay_ms=60_000)

    calls, cancelled = calls_to_cancel(world, b"mine")

    assert cancelled == 10
    assert calls <= 4
    assert world.partition.observe().delayed == 6_000


def test_many_of_its_own_take_many_bounded_calls(server_world: World) -> None:
    for start in range(0, 3_000, 200):
        w.enqueue(server_world, w.names(f"mine{start}-", 200), b"mine", delay_ms=60_000)

    calls, cancelled = calls_to_cancel(server_world, b"mine")

    assert cancelled == 3_000
    assert 3_000 / 400 < calls < 50
    assert server_world.client.exists(server_world.partition.key + b":dg:mine") == 0


@pytest.mark.parametrize("many", [1, 600])
def test_later_delayed_jobs_of_the_group_stay_and_end_the_round(world: World, many: int) -> None:
    w.enqueue(world, ["a", "b"], delay_ms=60_000)
    cursor = world.partition.run(produce.cancel_group(b"g", b"start"))[0]
    later = w.names("later", many)
    for start in range(0, many, 200):
        w.enqueue(world, later[start : start + 200], delay_ms=60_000)
    calls = 0
    while cursor and calls < 9:
        cursor, calls = world.partition.run(produce.cancel_group(b"g", cursor))[0], calls + 1

    assert not cursor
    assert world.partition.status(later[-1]).state is JobState.DELAYED
    assert world.partition.group(b"g").delayed == many


def test_jobs_that_a_version_before_delayed_are_found_all_the_same(server_world: World) -> None:
    world, index = server_world, server_world.partition.key + b":dg:g"
    w.enqueue(world, ["a", "b", "c"], delay_ms=60_000)
    world.client.srem(index, "a", "b")  # that version kept no index
    world.client.sadd(index, "promoted-by-it", "promoted-by-it-too", "and-one-more")

    _calls, cancelled = calls_to_cancel(world, b"g")

    assert cancelled == 3
    assert world.partition.observe().jobs == 0
    assert world.client.exists(index) == 0


def test_what_a_version_before_left_in_the_index_goes_with_the_last_delayed_job(
    server_world: World,
) -> None:
    world, index = server_world, server_world.partition.key + b":dg:g"
    owned = world.own()
    w.enqueue(world, ["a", "b"], delay_ms=1)
    world.client.sadd(index, "promoted-by-it")

    world.advance(1)
    w.promote(owned)

    assert world.client.exists(index) == 0
    assert w.drain(owned) == ["a", "b"]


def test_a_repair_indexes_what_a_version_before_delayed(server_world: World) -> None:
    world, index = server_world, server_world.partition.key + b":dg:g"
    w.enqueue(world, ["a", "b"], delay_ms=60_000)
    world.client.delete(index)

    assert world.partition.audit().clean
    assert world.client.exists(index) == 0
    world.partition.audit(repair=True)

    assert world.client.smembers(index) == {b"a", b"b"}


@pytest.mark.parametrize("leave", ["promote", "cancel", "stray", "cancel_group"])
def test_the_index_follows_every_way_out_of_delayed(server_world: World, leave: str) -> None:
    world, index = server_world, server_world.partition.key + b":dg:g"
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    claims = w.claim(owned)
    w.retry(owned, claims.ids, delay_ms=60_000)
    w.enqueue(world, ["c"], delay_ms=120_000)
    assert world.client.smembers(index) == {b"a", b"b", b"c"}

    if leave == "promote":
        world.advance(61)
        w.promote(owned)
    elif leave == "stray":
        assert w.finish(owned, claims) == own.Finished(2, 0, 2)
    elif leave == "cancel":
        world.partition.cancel("a")
        world.partition.cancel("b")
    else:
        world.partition.cancel_group(b"g")

    left = set() if leave == "cancel_group" else {b"c"}
    assert world.client.smembers(index) == left
    assert world.partition.group(b"g").delayed == len(left)


def test_due_jobs_keep_their_order_and_their_lanes_get_seats_in_it(world: World) -> None:
    owned = world.own()
    for n, (group, tier) in enumerate([(b"x", 2), (b"y", 2), (b"x", 2), (b"x", 0), (b"y", 2)]):
        w.enqueue(world, [f"j{n}"], group, tier=tier, delay_ms=1_000 + n)
    world.partition.cancel("j1")
    world.advance(2)

    assert w.promote(owned) == own.Promoted(4, 0, None)

    assert world.partition.observe().ready == (1, 0, 3, 0)
    assert world.partition.observe().lanes == (1, 0, 2, 0)
    assert w.drain(owned) == ["j3", "j0", "j2", "j4"]
