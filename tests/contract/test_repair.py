"""What a repair fixes besides places and seats: records, counters, foreign keys."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.models import Tier
from queuepool.testing.server import MemoryServer
from queuepool.verbs.moves.verbs import freeze
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_capped import configure
from tests.contract.test_gates import admit, gates
from tests.contract.test_hold import damage, hold
from tests.contract.test_inspect import plant
from tests.contract.test_tier_of_group import move
from tests.contract.world import World

NOTES = {"at": "attempts", "cr": "crashes", "er": "errors", "pr": "progress", "cn": "cancels"}


def note(world: World, key: str, job_id: bytes, value: bytes = b"1") -> None:
    """Note something of a job without our scripts."""
    server = world.partition.server
    if isinstance(server, MemoryServer):
        data = server.data(world.partition.key)
        notes: dict[bytes, Any] = data.asides if key == "ua" else getattr(data, NOTES[key])
        notes[job_id] = value if key in ("er", "pr", "ua") else int(value)
    else:
        world.client.hset(world.partition.key + b":" + key.encode(), job_id, value)


@pytest.mark.parametrize("key", NOTES)
def test_notes_of_jobs_that_are_not_there_are_removed(world: World, key: str) -> None:
    w.enqueue(world, ["a"])
    note(world, key, b"gone")

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.stray == fixed.stray == 1
    assert not snapshot(world)[NOTES[key]]


@pytest.mark.parametrize("key", ["pr", "cn"])
def test_notes_of_running_are_kept_for_jobs_that_run_and_for_no_others(
    world: World, key: str
) -> None:
    owned = world.own()
    w.enqueue(world, ["runs", "waits"])
    w.claim(owned, 1)
    for job_id in (b"runs", b"waits"):
        note(world, key, job_id)

    assert world.partition.audit(repair=True).stray == 1

    assert set(snapshot(world)[NOTES[key]]) == {b"runs"}


def test_an_id_without_a_body_that_was_set_aside_waits_for_no_task(world: World) -> None:
    plant(world, "dl", b"ghost")
    note(world, "ua", b"ghost", b"new")

    assert world.partition.audit(repair=True).hollow == 1

    assert snapshot(world)["asides"] == {}


def test_counters_that_are_sound_outlive_those_that_are_not(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    w.finish(owned, w.claim(owned, 1))
    before = server_world.counters()
    unsound = {"k1": "x", "junk": 1, "duplicate": "-0", "failed": "1e3", "died": "7" * 20}
    server_world.client.hset(server_world.partition.key + b":c", mapping=unsound)

    found = server_world.partition.audit(repair=True)

    assert found.miscounted == len(unsound)
    assert server_world.counters() == before
    assert server_world.partition.audit().clean


def test_ready_jobs_that_are_counted_as_minus_nothing_are_counted_anew(server_world: World) -> None:
    w.enqueue(server_world, ["a"])
    server_world.client.hset(server_world.partition.key + b":c", "r2", "-0")

    assert server_world.partition.audit(repair=True).miscounted == 1

    assert server_world.partition.observe().ready == (0, 0, 1, 0)


def test_jobs_of_a_book_that_is_not_ours_are_ready_again(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"])
    w.claim(owned)
    server_world.client.set(server_world.partition.key + b":fl:%d" % owned.epoch, "not ours")

    found = server_world.partition.audit().foreign
    server_world.partition.audit(repair=True)

    assert found == 1
    assert server_world.partition.audit().clean
    assert w.drain(owned) == ["a"]


def test_a_repair_looks_for_a_bounded_number_of_marks(server_world: World) -> None:
    world, base = server_world, server_world.partition.key
    lanes, ids = 12, w.names("mark", 1000)
    for n in range(lanes):
        world.client.rpush(base + b":q:2:%d" % n, *ids)
        world.client.rpush(base + b":ring:2", b"2%011x%d" % (1, n))
    w.miscount(world, 2, -1)
    world.client.config_resetstat()

    world.partition.audit(repair=True)

    looked_at = world.client.info("commandstats")["cmdstat_hexists"]["calls"]
    assert looked_at == 10_000
    assert world.partition.observe().ready == (0, 0, 0, 0)
    world.damaged = True


def test_a_lane_without_room_and_without_a_seat_is_unseated_unless_its_group_says_so(
    server_world: World,
) -> None:
    w.enqueue(server_world, w.names("a", 3))
    configure(server_world, max_running=1)
    assert len(w.claim(server_world.own()).ids) == 1
    assert server_world.partition.audit().unseated == 0
    server_world.client.hdel(server_world.partition.key + b":g:g", "o2")

    assert server_world.partition.audit(repair=True).unseated == 1
    assert server_world.partition.audit().unseated == 0


def test_an_audit_restores_the_count_of_a_gate(server_world: World) -> None:
    w.enqueue(server_world, w.names("a", 3), limits=b"mail")
    server_world.client.hdel(server_world.partition.key + b":gt", "mail")

    assert server_world.partition.audit(repair=True).miscounted == 1
    assert gates(server_world) == {"mail": (3, 0)}
    assert server_world.partition.audit().clean


def test_a_repair_leaves_sound_gates_as_they_are(world: World) -> None:
    w.enqueue(world, w.names("a", 3), limits=b"mail")
    before = snapshot(world)

    assert world.partition.audit(repair=True).clean
    assert snapshot(world) == before


def test_a_group_that_nobody_moves_is_let_go(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    configure(server_world, max_running=5)
    base = server_world.partition.key
    server_world.client.hset(base + b":g:g", "moving", "7")
    server_world.client.hset(base + b":mg", "g", 0)
    assert w.claim(owned).ids == []

    found = server_world.partition.audit(repair=True)
    server_world.partition.audit(repair=True)

    assert found.stray == 1
    assert w.claim(owned).ids == [b"a", b"b"]


def test_a_group_that_is_moved_stays_as_it_is(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"])
    server_world.partition.run(freeze(1, {b"g": 7}))

    assert server_world.partition.audit(repair=True).stray == 0
    assert w.claim(owned).ids == []


def test_a_lane_at_a_gate_that_was_lost_is_filled_again(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"], limits=b"mail")
    server_world.client.delete(server_world.partition.key + b":gq:2:mail~g")

    assert server_world.partition.audit(repair=True).orphan == 2

    assert server_world.partition.audit().clean
    assert admit(owned) == 2
    assert sorted(w.drain(owned)) == ["a", "b"]


def test_a_lane_that_a_repair_seats_gets_no_second_seat_from_its_group(server_world: World) -> None:
    owned, base = server_world.own(), server_world.partition.key
    w.enqueue(server_world, w.names("a", 3))
    configure(server_world, max_running=1)
    running = w.claim(owned)
    assert w.claim(owned).ids == []  # it has no room, and leaves its ring
    server_world.client.hset(base + b":mg", "g", 1)

    assert server_world.partition.audit(repair=True).unseated == 1
    w.finish(owned, running)

    assert server_world.client.llen(base + b":ring:2") == 1
    assert w.drain(owned) == ["a00001", "a00002"]


def test_ready_jobs_are_not_counted_again_where_a_held_group_has_its_own(world: World) -> None:
    w.enqueue(world, w.names("held", 3), b"held", tier=0)
    w.enqueue(world, ["a", "b"])
    hold(world, b"held")
    w.miscount(world, 2, -1)

    world.partition.audit(repair=True)

    assert world.partition.observe().ready == (0, 0, 2, 0)
    assert world.partition.audit().clean


def test_a_long_lane_of_a_held_group_keeps_its_count(world: World) -> None:
    w.enqueue(world, w.names("a", 1100))
    hold(world)

    assert world.partition.audit(repair=True).clean
    assert world.partition.observe().held == 1100


def test_ready_jobs_of_a_capped_group_are_counted_again(world: World) -> None:
    w.enqueue(world, w.names("a", 5))
    configure(world, max_running=3)
    w.miscount(world, 2, -2)

    world.partition.audit(repair=True)

    assert world.partition.observe().ready == (0, 0, 3, 0)


def test_a_group_whose_room_is_stored_wrongly_gets_the_right_one(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, w.names("a", 3))
    configure(server_world, max_running=2)
    damage(server_world, b"g", managed=0)

    seen, fixed = server_world.partition.audit(), server_world.partition.audit(repair=True)

    assert seen.miscounted == fixed.miscounted == 1
    assert server_world.partition.audit().clean
    assert w.claim(owned).ids == [b"a00000", b"a00001"]


def test_groups_that_are_listed_nowhere_hide_no_other_that_is_miscounted(
    server_world: World,
) -> None:
    for group in (b"g", b"h"):
        w.enqueue(server_world, w.names(group.decode(), 3), group)
        hold(server_world, group)
    damage(server_world, b"g", managed=-1)
    damage(server_world, b"h", w2=7)

    assert server_world.partition.audit(repair=True).miscounted == 2
    assert server_world.partition.audit().clean
    assert server_world.partition.observe().held == 6


def test_ready_jobs_are_not_looked_for_in_the_lanes_of_very_many_held_groups(
    server_world: World,
) -> None:
    world, owned = server_world, server_world.own()
    for n in range(200):
        w.enqueue(world, [f"held-{n}"], b"held-%d" % n, tier=0)
        hold(world, b"held-%d" % n)
    w.enqueue(world, w.names("capped", 9), b"capped", tier=3)
    configure(world, b"capped", max_running=5)
    move(world, Tier.HIGH, b"capped")
    w.enqueue(world, w.names("a", 90))
    w.miscount(world, 2, -30)
    w.miscount(world, 1, -2)

    world.partition.audit(repair=True)

    assert world.partition.observe().ready == (0, 5, 90, 0)
    assert len(w.claim(owned, 5, weights=(0, 1, 0, 0)).ids) == 5
