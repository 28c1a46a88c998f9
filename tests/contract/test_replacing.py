"""A newer job with the unique key of one that waits gives it its payload; and a new delay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer.verbs import Conflicts
from queuepool.verbs.producer.verbs import enqueue as enqueue_verb
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World

REPLACED, KEPT_OUT = Conflicts(b"3", (b"a",)), Conflicts(b"2", (b"a",))


def enqueue(world: World, job_id: str, n: int, mode: bytes = b"r", **more: Any) -> object:
    payload = b'{"n":%s}' % (b"1" * n)
    return w.enqueue(world, [job_id], payload=payload, unique={0: b"k"}, until=b"e" + mode, **more)


def payload_of(body: bytes) -> int:
    return len(str(codec.decode_envelope(body).payload["n"]))


def claimed(owned: OwnedPartition) -> dict[str, int]:
    claims = w.claim(owned)
    return {i.decode(): payload_of(b) for i, b in zip(claims.ids, claims.bodies, strict=True)}


@pytest.mark.parametrize("mode", [b"r", b"d"])
def test_a_ready_job_keeps_its_place_and_runs_with_the_newest_payload(
    world: World, mode: bytes
) -> None:
    owned = world.own()
    enqueue(world, "a", 1)
    w.enqueue(world, ["other"], payload=b'{"n":1}')

    assert enqueue(world, "b", 9, mode, delay_ms=1_000) == REPLACED
    assert enqueue(world, "c", 5, mode, tier=0) == REPLACED

    assert world.partition.status("b").state is JobState.UNKNOWN
    assert list(claimed(owned).items()) == [("a", 5), ("other", 1)]
    assert world.counters()["replaced"] == 2
    assert "conflicts" not in world.counters()
    assert world.partition.group(b"g").total == 2
    assert snapshot(world)["unique"] == ({b"k": b"a"}, {b"a": b"ek"})


def test_a_delayed_job_keeps_its_time_when_it_is_replaced(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1, delay_ms=10_000)
    world.advance(6)
    assert enqueue(world, "b", 2, delay_ms=10_000) == REPLACED
    world.advance(5)

    w.promote(owned)

    assert claimed(owned) == {"a": 2}


def test_its_delay_begins_again_when_it_is_debounced(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1, b"d", delay_ms=10_000)
    world.advance(6)
    assert enqueue(world, "b", 2, b"d", delay_ms=10_000) == REPLACED
    world.advance(6)
    assert w.promote(owned).promoted == 0

    world.advance(5)
    w.promote(owned)

    assert claimed(owned) == {"a": 2}


def test_a_debounce_to_a_sooner_time_wakes_the_owner(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["x"], delay_ms=50_000)
    enqueue(world, "a", 1, delay_ms=60_000)
    tokens = snapshot(world)["tokens"]
    assert tokens == [b"d"]
    w.renew(owned)
    if world.in_memory:
        world.partition.server.data(world.partition.key).tokens.clear()  # type: ignore[attr-defined]
    else:
        world.client.delete(world.partition.key + b":wk")

    enqueue(world, "b", 2, b"d", delay_ms=55_000)
    assert snapshot(world)["tokens"] == []
    enqueue(world, "b", 2, b"d", delay_ms=0)
    enqueue(world, "b", 2, b"d", delay_ms=0)

    assert snapshot(world)["tokens"] == [b"d"]
    world.advance(0.01)
    assert w.promote(owned).promoted == 1


def test_one_that_runs_is_not_replaced_whatever_it_waits_for(world: World) -> None:
    owned = world.own(nonce="n")
    enqueue(world, "a", 1)
    w.claim(owned, starting=0)
    assert enqueue(world, "b", 2) == KEPT_OUT

    owned.run(own.start(owned.ownership, [b"a"]))
    assert enqueue(world, "b", 2, b"d") == KEPT_OUT
    assert world.counters()["conflicts"] == 2
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert enqueue(world, "b", 2) == KEPT_OUT


@pytest.mark.parametrize("drain_lease_ms", [600_000, 0], ids=["draining", "to recover"])
def test_one_that_runs_at_an_owner_that_left_is_not_replaced(
    world: World, drain_lease_ms: int
) -> None:
    first = world.own()
    enqueue(world, "a", 1)
    assert claimed(first) == {"a": 1}
    first.run(own.release(first.ownership, drain_lease_ms=drain_lease_ms))
    world.own()

    assert enqueue(world, "b", 2) == KEPT_OUT


def test_a_repeated_call_whose_payload_runs_by_now_is_told_so(world: World) -> None:
    enqueue(world, "a", 1)
    assert enqueue(world, "b", 2) == REPLACED
    owned = world.own()
    assert claimed(owned) == {"a": 2}

    assert enqueue(world, "b", 2) == REPLACED


def test_one_of_another_group_is_not_replaced(world: World) -> None:
    enqueue(world, "a", 1)

    assert enqueue(world, "b", 2, group=b"other") == KEPT_OUT

    assert claimed(world.own()) == {"a": 1}


def test_a_retry_that_waits_is_replaced(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1)
    w.claim(owned)
    w.retry(owned, [b"a"], delay_ms=1_000)

    assert enqueue(world, "b", 2) == REPLACED

    world.advance(2)
    w.promote(owned)
    claims = w.claim(owned)
    assert (payload_of(claims.bodies[0]), claims.attempts) == (2, [b"1"])


def test_several_of_one_call_leave_the_newest(world: World) -> None:
    said = w.enqueue(world, ["a", "b", "c"], unique={0: b"k", 1: b"k", 2: b"k"}, until=b"er")

    assert said == Conflicts(b"133", (b"a", b"a"))
    assert w.drain(world.own()) == ["a"]


def replace_before_a_late_end(world: World, owned: OwnedPartition) -> None:
    """Replace a job that was handed back; the end of its payload before does not end it."""
    enqueue(world, "a", 1)
    before = w.claim(owned)
    owned.run(own.hand_back(owned.ownership, [b"a"]))
    enqueue(world, "b", 1)

    late = w.finish(owned, before)

    assert (late.finished, late.duplicates) == (0, 1)


def test_an_end_of_the_payload_before_does_not_end_the_newest(world: World) -> None:
    owned = world.own()
    replace_before_a_late_end(world, owned)

    assert claimed(owned) == {"a": 1}


def test_nor_after_the_clock_went_back_and_a_cancellation_still_reaches_it(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["x"], b"other")
    world.partition.cancel_group(b"other")
    if world.clock is None:
        world.advance(-60)  # stamps follow each other after that cancellation
    replace_before_a_late_end(world, owned)

    assert world.partition.cancel_group(b"g") == (1, 0)


def test_a_cancellation_before_the_replacement_does_not_reach_it(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1, delay_ms=1_000)
    bodies = snapshot(world)["jobs"]
    assert len(bodies) == 1
    enqueue(world, "b", 1)

    world.partition.cancel_group(b"g")

    assert w.drain(owned) == []
    assert world.partition.group(b"g").cancelled == 1


def grow(world: World) -> None:
    enqueue(world, "b", 5_000)


def shrink(world: World) -> None:
    enqueue(world, "b", 5_000)
    enqueue(world, "b", 1)


@pytest.mark.parametrize("change", [grow, shrink])
def test_bytes_are_counted_as_they_are(world: World, change: Callable[[World], None]) -> None:
    owned = world.own()
    enqueue(world, "a", 10)
    change(world)

    body = next(iter(snapshot(world)["jobs"].values()))
    assert world.partition.observe().bytes == len(body) + 11
    claims = w.claim(owned, max_bytes=1000)
    assert len(claims.ids) == 1
    w.finish(owned, claims)
    assert world.partition.observe().bytes == 0


def test_a_body_that_grew_is_weighed_by_the_next_claim(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1)
    w.enqueue(world, ["x"], payload=b'{"n":1}')
    enqueue(world, "b", 5_000)

    bodies = snapshot(world)["jobs"].values()
    size = sum(len(body) + 11 for body in bodies)  # a snapshot has no stamps
    assert w.claim(owned, max_bytes=size - 1).ids == [b"a"]
    assert w.claim(owned, max_bytes=size).ids == [b"x"]


def test_the_newest_says_by_when_it_is_to_start(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1, expires_ms=60_000)
    world.advance(40)
    enqueue(world, "b", 2, expires_ms=60_000)
    world.advance(40)
    assert claimed(owned) == {"a": 2}

    w.enqueue(world, ["x"], unique={0: b"x"}, expires_ms=60_000)
    w.enqueue(world, ["y"], unique={0: b"x"}, until=b"er")
    assert snapshot(world)["expiring"] == set()
    world.advance(90)
    assert w.claim(owned).ids == [b"x"]


def test_a_replaced_job_may_expire(world: World) -> None:
    enqueue(world, "a", 1)
    enqueue(world, "b", 1, expires_ms=1_000)
    world.advance(2)

    assert w.drain(world.own()) == []
    assert world.partition.status("a").state is JobState.EXPIRED


def test_nothing_is_left_of_a_retry_that_was_replaced_and_expires(world: World) -> None:
    owned = world.own()
    enqueue(world, "a", 1)
    claimed(owned)
    w.retry(owned, [b"a"], delay_ms=1_000)
    enqueue(world, "b", 2, expires_ms=1_000)
    world.advance(2)
    w.promote(owned)

    assert claimed(owned) == {}

    assert world.partition.status("a").state is JobState.EXPIRED
    assert world.partition.audit().clean


def test_of_one_call_a_job_replaces_only_one_with_the_same_limits(world: World) -> None:
    def enqueue_two(*limits: bytes) -> object:
        names = [b"%s%d" % (limits[1] or b"none", n) for n in range(2)]
        runs: list[Any] = [2, b"g", 0, 2, *(x for name in names for x in (name, w.tail(b"g")))]
        wishes = [(n + 1, b"er", names[0], 0, gate) for n, gate in enumerate(limits)]
        flat: list[Any] = [word for wish in wishes for word in wish]
        verb = enqueue_verb(
            runs,
            flat,
            jobs=2,
            size_bytes=2 * (13 + len(w.tail(b"g"))),
            max_depth=99,
            max_bytes=2**30,
        )
        return world.partition.run(verb)

    assert enqueue_two(b"mail", b"mail") == Conflicts(b"13", (b"mail0",))
    assert enqueue_two(b"mail", b"") == Conflicts(b"12", (b"none0",))
