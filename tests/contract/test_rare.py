"""`rare` in c says whether claims must ask for settings, unique keys and expiry. Real servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contract import world as w
from tests.contract.test_capped import configure
from tests.contract.world import World


def known(world: World) -> bool:
    return bool(world.client.hexists(world.partition.key + b":c", "rare"))


def _capped(world: World) -> None:
    w.enqueue(world, ["a", "b"])
    configure(world, max_running=1)


def _unique(world: World) -> None:
    w.enqueue(world, ["a", "b"], unique={0: b"k"})


def _expiring(world: World) -> None:
    w.enqueue(world, ["a", "b"], expires_ms=10_000)


RARE = pytest.mark.parametrize("rare", [_capped, _unique, _expiring])


@RARE
def test_a_claim_forgets_it_once_nothing_rare_is_left(
    server_world: World, rare: Callable[[World], None]
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["plain"], b"plain")
    assert not known(server_world)
    rare(server_world)
    assert known(server_world)

    assert sorted(w.drain(owned)) == ["a", "b", "plain"]
    w.claim(owned)

    assert not known(server_world)


def test_it_comes_back_with_the_next_jobs_of_a_group_with_settings(server_world: World) -> None:
    owned = server_world.own()
    _capped(server_world)
    w.drain(owned)
    w.claim(owned)
    assert not known(server_world)

    w.enqueue(server_world, ["c", "d"])

    assert known(server_world)
    assert w.claim(owned).ids == [b"c"]


@RARE
def test_a_repair_notes_it_where_it_is_missing(
    server_world: World, rare: Callable[[World], None]
) -> None:
    owned = server_world.own()
    rare(server_world)
    server_world.client.hdel(server_world.partition.key + b":c", "rare")

    seen, fixed = server_world.partition.audit(), server_world.partition.audit(repair=True)

    assert seen.miscounted == fixed.miscounted == 1
    assert server_world.partition.audit().clean
    server_world.advance(11)
    left = {"_capped": 1, "_unique": 2, "_expiring": 0}
    assert len(w.claim(owned).ids) == left[rare.__name__]
