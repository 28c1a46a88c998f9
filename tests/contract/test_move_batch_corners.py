"""Batches on their way: how long they are kept, clocks, what is in the way, and lists of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.core.moves.copying import Side, copying_batch
from queuepool.models.flows import BatchState
from queuepool.partitions.partition import Partition
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.moves import batches as carry
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import BATCH, DAY_MS, open_batch
from tests.contract.conftest import check_invariants
from tests.contract.snapshot import snapshot
from tests.contract.test_move_batches import STAMP, fill, freeze, known, run
from tests.contract.test_moves import Pair, V
from tests.contract.test_wakeups import forget_tokens
from tests.contract.world import World


def _pair(world: World) -> Pair:
    key = world.partition.key.replace(b"_0}", b"_1}")
    return Pair(world, World(Partition(1, key, world.partition.server), world.clock, world.client))


@pytest.fixture
def pair(world: World) -> Iterator[Pair]:
    pair = _pair(world)
    yield pair
    check_invariants(pair.b)


@pytest.fixture
def server_pair(server_world: World) -> Pair:
    return _pair(server_world)


def test_a_batch_that_has_ended_is_kept_there_as_long(pair: Pair) -> None:
    open_batch(pair.a, 0, seal=False)
    pair.a.partition.run(flow.cancel_batch(BATCH))
    pair.a.partition.cancel(BATCH)  # its continuation
    pair.turn_away(V)
    pair.run(Side.A, carry.freeze_batches(V, [BATCH]))
    pair.drive(copying_batch(V, BATCH))
    pair.arrive()

    there = pair.b.own(nonce="b")
    there.run(telling.tend_batches(there.ownership))
    assert known(pair.b, V + 1)[0].state is BatchState.CANCELLED
    pair.b.advance(DAY_MS / 1000 + 1)
    there = pair.b.own(nonce="c")
    there.run(telling.tend_batches(there.ownership))
    assert known(pair.b, V + 1)[0].state is BatchState.UNKNOWN


def test_a_batch_that_thaws_is_what_it_was_and_wakes_its_owner(server_pair: Pair) -> None:
    pair, key = server_pair, server_pair.a.partition.key + b":b:" + BATCH.encode()
    open_batch(pair.a, 1)
    before = pair.a.client.hgetall(key)
    pair.turn_away(V)
    assert pair.run(Side.A, carry.freeze_batches(V, [BATCH])) == 1
    assert pair.a.client.hgetall(key) != before
    forget_tokens(pair.a)

    assert pair.run(Side.A, move.thaw(V)) == 0

    assert pair.a.client.hgetall(key) == before
    assert snapshot(pair.a)["tokens"] == [b"f"]


@pytest.mark.parametrize("skew_ms", [-400, 400])
def test_clocks_that_differ_a_little_move_no_deadline(pair: Pair, skew_ms: int) -> None:
    fill(pair.a)
    before = known(pair.a)[0]
    freeze(pair)
    page = pair.run(Side.A, carry.export_batch(V, BATCH))
    now_ms, *rest = page.words
    skewed = carry.Page(page.following, (int(now_ms) + skew_ms, *rest))
    assert pair.run(Side.B, carry.adopt_batch(V, BATCH, skewed)) == 1
    there = known(pair.b)[0]
    assert (there.deadline_ms, there.created_ms) == (before.deadline_ms, before.created_ms)
    pair.drive(copying_batch(V, BATCH))
    pair.carry(b"then")
    pair.arrive()


def test_what_was_half_deleted_on_the_way_back_comes_whole_the_second_time(
    server_pair: Pair,
) -> None:
    pair, pages = server_pair, 250
    open_batch(pair.a, 0, seal=False)
    pair.a.partition.run(flow.seal_batch(BATCH, 128 * pages))
    for n in range(0, 128 * pages, 128):
        pair.a.partition.run(telling.note_ends([(BATCH, n, b"d", STAMP, b"1")]))
    pair.turn_away(V)
    pair.run(Side.A, carry.freeze_batches(V, [BATCH]))
    page = pair.run(Side.A, carry.export_batch(V, BATCH))
    pair.run(Side.B, carry.adopt_batch(V, BATCH, page))
    assert not pair.run(Side.B, carry.drop_batch(V, BATCH)), "200 pages of 250"

    pair.drive(copying_batch(V, BATCH))
    pair.arrive()

    assert sum(r.result == 1 for r in known(pair.b, V + 1)[1]) == pages
    run(pair.b, flow.cancel_batch(BATCH), V + 1)
    pair.b.advance(DAY_MS / 1000 + 1)
    there = pair.b.own(nonce="b")
    for _ in range(3):
        there.run(telling.tend_batches(there.ownership))
    assert list(pair.b.client.scan_iter(pair.b.partition.key + b":br:*")) == []


@pytest.mark.parametrize("kind", ["b", "bb", "bf", "br"])
def test_what_stands_in_the_place_of_a_batch_makes_way_when_it_comes(
    server_pair: Pair, kind: str
) -> None:
    pair = server_pair
    fill(pair.a)
    before = known(pair.a)
    tail = f":{kind}:{BATCH}" + (":1" if kind == "br" else "")
    pair.b.client.rpush(pair.b.partition.key + tail.encode(), "not ours")
    freeze(pair)

    pair.carry(b"then")
    pair.drive(copying_batch(V, BATCH))
    pair.arrive()

    assert known(pair.b, V + 1) == before


def test_each_list_has_nothing_of_another(pair: Pair) -> None:
    here = pair.a.partition
    here.run(tenants.configure(b"acme", weight=3))
    w.enqueue(pair.a, ["other"], b"other")
    w.enqueue(pair.a, ["a"])
    open_batch(pair.a, 0, seal=False)
    pair.freeze(b"g")
    here.run(lead.turn_away(V, moves=True))
    here.run(produce.configure(b"late", weight=2, keep_ms=60_000, slot=9, version=V))

    assert here.run(move.configured())[1] == {b"late": 9}
    assert here.run(move.tenants())[1] == [b"acme"]
    assert here.run(carry.batches())[1] == [BATCH]
    assert here.run(move.frozen())[1] == {b"g": 7}
    cursor, found = here.run(move.recorded(keys=1))
    while cursor != b"0":
        cursor, page = here.run(move.recorded(cursor, keys=1))
        found |= page
    assert {b"late": 9, b"g": 7}.items() <= found.items()
    here.run(lead.turn_away(V, moves=False))
    assert pair.run(Side.A, move.thaw(V)) == 0


def test_a_batch_with_very_many_calls_comes_with_all_of_them(pair: Pair) -> None:
    open_batch(pair.a, 0, seal=False)
    pair.a.partition.run(flow.seal_batch(BATCH, 900))
    first = {n: pair.a.partition.run(flow.grow_batch(BATCH, f"{n}:1", 1)).first for n in range(900)}
    freeze(pair)
    pair.carry(b"then")
    assert not pair.run(Side.B, carry.export_batch(V, BATCH)).is_there

    pair.drive(copying_batch(V, BATCH))

    assert not pair.run(Side.A, carry.export_batch(V, BATCH)).is_there
    pair.arrive()
    for n in (0, 450, 899):
        assert run(pair.b, flow.grow_batch(BATCH, f"{n}:1", 1), V + 1).first == first[n]
