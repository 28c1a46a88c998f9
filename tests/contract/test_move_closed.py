"""While a group is copied, nothing ends, adds or changes a job of it, neither at A nor at B.

B has the job already, and A has it still: what ended or changed at one of them would be counted
twice, or come back, when the leader goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from coordinator.core.moves.copying import Side
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.testing import MemoryServer
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.operator import editing
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import BATCH, ids_of
from tests.contract.snapshot import snapshot
from tests.contract.test_gates import admit
from tests.contract.test_hold import _take_tokens as take_tokens
from tests.contract.test_moves import Pair, V, pair
from tests.contract.world import World

__all__ = ["pair"]

_SECOND = 1000  # ms
Fill = Callable[[World], Sequence[str]]  # returns the ids of dead jobs
Attempt = Callable[[World, OwnedPartition], object]


def _copy(pair: Pair, dead: Sequence[str]) -> None:
    """Let B have all jobs of the group, of which A forgets none."""
    parts: list[list[bytes]] = [[]] if not dead else [[i.encode() for i in dead], []]
    for part in parts:
        jobs = pair.run(Side.A, move.export(V, b"g", part))
        pair.run(Side.B, move.adopt(V, b"g", jobs))


def _seen(pair: Pair, side: Side, dead: Sequence[str]) -> dict[bytes, tuple[Any, ...]]:
    """Return what is known of each job of the group: its due to the second."""
    found: dict[bytes, tuple[Any, ...]] = {}
    for ids in [[i.encode() for i in dead]] * bool(dead) + [[]]:
        for job_id, body, place, *known in pair.run(side, move.export(V, b"g", ids)).jobs:
            ms, *rest = known or (b"0",)
            found[job_id] = body, place, round(int(ms) / _SECOND / 10), *rest
    return found


def _half_cancelled(world: World) -> list[str]:
    w.enqueue(world, ["late"], delay_ms=_SECOND)
    _cut(world)
    world.advance(10)
    return []


def _cut(world: World) -> None:
    """Begin to cancel the group; who did so is gone."""
    server = world.partition.server
    if isinstance(server, MemoryServer):  # there a call cancels all of it
        server.data(world.partition.key).groups[b"g"].cancelled_at = 2**42
        return
    world.partition.run(produce.cancel_group(b"g", b"start"))


def _due(world: World) -> list[str]:
    w.enqueue(world, ["late", "later"], delay_ms=_SECOND)
    world.advance(10)
    return []


def _dead(world: World) -> list[str]:
    owned = world.own(nonce="a")
    w.enqueue(world, ["died"])
    w.bury(owned, w.claim(owned).ids)
    world.advance(60)
    return ["died"]


def _ready(world: World) -> list[str]:
    w.enqueue(world, ["ready"])
    return []


def _delayed(world: World) -> list[str]:
    w.enqueue(world, ["late"], delay_ms=600 * _SECOND)
    return []


def _parked(world: World) -> list[str]:
    owned = world.own(nonce="a")
    w.enqueue(world, ["parked"], limits=b"api")
    assert w.claim(owned).ids == []
    return []


def _parked_and_cancelled(world: World) -> list[str]:
    dead = _parked(world)
    _cut(world)
    return dead


def _expired(world: World) -> list[str]:
    w.enqueue(world, ["expired"], expires_ms=_SECOND)
    world.advance(10)
    return []


def _set_aside(world: World) -> list[str]:
    owned = world.own(nonce="a")
    w.enqueue(world, ["aside"])
    ids = w.claim(owned).ids
    owned.run(own.retry(owned.ownership, [(i, 600 * _SECOND, "new", b"{}") for i in ids]))
    return []


def _of_a_held_task(world: World) -> list[str]:
    owned = world.own(nonce="a")
    world.partition.run(produce.hold_task("t", on=True))
    w.enqueue(world, ["waits"])
    assert w.claim(owned).ids == []
    return []


def _of_a_batch(world: World) -> list[str]:
    w.enqueue(world, [*ids_of(1)])
    w.enqueue(world, [ids_of(2)[1]], delay_ms=600 * _SECOND)
    return []


def _bury_another(world: World, owned: OwnedPartition) -> None:
    ids = w.claim(owned).ids
    assert w.bury(owned, ids, keep_jobs=1) == b"b"
    assert len(world.partition.dead(0, 9)) == 2


def _finish_stray(job_id: bytes) -> Attempt:
    def attempt(_world: World, owned: OwnedPartition) -> None:
        done = owned.run(own.finish_stray(owned.ownership, [(job_id, b"", 60_000, b"1")]))
        assert (done.finished, done.duplicates) == (0, 1)

    return attempt


def _rouse(world: World, owned: OwnedPartition) -> None:
    world.partition.run(produce.hold_task("t", on=False, version=V))
    cursor = b"0"
    for _ in range(3):
        page = owned.run(own.rouse(owned.ownership, cursor, ["t", "new"]))
        assert (page.cursor, page.due) == (b"0", 0)
    w.promote(owned)


def _cancel_children(world: World, _owned: OwnedPartition) -> None:
    assert world.partition.run(flow.cancel_children([BATCH], b"0")) == (b"0", 0, 0, 2)


def _hasten(world: World, _owned: OwnedPartition) -> None:
    assert world.partition.run(editing.hasten("late")) is None


CASES: dict[str, tuple[Fill, Attempt]] = {
    "promote, cancelled": (_half_cancelled, lambda _, owned: w.promote(owned)),
    "promote": (_due, lambda _, owned: w.promote(owned)),
    "bury": (_dead, _bury_another),
    "finish_stray, ready": (_ready, _finish_stray(b"ready")),
    "finish_stray, delayed": (_delayed, _finish_stray(b"late")),
    "finish_stray, parked": (_parked, _finish_stray(b"parked")),
    "rouse, unknown": (_set_aside, _rouse),
    "rouse, released": (_of_a_held_task, _rouse),
    "hasten": (_delayed, _hasten),
    "cancel_children": (_of_a_batch, _cancel_children),
    "admit": (_parked, lambda _, owned: admit(owned, gate="api")),
    "admit, cancelled": (_parked_and_cancelled, lambda _, owned: admit(owned, gate="api")),
    "claim": (_ready, lambda _, owned: w.claim(owned)),
    "claim, expired": (_expired, lambda _, owned: w.claim(owned)),
    "replay": (_dead, lambda world, _: world.partition.run(operate.replay(["died"]))),
    "discard": (_dead, lambda world, _: world.partition.run(operate.discard(["died"]))),
    "audit": (_dead, lambda world, _: world.partition.audit(repair=True)),
}


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("name", CASES)
def test_a_job_that_is_copied_stays_as_it_is_until_it_has_arrived(
    pair: Pair, name: str, side: Side
) -> None:
    fill, attempt = CASES[name]
    dead = fill(pair.a)
    w.enqueue(pair.at(side), ["other"], b"other")
    total = pair.a.partition.group(b"g").total
    pair.freeze(b"g")
    _copy(pair, dead)
    before = _seen(pair, side, dead)
    owned = pair.at(side).own(nonce="a")

    attempt(pair.at(side), owned)

    pair.check("after the attempt")
    assert _seen(pair, side, dead) == before
    assert pair.carry(dead=tuple(i.encode() for i in dead)).done
    pair.arrive()
    assert pair.run(Side.B, produce.group(b"g", V + 1)).total == total
    assert pair.a.partition.observe().jobs == (side is Side.A)


def test_jobs_of_other_groups_pass_those_that_are_copied(pair: Pair) -> None:
    for tier, jobs in ((0, 50), (2, 190)):
        w.enqueue(pair.a, w.names(f"copied{tier}-", jobs), tier=tier, delay_ms=_SECOND)
    w.enqueue(pair.a, w.names("other", 150), b"other", delay_ms=2 * _SECOND)
    w.enqueue(pair.a, ["urgent"], b"other", tier=1, delay_ms=3 * _SECOND)
    w.enqueue(pair.a, ["later"], b"other", delay_ms=600 * _SECOND)
    pair.a.advance(10)
    pair.freeze(b"g")
    owned = pair.a.own(nonce="a")

    first = owned.run(own.promote(owned.ownership))
    assert (first.promoted, first.next_due_ms) == (100, 0)
    assert w.claim(owned, 1).ids == [b"urgent"]
    rest = owned.run(own.promote(owned.ownership))
    assert rest.promoted == 51
    assert 500 * _SECOND < (rest.next_due_ms or 0) <= 600 * _SECOND
    assert owned.run(own.promote(owned.ownership)).promoted == 0
    assert len(snapshot(pair.a)["urgent"]) == 50
    take_tokens(pair.a)
    pair.run(Side.A, move.thaw(V))
    assert b"d" in snapshot(pair.a)["tokens"]
    assert w.promote(owned).promoted == 240


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("behind", [0, 1000])
def test_urgent_jobs_pass_any_number_of_urgent_ones_that_are_copied(
    pair: Pair, tier: int, behind: int
) -> None:
    for n in range(behind // 200):
        w.enqueue(pair.a, w.names(f"{n}-copied", 200), delay_ms=_SECOND)
    for n in (0, 1):
        w.enqueue(pair.a, w.names(f"{n}-urgent", 120), tier=tier, delay_ms=_SECOND)
    w.enqueue(pair.a, w.names("other", 150), b"other", delay_ms=2 * _SECOND)
    w.enqueue(pair.a, ["first"], b"first", tier=tier, delay_ms=3 * _SECOND)
    w.enqueue(pair.a, ["second"], b"second", tier=1, delay_ms=3 * _SECOND)
    pair.a.advance(10)
    pair.freeze(b"g")
    owned = pair.a.own(nonce="a")

    assert owned.run(own.promote(owned.ownership)).promoted >= 2
    assert w.claim(owned, 2, weights=w.STRICT).ids == [b"first", b"second"]
    pair.run(Side.A, move.thaw(V))
    assert w.promote(owned).promoted > behind


def test_an_owner_does_not_look_again_and_again_for_who_may_pass_very_many(
    pair: Pair, server_world: World
) -> None:
    for n in range(6):
        w.enqueue(pair.a, w.names(f"{n}-", 200), delay_ms=_SECOND)
    pair.a.advance(10)
    pair.freeze(b"g")
    owned = server_world.own(nonce="a")

    assert owned.run(own.promote(owned.ownership)) == own.Promoted(0, 0, 20)


def _dead_and_one_that_runs(pair: Pair) -> tuple[OwnedPartition, Sequence[bytes]]:
    # One dead job of the group that is to be copied, two of another; a third one of that runs.
    owned = pair.a.own(nonce="a")
    for job_id, group in (("copied", b"g"), ("old", b"other"), ("new", b"other")):
        w.enqueue(pair.a, [job_id], group)
        w.bury(owned, w.claim(owned).ids)
        pair.a.advance(2)
    w.enqueue(pair.a, ["newest"], b"other")
    return owned, w.claim(owned).ids


def test_those_that_are_copied_count_as_gone_when_the_dead_are_too_many(pair: Pair) -> None:
    owned, ids = _dead_and_one_that_runs(pair)
    pair.freeze(b"g")

    w.bury(owned, ids, keep_jobs=3)
    assert snapshot(pair.a)["dead"] == [b"copied", b"old", b"new", b"newest"]
    pair.run(Side.A, move.thaw(V))


@pytest.mark.parametrize("keep", [{"keep_jobs": 2}, {"keep_bytes": 60}, {"keep_ms": 2500}])
def test_the_oldest_that_are_not_copied_are_evicted(pair: Pair, keep: dict[str, int]) -> None:
    owned, ids = _dead_and_one_that_runs(pair)
    pair.freeze(b"g")

    w.bury(owned, ids, **keep)
    assert snapshot(pair.a)["dead"] == [b"copied", b"new", b"newest"]


def test_what_rouse_passed_is_roused_when_the_group_stays_after_all(pair: Pair) -> None:
    _of_a_held_task(pair.a)
    w.enqueue(pair.a, ["other"], b"other")
    owned = pair.a.own(nonce="a")
    assert w.claim(owned).ids == []
    pair.freeze(b"g")
    pair.run(Side.A, produce.hold_task("t", on=False, version=V))

    assert w.claim(owned).roused == b"0"
    assert owned.run(own.rouse(owned.ownership, b"0", ["t"])).due == 1
    w.promote(owned)
    claims = w.claim(owned)
    assert (claims.ids, claims.roused) == ([b"other"], b"")
    take_tokens(pair.a)
    pair.run(Side.A, move.thaw(V))
    assert b"w" in snapshot(pair.a)["tokens"]
    assert w.claim(owned).roused == b"0"
    assert owned.run(own.rouse(owned.ownership, b"0", ["t"])).due == 1
    w.promote(owned)
    claims = w.claim(owned)
    assert (claims.ids, claims.roused) == ([b"waits"], b"")


def test_a_running_job_of_a_group_that_goes_there_may_end_late(pair: Pair) -> None:
    w.enqueue(pair.b, ["runs"])
    owned = pair.b.own(nonce="b")
    claims = w.claim(owned)
    w.enqueue(pair.a, ["ready"])
    pair.freeze(b"g")
    _copy(pair, [])

    stray = [(claims.ids[0], codec.read_stamp(claims.bodies[0]), 0, b"")]
    assert owned.run(own.finish_stray(owned.ownership, stray)).finished == 1
    assert pair.carry().done


def test_a_group_that_only_drains_is_as_any_other_but_starts_nothing(pair: Pair) -> None:
    _due(pair.a)
    owned = pair.a.own(nonce="a")
    pair.freeze(b"g")
    pair.run(Side.A, move.freeze(V, {b"g": 7}))

    assert w.promote(owned).promoted == 2
    assert w.claim(owned).ids == []
    assert owned.run(own.finish_stray(owned.ownership, [(b"late", b"", 0, b"")])).finished == 1
