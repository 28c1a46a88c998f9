"""Task groups without jobs that go from one partition to another: how they run, how jobs ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.core.moves.copying import Copied, copying_astray
from queuepool.models import GroupStatus
from queuepool.partitions.partition import Partition
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.conftest import check_invariants
from tests.contract.test_moves import Pair, V
from tests.contract.world import World

KEPT_MS = 600_000


@pytest.fixture
def pair(world: World) -> Iterator[Pair]:
    key = world.partition.key.replace(b"_0}", b"_1}")
    b = World(Partition(1, key, world.partition.server), world.clock, world.client)
    yield Pair(world, b)
    check_invariants(b)


def configure(world: World, group: bytes = b"g", **settings: Any) -> bool | None:
    verb = produce.configure(group, keep_ms=KEPT_MS, slot=7, version=V + 9, **settings)
    return world.partition.run(verb)


def status(world: World, group: bytes = b"g") -> GroupStatus:
    return world.partition.run(produce.group(group, V + 9))


def recorded(world: World) -> move.Named:
    cursor, found, more = b"0", move.Named(), True
    while more:
        cursor, page = world.partition.run(move.recorded(cursor))
        found |= page
        more = cursor != b"0"
    return found


def configured(world: World) -> move.Named:
    return world.partition.run(move.configured())[1]


def test_settings_made_in_advance_go_along(pair: Pair) -> None:
    configure(pair.a, hold=True, max_running=3, weight=2, tier=1)
    assert pair.freeze(b"g") == [0]
    assert pair.carry() == Copied()
    pair.arrive()

    found = status(pair.b)
    assert (found.max_running, found.weight, found.tier) == (3, 2, 1)
    assert found.held_ms
    assert status(pair.a).held_ms is None
    assert recorded(pair.b) == {b"g": 7}
    pair.b.advance(KEPT_MS / 1000 + 1)
    assert status(pair.b).held_ms is None, "kept as long as before, and no longer"


def test_totals_of_a_group_that_has_finished_go_along(pair: Pair) -> None:
    w.enqueue(pair.a, ["a", "b"])
    w.drain(pair.a.own(nonce="a"))
    pair.freeze(b"g")
    assert pair.carry() == Copied()
    pair.arrive()

    assert (status(pair.b).total, status(pair.b).done) == (2, 2)
    assert (status(pair.a).total, recorded(pair.a)) == (0, {})


def test_groups_with_a_record_are_listed_with_the_slot_that_it_tells(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"], b"jobs")
    w.enqueue(pair.a, ["b"], b"moved")
    configure(pair.a, b"idle", weight=2)
    configure(pair.a, b"ordinary", weight=1)  # of which nothing is kept
    configure(pair.b, b"elsewhere", weight=2)
    pair.freeze(b"moved")
    pair.carry(b"moved")

    assert recorded(pair.a) == {b"jobs": None, b"idle": 7}
    assert set(recorded(pair.b)) == {b"moved", b"elsewhere"}


def test_a_group_that_was_in_another_tier_is_not_listed_once_it_has_left(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"])
    configure(pair.a, tier=0)
    pair.freeze(b"g")
    pair.carry()

    assert recorded(pair.a) == {}, "there is the least stamp of its seats, and nothing else"
    pair.arrive()
    w.drain(pair.b.own(nonce="b"))


def test_groups_are_noted_when_they_are_configured_while_slots_move(pair: Pair) -> None:
    configure(pair.a, b"before", weight=2)
    pair.a.partition.run(lead.turn_away(V, moves=True))
    configure(pair.a, b"new", hold=True)
    configure(pair.a, b"before", weight=2)
    assert pair.a.partition.run(produce.configure(b"unknown", hold=True, version=V)) is None
    assert configured(pair.a) == {b"new": 7, b"before": 7}

    pair.freeze(b"new")
    pair.carry(b"new")
    assert configured(pair.a) == {b"before": 7}, "what has left is not listed"
    pair.a.partition.run(lead.turn_away(V - 1, moves=False))  # of an earlier leader
    assert configured(pair.a) == {b"before": 7}
    pair.a.partition.run(lead.turn_away(V, moves=False))
    configure(pair.a, b"after", weight=2)
    assert configured(pair.a) == {}
    pair.arrive()


def test_the_slot_is_forgotten_with_the_settings(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"])
    configure(pair.a, weight=2)
    assert recorded(pair.a) == {b"g": 7}
    configure(pair.a, weight=1)
    assert recorded(pair.a) == {b"g": None}
    configure(pair.a, spread=4)
    configure(pair.a, weight=2)
    configure(pair.a, weight=1)
    assert recorded(pair.a) == {b"g": 7}


def test_what_comes_late_adds_to_the_totals_and_changes_no_settings(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"])
    configure(pair.a, hold=True, weight=3)
    pair.a.partition.cancel_group(b"g")
    w.enqueue(pair.b, ["b"])
    configure(pair.b, weight=2)
    pair.freeze(b"g")
    pair.drive(copying_astray(V, b"g", ()))
    pair.arrive()

    found = status(pair.b)
    assert (found.total, found.left, found.cancelled) == (2, 1, 1)
    assert (found.weight, found.held_ms) == (2, None)
    assert recorded(pair.a) == {}
