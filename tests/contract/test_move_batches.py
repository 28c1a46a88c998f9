"""Batches that go from one partition to another, and what a crash at any call leaves of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.core.moves.copying import Side, copying_batch
from queuepool.errors import MovedError
from queuepool.models.flows import BatchResult, BatchState, BatchStatus
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.moves import batches as carry
from queuepool.verbs.moves import verbs as move
from tests.contract import world as w
from tests.contract.batches import BATCH, DAY_MS, finish, notes, open_batch
from tests.contract.conftest import check_invariants
from tests.contract.test_moves import Pair, V
from tests.contract.test_moves import _CrashError as CrashError
from tests.contract.world import World

STAMP = b"0" * 11


@pytest.fixture
def pair(world: World) -> Iterator[Pair]:
    key = world.partition.key.replace(b"_0}", b"_1}")
    b = World(Partition(1, key, world.partition.server), world.clock, world.client)
    yield Pair(world, b)
    check_invariants(b)


def run(world: World, verb: Verb[Any], version: int = V) -> Any:
    return world.partition.run(flow.by_route(verb, version))


def known(world: World, version: int = V) -> tuple[BatchStatus, list[BatchResult]]:
    """Return all that can be read of the batch."""
    status, found = run(world, flow.batch(BATCH), version), list[BatchResult]()
    while len(found) < status.total:
        found += run(world, flow.batch_results(BATCH, len(found)), version).found
    return status, found


def freeze(pair: Pair) -> None:
    assert pair.freeze(b"then") == [0]
    assert pair.run(Side.A, carry.freeze_batches(V, [BATCH])) == 1


def go(pair: Pair) -> None:
    """Move the batch and its continuation."""
    freeze(pair)
    pair.carry(b"then")
    pair.drive(copying_batch(V, BATCH))
    pair.arrive()


def fill(world: World, jobs: int = 300) -> None:
    """Let a batch have ends of every kind, results, calls and batches in it; 3 jobs are open."""
    open_batch(world, 0, "wait", seal=False)
    world.partition.run(flow.seal_batch(BATCH, jobs))
    for call in ("0:1", "0:2"):
        world.partition.run(
            flow.grow_batch(BATCH, call, 2, inner=f"AA{call[0]}{call[2]}bbbbbbbbbb")
        )
    ends = [(BATCH, n, b"d", STAMP, b'"r%d"' % n) for n in range(4, jobs)]
    ends += [(BATCH, 1, b"x", b"0" * 10 + b"1", b'{"reason":"failed","message":"no"}')]
    ends += [(BATCH, 2, b"c", STAMP, b""), (BATCH, 3, b"e", STAMP, b"")]
    for i in range(0, len(ends), 200):
        world.partition.run(telling.note_ends(ends[i : i + 200]))


def conclude(owned: OwnedPartition) -> bool:
    owned.run(telling.tend_batches(owned.ownership))
    w.promote(owned)
    return BATCH.encode() in w.claim(owned).ids


def test_a_batch_arrives_with_all_that_is_known_of_it(pair: Pair) -> None:
    fill(pair.a)
    before = known(pair.a)
    go(pair)

    status, found = known(pair.b, V + 1)
    assert (status, found) == before
    assert known(pair.a, V + 1)[0].state is BatchState.UNKNOWN
    assert pair.run(Side.A, carry.batches())[1] == []
    assert pair.run(Side.B, carry.batches())[1] == [BATCH]
    again = run(pair.b, flow.grow_batch(BATCH, "0:1", 2, inner="AA01bbbbbbbbbb"), V + 1)
    assert (again.first, again.count) == (300, 2), "a call of a job is answered as it was"
    assert [n in again.ended for n in (299, 300)] == [True, False]


def test_it_concludes_there_once_the_last_ends_have_come(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    open_batch(pair.a, 3, "fail")
    claims = w.claim(owned)
    finish(owned, claims, 0, 1)
    go(pair)
    there = pair.b.own(nonce="b")
    assert not conclude(there)

    finish(owned, claims, 2)  # at A: where a job is has nothing to do with where its batch is
    ends = [(BATCH, n, note.end, note.stamp, note.text) for n, note in enumerate(notes(owned))]
    assert len(ends) == 3
    with pytest.raises(MovedError):
        run(pair.a, telling.note_ends(ends))
    assert run(pair.b, telling.note_ends(ends), V + 1) == 3
    assert conclude(there)
    assert known(pair.b, V + 1)[0].state is BatchState.FIRED


def test_neither_side_concludes_it_on_its_way(pair: Pair) -> None:
    owned, there = pair.a.own(nonce="a"), pair.b.own(nonce="b")
    open_batch(pair.a, 0, "fail")  # complete, and nobody has looked yet
    freeze(pair)
    assert not conclude(owned)
    pair.carry(b"then")
    assert not conclude(owned)
    assert not conclude(there)
    pair.drive(copying_batch(V, BATCH))
    assert not conclude(there)
    assert pair.run(Side.B, move.frozen()) == (b"0", {b"then": 7})
    pair.arrive()
    assert conclude(there)


def test_a_deadline_stays_when_it_was(pair: Pair) -> None:
    open_batch(pair.a, 1, "partial", deadline_ms=60_000)
    owned = pair.b.own(nonce="b")
    pair.a.advance(30)
    go(pair)
    pair.b.advance(29)
    assert not conclude(owned)
    pair.b.advance(1.5)
    assert conclude(owned)


def test_by_a_clock_that_is_ahead_deadlines_are_as_far_away(pair: Pair) -> None:
    fill(pair.a)
    before = known(pair.a)[0]
    freeze(pair)
    page = pair.run(Side.A, carry.export_batch(V, BATCH))
    now_ms, *rest = page.words
    behind = carry.Page(page.following, (int(now_ms) - 5000, *rest))
    assert pair.run(Side.B, carry.adopt_batch(V, BATCH, behind)) == 1
    there = known(pair.b)[0]
    shift_ms = there.deadline_ms - before.deadline_ms
    assert 4900 < shift_ms < 9000
    assert there.created_ms - before.created_ms == shift_ms
    pair.drive(copying_batch(V, BATCH))
    pair.turn_away(V + 1)
    pair.run(Side.B, move.thaw(V + 1))
    pair.run(Side.A, move.thaw(V + 1))


@pytest.mark.parametrize("executed", [True, False])
def test_a_crash_at_any_call_loses_nothing_on_the_way_or_back(pair: Pair, executed: bool) -> None:
    fill(pair.a, 1500)
    before = known(pair.a)
    freeze(pair)
    calls, stopped = 0, True
    while stopped:
        try:
            pair.drive(copying_batch(V, BATCH), calls, executed=executed)
            stopped = False
        except CrashError:
            here, there = known(pair.a)[0], known(pair.b)[0]
            assert before[0] in (here, there)
            back = Pair(pair.b, pair.a)
            back.drive(copying_batch(V, BATCH))  # aborted, and taken up again
            assert known(pair.a) == before, calls
            assert known(pair.b)[0].state is BatchState.UNKNOWN
            calls += 1
    assert known(pair.b) == before
    assert calls > 3
    pair.carry(b"then")
    pair.arrive()


def test_a_batch_that_was_partly_deleted_is_deleted_wholly_there(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    open_batch(pair.a, 0, "partial", seal=False)
    last = 128 * 250
    pair.a.partition.run(flow.seal_batch(BATCH, last + 1))
    for n in range(0, last + 1, 128):
        pair.a.partition.run(telling.note_ends([(BATCH, n, b"d", STAMP, b"1")]))
    pair.a.partition.run(flow.cancel_batch(BATCH))
    pair.a.partition.cancel(BATCH)
    pair.a.advance(DAY_MS / 1000 + 1)
    owned = pair.a.own(nonce="c")
    owned.run(telling.tend_batches(owned.ownership))
    pair.turn_away(V)
    pair.run(Side.A, carry.freeze_batches(V, [BATCH]))
    pair.drive(copying_batch(V, BATCH))
    pair.arrive()

    there = pair.b.own(nonce="b")
    for _ in range(3):
        there.run(telling.tend_batches(there.ownership))
    assert known(pair.b, V + 1)[0].state is BatchState.UNKNOWN
    if pair.b.client is not None:
        for world in (pair.a, pair.b):
            assert list(world.client.scan_iter(world.partition.key + b":b[rbf]:*")) == []


def test_calls_of_another_step_change_nothing(pair: Pair) -> None:
    fill(pair.a)
    freeze(pair)
    page = pair.run(Side.A, carry.export_batch(V, BATCH))
    for version in (V - 1, V + 1):
        calls: list[tuple[Side, Verb[Any]]] = [
            (Side.A, carry.freeze_batches(version, [BATCH])),
            (Side.A, carry.export_batch(version, BATCH)),
            (Side.B, carry.adopt_batch(version, BATCH, page)),
            (Side.A, carry.drop_batch(version, BATCH)),
        ]
        for side, verb in calls:
            with pytest.raises(MovedError):
                pair.run(side, verb)
    assert known(pair.b)[0].state is BatchState.UNKNOWN
    pair.turn_away(V + 1)
    pair.run(Side.A, move.thaw(V + 1))


def test_what_is_not_there_is_neither_frozen_nor_carried(pair: Pair) -> None:
    pair.turn_away(V)
    assert pair.run(Side.A, carry.freeze_batches(V, [BATCH])) == 0
    assert pair.drive(copying_batch(V, BATCH)).done
    assert known(pair.b)[0].state is BatchState.UNKNOWN
    assert pair.run(Side.B, carry.batches())[1] == []


def test_a_batch_that_is_frozen_twice_remembers_when_its_owner_was_to_look(pair: Pair) -> None:
    open_batch(pair.a, 0, "fail")
    freeze(pair)
    freeze(pair)
    pair.turn_away(V + 1)
    assert pair.run(Side.A, move.thaw(V + 1)) == 0
    assert conclude(pair.a.own(nonce="a"))


def test_an_end_that_comes_before_it_thaws_makes_it_due_all_the_same(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    open_batch(pair.a, 1, "fail")
    freeze(pair)
    pair.turn_away(V + 1)
    assert run(pair.a, telling.note_ends([(BATCH, 0, b"d", STAMP, b"1")]), V + 1) == 1
    assert pair.run(Side.A, carry.freeze_batches(V + 1, [BATCH])) == 1
    assert not conclude(owned)
    assert pair.run(Side.A, move.thaw(V + 1)) == 0
    assert conclude(owned)


def test_many_batches_thaw_in_steps(pair: Pair) -> None:
    names = [f"AAb{n:011}" for n in range(450)]
    for name in names:
        open_batch(pair.a, 0, batch=name, seal=False)
    pair.turn_away(V)
    pages = [names[i : i + 200] for i in range(0, 450, 200)]
    assert [pair.run(Side.A, carry.freeze_batches(V, page)) for page in pages] == [200, 200, 50]
    left = [pair.run(Side.A, move.thaw(V)) for _ in range(3)]
    if pair.a.client is not None:
        assert left == [250, 50, 0]
    assert left[-1] == 0
