"""What `rare` and `tried` in c say about other keys. Real servers.

`rare`: claims must ask for settings, unique keys and expiry. `tried`: claims and ends must look for
attempts, crashes, errors and progress.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.test_capped import configure
from tests.contract.world import World


def known(world: World, field: str = "rare") -> bool:
    return bool(world.client.hexists(world.partition.key + b":c", field))


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


def _retried(owned: OwnedPartition, claims: own.Claims) -> None:
    w.retry(owned, claims.ids)
    w.promote(owned)
    w.finish(owned, w.claim(owned))


def _failed(owned: OwnedPartition, claims: own.Claims) -> None:
    w.bury(owned, claims.ids)
    owned.partition.discard([i.decode() for i in claims.ids])


def _told(owned: OwnedPartition, claims: own.Claims) -> None:
    owned.run(own.progress(owned.ownership, dict.fromkeys(claims.ids, b"50 %")))
    w.finish(owned, claims)


@pytest.mark.parametrize("way", [_retried, _failed, _told])
def test_an_attempt_is_noted_until_no_trace_of_one_is_left(
    server_world: World, way: Callable[[OwnedPartition, own.Claims], None]
) -> None:
    owned, base = server_world.own(), server_world.partition.key
    w.enqueue(server_world, ["a"])
    claims = w.claim(owned)
    assert not known(server_world, "tried")

    way(owned, claims)

    assert not server_world.client.exists(
        base + b":at", base + b":cr", base + b":er", base + b":pr"
    )
    assert known(server_world, "tried")
    w.enqueue(server_world, ["b"])
    w.drain(owned)
    assert not known(server_world, "tried")


@pytest.mark.parametrize("told_by", ["renewal", "takeover", "repair"])
def test_what_an_owner_of_an_earlier_release_left_is_found(
    server_world: World, told_by: str
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"])
    w.retry(owned, w.claim(owned).ids)
    server_world.client.hdel(server_world.partition.key + b":c", "tried")
    w.promote(owned)

    if told_by == "renewal":
        w.renew(owned)
    elif told_by == "takeover":
        owned.run(own.release(owned.ownership, drain_lease_ms=0))
        owned = server_world.own()
    else:
        assert server_world.partition.audit(repair=True).miscounted == 1

    assert [own.read_count(n) for n in w.claim(owned).attempts] == [1]
    assert server_world.partition.audit().clean
