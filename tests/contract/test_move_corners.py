"""Task groups that go to another partition, with rare things in their way."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.moves.copying import Side
from queuepool.models.jobs import Replayed
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_gates import admit
from tests.contract.test_moves import Pair, V, pair
from tests.contract.world import World

__all__ = ["pair"]


def test_a_job_whose_id_is_in_a_lane_there_stays(pair: Pair) -> None:
    w.enqueue(pair.b, ["same", "other"])
    pair.b.partition.cancel("same")  # its mark is in the lane until it is met
    w.enqueue(pair.a, ["same"])
    pair.freeze(b"g")

    assert not pair.carry().done
    assert pair.a.partition.observe().jobs == 1


def test_dead_jobs_of_a_cancelled_group_can_be_replayed_where_they_arrived(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    w.enqueue(pair.a, ["died"])
    w.bury(owned, w.claim(owned).ids)
    pair.a.advance(5)
    pair.a.partition.run(produce.cancel_group(b"g", b"start"))
    if pair.a.client is not None:  # as if the clock had been ahead then
        record = pair.a.partition.key + b":g:g"
        said: Any = pair.a.client.hget(record, "cancelled_at")
        pair.a.client.hset(record, "cancelled_at", int(said) + 3_600_000)
    pair.freeze(b"g")
    assert pair.carry(dead=(b"died",)).done
    pair.arrive()

    assert pair.run(Side.B, operate.replay(["died"])) == Replayed(1)
    owned = pair.b.own(nonce="b")
    w.retry(owned, w.claim(owned).ids, delay_ms=0)
    w.promote(owned)
    assert w.drain(owned) == ["died"]


def test_a_group_that_had_ended_there_is_not_forgotten_any_more(pair: Pair) -> None:
    there = pair.b.own(nonce="b")
    w.enqueue(pair.b, ["before"])
    w.finish(there, w.claim(there))
    w.enqueue(pair.a, ["now"])
    pair.freeze(b"g")
    assert pair.carry().done
    pair.arrive()

    if pair.b.client is not None:
        assert pair.b.client.pttl(pair.b.partition.key + b":g:g") == -1
    assert w.drain(there) == ["now"]


@pytest.mark.parametrize("limits", [b"", b"mail"], ids=["in a lane", "at a gate"])
def test_jobs_behind_more_marks_than_a_call_looks_past_are_found(pair: Pair, limits: bytes) -> None:
    many = w.names("j", 11_100)
    for part in _parts(many):
        w.enqueue(pair.a, part, limits=limits)
    w.enqueue(pair.a, ["few"], tier=0, limits=limits)
    left = [*many[10_500:10_503], *many[-3:]]
    gone = [produce.cancel(job_id) for job_id in many if job_id not in set(left)]
    for verbs in _parts(gone):
        replies = pair.a.partition.server.run(pair.a.partition.key, verbs)
        assert set(replies) <= {b"ready", b"parked"}
    pair.freeze(b"g")

    assert pair.carry().done

    pair.arrive()
    assert pair.a.partition.observe().jobs == 0
    owned = pair.b.own(nonce="b")
    if limits:
        assert w.claim(owned).ids == []  # they wait at their gate there, too
        assert admit(owned) == len(left) + 1
    assert w.drain(owned) == ["few", *left]
    pair.check()


def test_marks_in_front_are_dropped_up_to_the_last_id_of_a_lane(pair: Pair) -> None:
    w.enqueue(pair.a, ["gone", "also", "here", "behind", "last"])
    w.enqueue(pair.a, ["alone"], tier=0)
    for job_id in ("gone", "also", "behind", "alone"):
        pair.a.partition.cancel(job_id)
    pair.freeze(b"g")

    assert pair.run(Side.A, move.drop_marks(V, b"g")) == 2
    assert pair.run(Side.A, move.drop_marks(V, b"g")) == 0
    assert snapshot(pair.a)["marks"] == {b"behind", b"alone"}
    assert pair.run(Side.A, move.drop_marks(V, b"unknown")) == 0


def _parts(many: list[Any]) -> list[list[Any]]:
    return [many[i : i + 500] for i in range(0, len(many), 500)]


def test_jobs_behind_more_marks_than_a_page_are_found(pair: Pair) -> None:
    ids = w.names("j", 250)
    w.enqueue(pair.a, ids[:200])
    w.enqueue(pair.a, ids[200:])
    for job_id in ids[:-1]:
        pair.a.partition.cancel(job_id)
    pair.freeze(b"g")

    assert pair.carry().done
    pair.arrive()
    assert w.drain(pair.b.own(nonce="b")) == ids[-1:]


def test_all_of_very_many_delayed_jobs_arrive(pair: Pair) -> None:
    """More than a scan of a set looks at in a call, of which the first part is empty by then."""
    ids = w.names("j", 16_000)
    for i in range(0, len(ids), 1_000):
        w.enqueue(pair.a, ids[i : i + 1_000], delay_ms=60_000)
    pair.freeze(b"g")

    assert pair.carry().done
    assert (pair.a.partition.observe().jobs, pair.b.partition.observe().jobs) == (0, len(ids))
    pair.arrive()


def test_the_head_of_a_serial_group_comes_before_those_behind_it(pair: Pair) -> None:
    w.enqueue(pair.a, ["first"], limits=b"api")
    pair.a.partition.run(produce.configure(b"g", serial=True))
    w.enqueue(pair.a, ["second"])
    pair.freeze(b"g")

    exported = _exported(pair, "g")
    assert exported.record[b"serial"]
    assert [bytes(job[0]) for job in exported.jobs] == [b"first", b"second"]


def test_a_page_has_as_many_bytes_as_it_may_and_at_least_a_job(pair: Pair) -> None:
    w.enqueue(pair.a, w.names("j", 5), payload=b'{"text": "%s"}' % (b"x" * 1000))
    pair.freeze(b"g")

    for size, jobs in ((1, 1), (2500, 2), (100_000, 5)):
        assert len(_exported(pair, "g", size_bytes=size).stamps) == jobs


def test_of_a_job_of_which_nothing_else_is_known_only_its_id_and_its_body_travel(
    pair: Pair,
) -> None:
    w.enqueue(pair.a, ["plain"])
    w.enqueue(pair.a, ["late"], delay_ms=60_000)
    pair.freeze(b"g")

    plain, late = _exported(pair, "g").jobs
    assert (bytes(plain[0]), bytes(plain[2]), len(plain)) == (b"plain", b"", 3)
    assert (bytes(late[0]), bytes(late[2]), len(late)) == (b"late", b"d", 11)


def test_claims_there_are_as_large_as_they_may_be(pair: Pair) -> None:
    w.enqueue(pair.b, ["small"], b"of b")
    w.enqueue(pair.a, ["large"], payload=b'{"text": "%s"}' % (b"x" * 1000))
    pair.freeze(b"g")
    assert pair.carry().done
    pair.arrive()
    size = pair.b.partition.observe().bytes
    owned = pair.b.own(nonce="b")

    assert w.claim(owned, max_bytes=size - 1).ids == [b"small"]
    assert w.claim(owned, max_bytes=size).ids == [b"large"]


@pytest.mark.parametrize("there", [False, True])
def test_the_largest_of_those_that_arrive_is_known(pair: Pair, there: bool) -> None:
    if there:
        w.enqueue(pair.b, ["there"], b"of b")
    w.enqueue(pair.a, ["large"], payload=b'{"text": "%s"}' % (b"x" * 1000))
    w.enqueue(pair.a, ["middle"], payload=b'{"text": "%s"}' % (b"x" * 100))
    pair.freeze(b"g")
    assert pair.carry().done

    if pair.b.client is not None:
        assert int(pair.b.client.hget(pair.b.partition.key + b":c", "largest")) > 1000


def test_an_owner_there_hears_of_a_delayed_job_that_arrives(pair: Pair) -> None:
    w.enqueue(pair.a, ["late"], delay_ms=60_000)
    pair.freeze(b"g")

    assert pair.carry().done
    assert snapshot(pair.b)["tokens"] == [b"d"]


def test_jobs_that_are_due_keep_their_order(pair: Pair) -> None:
    for delay_ms, job_id in ((1000, "c"), (2000, "a"), (3000, "b")):
        w.enqueue(pair.a, [job_id], delay_ms=delay_ms)
    pair.a.advance(10)
    pair.freeze(b"g")
    assert pair.carry().done
    pair.arrive()

    owned = pair.b.own(nonce="b")
    w.promote(owned)
    assert w.drain(owned) == ["c", "a", "b"]


def test_jobs_that_name_limits_wait_at_their_gate_there(pair: Pair) -> None:
    owned = pair.b.own(nonce="b")
    w.enqueue(pair.a, ["waits"], limits=b"api")
    pair.freeze(b"g")
    assert pair.carry().done
    pair.arrive()

    assert w.claim(owned).ids == []
    assert pair.b.partition.observe().parked == 1
    assert admit(owned, gate="api") == 1
    assert w.claim(owned).ids == [b"waits"]


def test_lists_of_tenants_and_of_frozen_groups_have_nothing_else(pair: Pair) -> None:
    pair.a.partition.run(tenants.configure(b"acme", weight=3))
    w.enqueue(pair.a, ["other"], b"other")
    w.enqueue(pair.a, ["a"])
    pair.freeze(b"g")

    assert pair.run(Side.A, move.tenants()) == (b"0", [b"acme"])
    assert pair.run(Side.A, move.frozen())[1] == {b"g": 7}
    assert pair.carry().done
    if pair.a.client is not None:
        assert pair.a.client.scard(pair.a.partition.key + b":mv") == 0


def _exported(pair: Pair, group: str, *, size_bytes: int = 1 << 20) -> move.Exported:
    verb = move.export(V, group.encode())
    verb.args[3] = size_bytes  # type: ignore[index]
    return pair.run(Side.A, verb)


@pytest.mark.parametrize("held", [False, True])
def test_a_job_that_waited_for_the_release_of_its_task_waits_only_if_that_is_held_there(
    pair: Pair, held: bool
) -> None:
    pair.run(Side.A, produce.hold_task("t", on=True))
    pair.run(Side.B, produce.hold_task("t", on=held))
    w.enqueue(pair.a, ["waits"])
    assert w.claim(pair.a.own(nonce="a")).ids == []
    pair.freeze(b"g")

    assert pair.carry().done
    pair.arrive()

    owned = pair.b.own(nonce="b")
    pair.b.advance(1)
    w.promote(owned)
    assert w.drain(owned) == ([] if held else ["waits"])


def _enqueued_ahead(world: World, ms: int) -> None:
    """Let the jobs of a partition have come by a clock that was ahead by so much."""

    def later(body: bytes) -> bytes:
        return body[:2] + b"%011x" % (int(body[2:13], 16) + ms) + body[13:]

    if world.client is None:
        jobs = world.partition.server.data(world.partition.key).jobs  # type: ignore[attr-defined]
        jobs.update({job_id: later(body) for job_id, body in jobs.items()})
        return
    key = world.partition.key + b":j"
    for job_id, body in world.client.hgetall(key).items():
        world.client.hset(key, job_id, later(body))


def test_jobs_that_come_from_a_clock_that_is_ahead_can_be_cancelled_with_their_group(
    pair: Pair,
) -> None:
    w.enqueue(pair.a, ["runs", "ready"])
    w.enqueue(pair.a, ["late"], delay_ms=60_000)
    w.enqueue(pair.a, ["parked"], limits=b"api")
    _enqueued_ahead(pair.a, 600_000)
    pair.freeze(b"g")
    assert pair.carry().done
    pair.arrive()
    owned = pair.b.own(nonce="b")
    running = w.claim(owned, 1)

    cursor, waiting = b"start", 0
    while cursor:
        cursor, ended, _ = pair.run(Side.B, produce.cancel_group(b"g", cursor, V + 1))
        waiting += ended
    assert waiting == 3
    w.retry(owned, running.ids, delay_ms=0)
    text = w.tail(b"g", b"{}")
    late = {"jobs": 1, "size_bytes": 13 + len(text), "version": V + 1, **w.LIMITS}
    pair.run(Side.B, produce.enqueue([2, b"g", 0, 1, b"new", text], **late))
    assert w.drain(owned) == ["new"]
