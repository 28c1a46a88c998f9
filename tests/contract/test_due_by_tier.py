"""When more delayed jobs are due than one call promotes, those of the first tiers come first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.operator import editing
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import BATCH, finish, open_batch, relay
from tests.contract.snapshot import snapshot
from tests.contract.world import World

FLOOD = 250  # more than two calls promote


@pytest.fixture
def flooded(world: World) -> World:
    """Jobs of the default tier that are due, and then an urgent one."""
    w.enqueue(world, w.names("n", FLOOD), delay_ms=1000)
    w.enqueue(world, ["high"], b"h", tier=1, delay_ms=2000)
    w.enqueue(world, ["critical"], b"k", tier=0, delay_ms=59_000)
    return world


def promote_once(owned: OwnedPartition) -> int:
    return owned.run(own.promote(owned.ownership)).promoted


def ready(owned: OwnedPartition) -> list[bytes]:
    """Return what a claim by strict order finds, and leave it."""
    claims = w.claim(owned, 200, weights=w.STRICT)
    return list(claims.ids)


def test_urgent_jobs_due_behind_a_flood_are_promoted_first(flooded: World) -> None:
    flooded.advance(60)
    owned = flooded.own()

    assert promote_once(owned) == 100
    found = ready(owned)
    assert found[:2] == [b"critical", b"high"]
    assert found[2:] == [b"n%05d" % i for i in range(98)]


def test_a_critical_job_comes_before_a_flood_of_the_next_tier(world: World) -> None:
    w.enqueue(world, w.names("h", FLOOD), b"h", tier=1, delay_ms=1000)
    w.enqueue(world, ["critical"], b"k", tier=0, delay_ms=3000)
    world.advance(60)
    owned = world.own()

    assert promote_once(owned) == 100
    assert ready(owned) == [b"critical", *(b"h%05d" % i for i in range(99))]
    assert promote_once(owned) == 100
    assert ready(owned) == [b"h%05d" % i for i in range(99, 199)]


def test_every_job_is_promoted_once(flooded: World) -> None:
    flooded.advance(60)
    owned = flooded.own()

    counts = [promote_once(owned) for _ in range(4)]
    assert counts == [100, 100, FLOOD + 2 - 200, 0]
    assert sorted(ready(owned) + ready(owned)) == sorted(
        [b"critical", b"high", *(b"n%05d" % i for i in range(FLOOD))]
    )


def test_an_urgent_job_that_is_not_due_waits_for_its_time(flooded: World) -> None:
    flooded.advance(20)
    owned = flooded.own()

    promote_once(owned)
    assert ready(owned)[0] == b"high"
    assert w.promote(owned).promoted == FLOOD + 1 - 100


def test_a_cancelled_urgent_job_takes_no_place(flooded: World) -> None:
    assert flooded.partition.run(produce.cancel("critical"))
    flooded.advance(60)
    owned = flooded.own()

    assert promote_once(owned) == 100
    assert ready(owned)[0] == b"high"


def cancel_alone(world: World) -> None:
    for job_id in ("c", "h"):
        assert world.partition.run(produce.cancel(job_id))


def cancel_group(world: World) -> None:
    cursor = b"start"
    while cursor:
        cursor, _, _ = world.partition.run(produce.cancel_group(b"g", cursor))


@pytest.mark.parametrize("cancel", [cancel_alone, cancel_group])
@pytest.mark.parametrize("held", [False, True], ids=["delayed", "held"])
def test_nothing_is_left_of_urgent_jobs_that_are_cancelled_before_their_time(
    world: World, cancel: Callable[[World], None], *, held: bool
) -> None:
    """Held ones would leave it for ten years."""
    owned = world.own()
    world.partition.run(produce.hold_task("mail", on=held))
    for tier, name in enumerate(["c", "h"]):
        w.enqueue(world, [name], tier=tier, task="mail", delay_ms=0 if held else 59_000)
    w.claim(owned)
    assert set(snapshot(world)["urgent"]) == {b"c", b"h"}

    cancel(world)

    assert snapshot(world)["urgent"] == []


@pytest.mark.parametrize("tier", [1, 2])
def test_the_retry_of_an_urgent_job_comes_first_too(world: World, tier: int) -> None:
    w.enqueue(world, ["critical"], b"k", tier=0)
    owned = world.own()
    w.retry(owned, w.claim(owned).ids, delay_ms=2000)
    w.enqueue(world, w.names("n", FLOOD), tier=tier, delay_ms=1000)
    world.advance(60)

    assert promote_once(owned) == 100
    assert ready(owned)[0] == b"critical"


def test_urgent_jobs_that_an_earlier_version_delayed_come_before_the_flood(
    server_world: World,
) -> None:
    world = server_world
    w.enqueue(world, w.names("n", FLOOD), delay_ms=1000)
    w.enqueue(world, ["critical"], b"k", tier=0, delay_ms=2000)
    base = world.partition.key
    due = world.client.zscore(base + b":dl", "critical")
    assert world.client.zscore(base + b":du", "critical") == due - 2**43
    world.client.zadd(base + b":du", {"critical": due})
    world.advance(60)
    owned = world.own()

    assert promote_once(owned) == 100
    assert ready(owned)[0] == b"critical"
    assert not world.client.exists(base + b":du")


@pytest.mark.parametrize("tier", [1, 2])
def test_an_urgent_job_whose_delay_begins_anew_comes_first_when_it_is_due(
    world: World, tier: int
) -> None:
    w.enqueue(world, w.names("n", FLOOD), tier=tier, delay_ms=1000)
    for name, delay_ms in (("critical", 60_000), ("again", 2000)):
        w.enqueue(world, [name], b"k", tier=0, delay_ms=delay_ms, unique={0: b"key"}, until=b"ed")
    world.advance(10)
    owned = world.own()

    assert promote_once(owned) == 100
    assert ready(owned)[0] == b"critical"


@pytest.mark.parametrize("tier", [1, 2])
def test_an_urgent_job_that_is_to_run_now_comes_first(world: World, tier: int) -> None:
    w.enqueue(world, w.names("n", FLOOD), tier=tier, delay_ms=1000)
    w.enqueue(world, ["critical"], b"k", tier=0, delay_ms=3_600_000)
    world.advance(60)
    owned = world.own()
    assert world.partition.run(editing.hasten("critical"))

    assert promote_once(owned) == 100
    assert ready(owned)[0] == b"critical"


def test_an_urgent_continuation_comes_first_once_its_batch_is_complete(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, tier=0)
    claims = w.claim(owned)
    w.enqueue(world, w.names("n", FLOOD), delay_ms=1000)
    world.advance(60)
    finish(owned, claims)
    relay(owned)

    assert promote_once(owned) == 100
    assert ready(owned)[0] == BATCH.encode()


@pytest.mark.parametrize("tier", [0, 1])
def test_urgent_jobs_whose_task_is_known_now_come_first_in_their_order(
    world: World, tier: int
) -> None:
    w.enqueue(world, w.names("n", FLOOD), delay_ms=1000)
    world.advance(600)
    owned = world.own()
    names = [f"u{n:02}" for n in range(59, -1, -1)]
    w.enqueue(world, names, b"k", tier=tier)
    owned.run(own.retry(owned.ownership, [(i, 30_000, "new", b"") for i in w.claim(owned).ids]))
    assert owned.run(own.rouse(owned.ownership, b"0", ["new"])).jobs == {"new": 60}

    assert promote_once(owned) == 100
    assert ready(owned)[:60] == [name.encode() for name in names]
