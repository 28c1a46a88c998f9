"""However its last job ends, a group has then finished, and is forgotten in time."""

from collections.abc import Callable

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World

DAY_S = 86_400


def recover_cancelled(world: World, owned: OwnedPartition) -> None:
    world.partition.cancel("a")
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    w.recover(world.own())


def retry_cancelled(world: World, owned: OwnedPartition) -> None:
    world.partition.cancel("a")
    w.retry(owned, [b"a"])


def hand_back_cancelled(world: World, owned: OwnedPartition) -> None:
    world.partition.cancel("a")
    owned.run(own.hand_back(owned.ownership, [b"a"]))


def bury_and_discard(world: World, owned: OwnedPartition) -> None:
    w.bury(owned, [b"a"])
    world.partition.discard(["a"])


def cancel_ready(world: World, owned: OwnedPartition) -> None:
    owned.run(own.hand_back(owned.ownership, [b"a"]))
    world.partition.cancel("a")


def cancel_delayed(world: World, owned: OwnedPartition) -> None:
    w.retry(owned, [b"a"], delay_ms=60_000)
    world.partition.cancel("a")


def cancel_all(world: World, owned: OwnedPartition) -> None:
    owned.run(own.hand_back(owned.ownership, [b"a"]))
    world.partition.cancel_group(b"g")


def end_cancelled(_world: World, owned: OwnedPartition) -> None:
    owned.run(own.end_cancelled(owned.ownership, [b"a"]))


def bury_and_evict(_world: World, owned: OwnedPartition) -> None:
    w.bury(owned, [b"a"], keep_jobs=0)


def finish(_world: World, owned: OwnedPartition) -> None:
    owned.run(own.finish(owned.ownership, {b"g": own.Acks(13 + len(w.tail(b"g")), [b"a"])}))


def finish_stray(_world: World, owned: OwnedPartition) -> None:
    owned.run(own.finish_stray(owned.ownership, [(b"a", b"", 0, b"")]))


def promote_cancelled(world: World, owned: OwnedPartition) -> None:
    w.retry(owned, [b"a"], delay_ms=1)
    world.partition.run(produce.cancel_group(b"g", b"start"))  # all of it, in memory
    world.advance(0.002)
    w.promote(owned)


ENDS: list[Callable[[World, OwnedPartition], None]] = [
    recover_cancelled, retry_cancelled, hand_back_cancelled, bury_and_discard, cancel_ready,
    cancel_delayed, cancel_all, end_cancelled, bury_and_evict,
    finish, finish_stray, promote_cancelled,
]  # fmt: skip
CUTS = (cancel_all, promote_cancelled)  # of all that the group holds


@pytest.mark.parametrize("end", ENDS)
def test_a_group_has_finished_when_its_last_job_ends(
    world: World, end: Callable[[World, OwnedPartition], None]
) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)

    end(world, owned)

    group = world.partition.group(b"g")
    assert (group.total, group.left) == (1, 0)
    assert group.finished_ms is not None
    world.advance(50)
    assert world.partition.group(b"g").total == 1
    world.advance(20)
    assert world.partition.group(b"g").total == 0


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("jobs", "kept_s"), [(3, 180), (1_500, DAY_S)])
def test_a_group_is_kept_a_minute_a_job_and_at_most_a_day(
    world: World, end: Callable[[World, OwnedPartition], None], jobs: int, kept_s: int
) -> None:
    owned = world.own(lease_s=10 * DAY_S)
    w.enqueue(world, ["a"])
    claims = w.claim(owned)
    for start in range(1, jobs, 200):
        w.enqueue(world, [f"j{n}" for n in range(start, min(jobs, start + 200))])
    w.drain(owned)
    assert claims.ids == [b"a"]

    end(world, owned)

    world.advance(kept_s - 10)
    assert world.partition.group(b"g").total == jobs
    world.advance(20)
    assert world.partition.group(b"g").total == 0


@pytest.mark.parametrize("end", ENDS)
def test_a_group_goes_on_while_it_has_other_work(
    world: World, end: Callable[[World, OwnedPartition], None]
) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    if end not in CUTS:
        w.enqueue(world, ["b"], delay_ms=2 * DAY_S * 1000)

    end(world, owned)
    if end in CUTS:
        w.enqueue(world, ["b"], delay_ms=2 * DAY_S * 1000)

    world.advance(DAY_S + 60)
    group = world.partition.group(b"g")
    assert (group.total, group.left, group.delayed) == (2, 1, 1)
    assert group.finished_ms is None
