"""What only shows with many: lanes beyond what one look sees, pages of delayed jobs."""

from __future__ import annotations

from typing import Any

from queuepool.testing.server import MemoryServer
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World


def enqueue_groups(world: World, n: int) -> None:
    """Enqueue one job in each of n groups, 200 a call."""
    for first in range(0, n, 200):
        numbers = range(first, min(n, first + 200))
        runs: list[Any] = []
        for i in numbers:
            group = b"g%d" % i
            runs += [2, group, 0, 1, f"job-{i}", w.tail(group)]
        size = sum(13 + len(tail) for tail in runs[5::6])
        verb = produce.enqueue(runs, jobs=len(numbers), size_bytes=size, **w.LIMITS)
        assert world.partition.run(verb) == b"1" * len(numbers)


def test_an_audit_that_cannot_see_every_seat_reports_no_lane_as_lost(world: World) -> None:
    enqueue_groups(world, 1_100)

    assert world.partition.audit().clean
    assert world.partition.observe().lanes == (0, 0, 1_100, 0)


def test_delayed_jobs_of_a_group_are_found_among_those_of_others(world: World) -> None:
    others = w.names("o", 900)
    for first in range(0, 900, 180):
        w.enqueue(world, others[first : first + 180], b"others", delay_ms=60_000)
    w.enqueue(world, w.names("m", 40), b"mine", delay_ms=60_000)

    assert world.partition.cancel_group(b"mine") == (40, 0)

    assert world.partition.group(b"mine").left == 0
    assert world.partition.group(b"others").delayed == 900


def test_a_group_without_delayed_jobs_does_not_look_through_those_of_others(
    world: World,
) -> None:
    for first in range(0, 900, 180):
        w.enqueue(world, w.names(f"o{first}-", 180), b"others", delay_ms=60_000)
    w.enqueue(world, ["a"], b"mine")
    cursor, steps = b"start", 0

    while cursor:
        cursor, _cancelled, _asked = world.partition.run(produce.cancel_group(b"mine", cursor))
        steps += 1

    assert steps <= 2


def test_a_repair_counts_no_more_jobs_than_are_missing(world: World) -> None:
    """Marks in lanes too long to look through seem to be jobs, in each of their tiers."""
    for tier in (0, 1):
        for first in range(0, 1_050, 150):
            w.enqueue(world, w.names(f"{tier}-{first}-", 150), tier=tier)
        world.partition.cancel(f"{tier}-0-00000")
    w.enqueue(world, ["a"])
    w.miscount(world, 2, -1)

    assert not world.partition.audit(repair=True).clean

    assert world.partition.audit().clean
    assert sum(world.partition.observe().ready) == 1_049 + 1_049 + 1


def test_a_repair_looks_through_ten_thousand_places_at_most(world: World) -> None:
    """Of the marks beyond, it cannot tell that they are no jobs; the sum is right nevertheless."""
    for lane in range(12):
        for first in range(0, 950, 190):
            w.enqueue(world, w.names(f"{lane}-{first}-", 190), b"g%d" % lane, tier=0)
        world.partition.cancel(f"{lane}-0-00000")
    w.enqueue(world, w.names("j", 5))
    w.miscount(world, 2, -5)

    world.partition.audit(repair=True)

    unseen = 0 if isinstance(world.partition.server, MemoryServer) else 2
    assert world.partition.observe().ready == (12 * 949 + unseen, 0, 5 - unseen, 0)
