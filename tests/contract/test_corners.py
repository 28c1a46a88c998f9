"""Rare meetings: a lane that was lost alone, one group twice in a call, a job in a new book."""

from __future__ import annotations

from typing import Any

from queuepool.errors import FencedError
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.test_inspect import lose_lane
from tests.contract.world import World


def test_a_partition_with_no_more_than_an_empty_seat_gives_nothing(world: World) -> None:
    world.damaged = True
    owned = world.own()
    w.enqueue(world, ["a"], b"gone")
    lose_lane(world, b"gone")

    claims = w.claim(owned)

    assert (list(claims.ids), claims.taken) == ([], 0)
    assert world.partition.observe().lanes == (0, 0, 0, 0)


def test_a_group_may_come_twice_in_one_call(world: World) -> None:
    body = w.tail(b"g")
    runs: list[Any] = [1, b"g", 0, 1, "a", body, 2, b"g", 0, 2, "b", body, "c", body]
    runs += [2, b"g", 60_000, 1, "d", body]
    verb = produce.enqueue(runs, jobs=4, size_bytes=4 * (13 + len(body)), **w.LIMITS)

    assert world.partition.run(verb) == b"1111"

    group = world.partition.group(b"g")
    assert (group.total, group.left, group.ready, group.delayed) == (4, 4, 3, 1)


def test_a_predecessor_finishes_a_job_that_its_successor_has_claimed_since(world: World) -> None:
    old = world.own()
    w.enqueue(world, ["a", "b"])
    claims = w.claim(old)
    old.run(own.hand_back(old.ownership, [b"a"]))
    old.run(own.release(old.ownership, drain_lease_ms=60_000))
    new = world.own()
    assert w.claim(new).ids == [b"a"]

    assert w.finish(old, claims) == own.Finished(2, 0, 1)

    assert w.book(new) == []
    assert world.partition.observe().jobs == 0


def test_bytes_of_jobs_that_crashed_to_death_are_counted_and_freed(world: World) -> None:
    w.enqueue(world, ["a"])
    owned = world.own()
    for _ in range(3):
        claims = w.claim(owned)
        owned.run(own.start(owned.ownership, claims.ids))
        owned.run(own.release(owned.ownership, drain_lease_ms=0))
        owned = world.own()
        w.recover(owned)
    [dead] = world.partition.dead()
    assert dead.crashes == 3
    assert world.counters()["dead_bytes"] == world.partition.observe().bytes > 0

    world.partition.discard(["a"])

    assert "dead_bytes" not in world.counters()


def test_counts_set_by_hand_are_dropped_when_their_time_is_over(world: World) -> None:
    def ask(verb: Verb[Any]) -> Any:
        return verb.read(world.partition.server.run(world.system, [verb])[0])

    for partition in range(5):
        ask(lead.set_manual(partition, 3, ttl_ms=1_000))
    world.advance(2)
    ask(lead.set_manual(9, 3, ttl_ms=1_000))

    [reply] = world.partition.server.run(world.system, [lead.lead("", lease_ms=1_000, address="")])
    assert not isinstance(reply, FencedError | Exception)
    assert [bytes(p) for p in reply[5][::2]] == [b"9"]


def test_a_renewal_lets_a_predecessor_drain_for_longer(world: World) -> None:
    old = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(old)
    old.run(own.release(old.ownership, drain_lease_ms=60_000))
    new = world.own()
    world.advance(50)

    w.renew(old, lease_s=60)

    world.advance(50)
    assert w.renew(new).epochs_to_recover == 0
    assert w.finish(old, claims).finished == 1


def test_release_tells_whether_anything_is_left_to_drain(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    drain = own.release(owned.ownership, drain_lease_ms=60_000)
    leave = own.release(owned.ownership, drain_lease_ms=0)

    assert world.partition.server.run(world.partition.key, [drain, leave]) == [2, 1]


def test_a_job_that_comes_in_the_moment_of_a_cancellation_is_not_touched_by_it(
    world: World,
) -> None:
    owned = world.own()
    w.enqueue(world, ["old"])
    world.partition.cancel_group(b"other")  # the server knows the script from here on
    body = w.tail(b"g")
    begin = produce.cancel_group(b"g", b"start")
    new = produce.enqueue(
        [2, b"g", 1, 1, "new", body], jobs=1, size_bytes=13 + len(body), **w.LIMITS
    )

    # Each begins again, with a later cut; the last ones are ahead of the clock.
    replies = world.partition.server.run(world.partition.key, [*[begin] * 50, new])

    assert replies[-1] == b"1"
    world.advance(1)
    assert w.promote(owned) == own.Promoted(1, 0, None)
    assert world.partition.group(b"g").cancelled == 1
