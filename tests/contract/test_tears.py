"""What a script that broke off leaves behind is fixed by an audit: places, seats and counters.

No script breaks off by itself, so the tests take away what it had not written yet.
"""

from __future__ import annotations

import pytest

from queuepool.testing.server import MemoryServer
from tests.contract import world as w
from tests.contract.world import World


def lose(world: World, job_id: bytes, group: bytes = b"g", tier: int = 2) -> None:
    """Take a job out of its lane."""
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).lanes[tier, group].remove(job_id)
    else:
        lane = world.partition.key + b":q:%d:" % tier + group
        assert world.client.lrem(lane, 1, job_id) == 1


def fixed(world: World) -> tuple[int, ...]:
    """Repair twice; return the ready jobs of each tier. The second one must find nothing."""
    seen = world.partition.audit()
    assert not seen.clean
    assert world.partition.audit(repair=True) == seen
    assert world.partition.audit(repair=True).clean
    return world.partition.observe().ready


def test_a_job_that_was_stored_and_neither_placed_nor_counted(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    for job_id in (b"a", b"b", b"c"):
        lose(world, job_id)
    w.miscount(world, 2, -3)

    assert fixed(world) == (0, 0, 3, 0)
    assert sorted(w.drain(owned)) == ["a", "b", "c"]


def test_a_job_that_was_taken_from_a_lane_with_others(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    lose(world, b"a")

    assert fixed(world) == (0, 0, 3, 0)
    assert w.drain(owned) == ["b", "c", "a"]


def test_jobs_that_are_booked_and_still_counted_as_ready(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 5), tier=1)
    w.enqueue(world, w.names("k", 5))
    w.claim(owned, 4, weights=w.STRICT)
    w.miscount(world, 1, 4)

    assert fixed(world) == (0, 1, 5, 0)


@pytest.mark.parametrize("by", [-7, 7])
def test_tiers_that_are_counted_wrongly_among_many_jobs(world: World, by: int) -> None:
    w.enqueue(world, w.names("a", 150), b"one", tier=0)
    w.enqueue(world, w.names("b", 150), b"two", tier=3)
    w.enqueue(world, w.names("c", 150), b"one", tier=3)
    w.enqueue(world, w.names("d", 50), delay_ms=60_000)
    w.miscount(world, 0, by)
    w.miscount(world, 3, 2 * by)

    assert fixed(world) == (150, 0, 0, 300)


def test_marks_of_cancelled_jobs_are_not_counted(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 5), tier=1)
    w.enqueue(world, w.names("k", 5))
    for job_id in ("j00001", "k00001", "k00002"):
        world.partition.cancel(job_id)
    w.miscount(world, 2, -2)

    assert fixed(world) == (0, 4, 3, 0)
    assert len(w.drain(owned)) == 7


def test_nothing_that_stands_in_no_lane_is_counted(world: World) -> None:
    world.damaged = True
    w.enqueue(world, ["a"])
    w.enqueue(world, ["b"], delay_ms=60_000)
    world.own()
    server, base = world.partition.server, world.partition.key
    if isinstance(server, MemoryServer):
        server.data(base).delayed.remove(b"b")
        server.data(base).dead.add(b"b", 1e12)
        server.data(base).delayed.add(b"b", 1e12)
    else:
        world.client.zadd(base + b":dead", {b"b": 1e12})

    report = world.partition.audit(repair=True)

    assert (report.unbalanced, world.partition.observe().ready) == (1, (0, 0, 1, 0))
