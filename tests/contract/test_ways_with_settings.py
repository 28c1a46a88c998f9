"""Whatever happens to a job of a group with settings: what may run is counted, seated, and told of.

Each way is gone with a group that has jobs in every tier, each with a unique key and a time by
which it must start: without a seat, since as many run as may; held; or serial. The laws are those
of every contract test (conftest), and nothing is lost: what is left runs once the settings end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.conftest import check_invariants
from tests.contract.snapshot import snapshot
from tests.contract.test_hold import _take_tokens
from tests.contract.world import World

RUNNING = ["run-a", "run-b"]
READY = [f"t{tier}-{n}" for tier in range(4) for n in range(2)]
DUE = [f"due-{tier}" for tier in range(4)]
Way: TypeAlias = Callable[
    [World, OwnedPartition, own.Claims], set[str]
]  # returns jobs that end by it


def _finish(_world: World, owned: OwnedPartition, running: own.Claims) -> set[str]:
    w.finish(owned, running)
    return set(RUNNING)


def _finish_one(_world: World, owned: OwnedPartition, running: own.Claims) -> set[str]:
    w.finish(owned, running, 0)
    return {"run-a"}


def _finish_astray(_world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    astray = ["run-a", "due-3", "t1-0"]
    owned.run(own.finish_stray(owned.ownership, [(i.encode(), b"", 0, b"") for i in astray]))
    return set(astray)


def _retry(_world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    w.retry(owned, [b"run-a"], delay_ms=600_000)
    return set()


def _retry_and_promote(_world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    w.retry(owned, [b"run-a", b"run-b"])
    w.promote(owned)
    return set()


def _promote(_world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    assert w.promote(owned).promoted == 4
    return set()


def _promote_cancelled(world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    world.partition.run(produce.cancel_group(b"g", b"start"))
    assert w.promote(owned).cancelled == (0 if world.in_memory else 4)  # memory takes one step
    world.partition.cancel_group(b"g")
    return {*READY, *DUE}


def _bury(_world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    w.bury(owned, [b"run-a", b"run-b"])
    return set(RUNNING)


def _bury_and_replay(world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    w.bury(owned, [b"run-a", b"run-b"])
    world.partition.replay(["run-a"])
    world.partition.discard(["run-b"])
    return {"run-b"}


def _hand_back(_world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    owned.run(own.hand_back(owned.ownership, [b"run-a", b"run-b"]))
    return set()


def _end_cancelled(world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    world.partition.cancel("run-a")
    owned.run(own.end_cancelled(owned.ownership, [b"run-a"]))
    return {"run-a"}


def _recover(world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    _crash(world, owned, max_crashes=9)
    return set()


def _recover_to_bury(world: World, owned: OwnedPartition, _running: own.Claims) -> set[str]:
    _crash(world, owned, max_crashes=0)
    assert world.partition.observe().dead
    return set()


def _expire(world: World, owned: OwnedPartition, running: own.Claims) -> set[str]:
    w.finish(owned, running)
    world.advance(3_600)
    while w.claim(owned).taken:
        pass
    return set(RUNNING)


def _cancel(world: World, _owned: OwnedPartition, _running: own.Claims) -> set[str]:
    gone = ["t0-0", "t3-1", "due-2"]
    for job_id in gone:
        world.partition.cancel(job_id)
    return set(gone)


def _cancel_group(world: World, _owned: OwnedPartition, _running: own.Claims) -> set[str]:
    world.partition.cancel_group(b"g")
    return {*READY, *DUE}


def _enqueue(world: World, _owned: OwnedPartition, _running: own.Claims) -> set[str]:
    for tier in range(4):
        w.enqueue(world, [f"new-{tier}"], b"g", tier=tier)
    return set()


WAYS: list[Way] = [
    *(_finish, _finish_one, _finish_astray, _retry, _retry_and_promote, _promote),
    *(_promote_cancelled, _bury, _bury_and_replay, _hand_back, _end_cancelled, _recover),
    *(_recover_to_bury, _cancel, _cancel_group, _enqueue, _expire),
]
SETTINGS: dict[str, dict[str, Any]] = {
    "capped": {"max_running": 2},
    "held": {"hold": True},
    "serial": {"serial": True},
}
ENDS = ("done", "cancelled", "evicted", "discarded", "expired")


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_settings_hold_whatever_happens_to_a_job(world: World, way: Way, setting: str) -> None:
    owned = world.own()
    _enqueue_with_keys(world, RUNNING)
    running = w.claim(owned)
    for tier in range(4):
        _enqueue_with_keys(world, [i for i in READY if i[1] == str(tier)], tier=tier)
        _enqueue_with_keys(world, [f"due-{tier}"], tier=tier, delay_ms=1_000)
    world.advance(2)
    world.partition.run(produce.configure(b"g", **SETTINGS[setting]))
    assert w.claim(owned).taken == world.partition.observe().backlog == 0  # now without seats
    check_invariants(world, "before")
    _take_tokens(world)

    gone = way(world, owned, running)

    check_invariants(world, "after")
    if world.partition.observe().backlog:
        assert b"w" in snapshot(world)["tokens"], "who hears of it?"
    unset: dict[str, Any] = {"max_running": 0, "hold": False, "serial": False}
    world.partition.run(produce.configure(b"g", **unset))
    check_invariants(world, "without settings")
    assert gone.isdisjoint(_run_what_is_left(world)), "a job ran after its end"
    seen = world.partition.observe()
    ended = sum(seen.counters.get(name, 0) for name in ENDS)
    assert (seen.jobs, seen.counters["enqueued"]) == (seen.dead, seen.dead + ended)


def _enqueue_with_keys(world: World, names: list[str], *, tier: int = 2, delay_ms: int = 0) -> None:
    keys = {place: name.encode() for place, name in enumerate(names)}
    w.enqueue(world, names, tier=tier, delay_ms=delay_ms, unique=keys, expires_ms=1_800_000)


def _crash(world: World, owned: OwnedPartition, *, max_crashes: int) -> OwnedPartition:
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    another = world.own()
    w.recover(another, max_crashes=max_crashes)
    return another


def _run_what_is_left(world: World) -> list[str]:
    """Run all jobs, also those that an owner holds, or that are delayed."""
    world.advance(1_200)
    owned = world.own()
    w.renew(owned)
    w.recover(owned, max_crashes=9)
    w.promote(owned)
    order = w.drain(owned)
    assert len(order) == len(set(order))
    return order
