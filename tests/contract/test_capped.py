"""Groups that run only so many jobs at once, and serial groups: one job after the other."""

from __future__ import annotations

import pytest

from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def configure(world: World, group: bytes = b"g", **settings: int) -> bool | None:
    """Set how a group may run."""
    return world.partition.run(produce.configure(group, **settings))  # type: ignore[arg-type]


def ids(claims: own.Claims) -> list[str]:
    """Return the ids of a claim."""
    return [i.decode() for i in claims.ids]


def test_a_capped_group_runs_only_so_many_jobs_at_once(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 10))
    w.enqueue(world, ["other"], b"other")

    assert configure(world, max_running=3) is True

    state = world.partition.observe()
    assert (state.ready, state.capped) == ((0, 0, 4, 0), 7)
    first = w.claim(owned)
    assert sorted(ids(first)) == ["a00000", "a00001", "a00002", "other"]
    assert w.claim(owned).taken == 0
    assert (world.partition.observe().backlog, world.partition.observe().capped) == (0, 7)
    w.finish(owned, first)
    assert ids(w.claim(owned)) == ["a00003", "a00004", "a00005"]


def test_every_end_of_a_running_job_makes_room_for_another(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 20))
    configure(world, max_running=6)
    claims = w.claim(owned)
    names = claims.ids
    assert len(names) == 6
    world.partition.cancel(names[5].decode())

    w.finish(owned, claims, 0)
    owned.run(own.finish_stray(owned.ownership, [(names[1], b"", 0, b"")]))
    w.retry(owned, [names[2]], delay_ms=60_000)
    w.bury(owned, [names[3]])
    owned.run(own.hand_back(owned.ownership, [names[4]]))
    owned.run(own.end_cancelled(owned.ownership, [names[5]]))

    assert world.partition.observe().backlog == 6
    assert ids(w.claim(owned)) == ["a00004", *[f"a{n:05d}" for n in range(6, 11)]]


def test_the_cap_spans_tiers_and_the_higher_tier_is_what_may_run(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["low-1", "low-2"], tier=3)
    w.enqueue(world, ["high-1", "high-2"], tier=1)
    configure(world, max_running=3)

    assert world.partition.observe().ready == (0, 2, 0, 1)
    assert len(w.claim(owned, weights=w.STRICT).ids) == 3
    assert w.claim(owned).taken == 0


def test_raising_and_removing_a_cap_takes_effect_at_once(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 9))
    configure(world, max_running=1)
    assert len(w.claim(owned).ids) == 1

    assert configure(world, max_running=3) is True
    assert configure(world, max_running=3) is False
    assert len(w.claim(owned).ids) == 2
    assert configure(world, max_running=2) is True
    assert w.claim(owned).taken == 0
    assert configure(world, max_running=0) is True
    assert len(w.claim(owned).ids) == 6
    assert snapshot(world)["managed"] == {}
    assert world.partition.group(b"g").max_running is None


def test_the_cap_counts_jobs_of_draining_and_dead_owners(world: World) -> None:
    first = world.own(lease_s=5)
    w.enqueue(world, w.names("a", 5))
    configure(world, max_running=2)
    running = w.claim(first)
    first.run(own.release(first.ownership, drain_lease_ms=60_000))
    second = world.own()

    assert w.claim(second).taken == 0
    w.finish(first, running, 0)
    assert b"w" in snapshot(world)["tokens"]  # the successor hears of the room
    assert ids(w.claim(second)) == ["a00002"]
    world.advance(120)
    w.renew(second)
    w.recover(second)
    assert ids(w.claim(second)) == ["a00001"]


def test_a_cap_lasts_while_the_group_is_remembered(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    configure(world, max_running=1)
    w.drain(owned)
    assert snapshot(world)["managed"] == {}

    w.enqueue(world, ["b", "c"])
    assert ids(w.claim(owned)) == ["b"]
    assert w.claim(owned).taken == 0
    assert world.partition.group(b"g").max_running == 1


def test_marks_in_front_of_a_capped_lane_do_not_hide_the_jobs_behind(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["x", "y", "z", "job"])
    configure(world, max_running=1)
    for job_id in ("x", "y", "z"):
        world.partition.cancel(job_id)

    found: list[str] = []
    while (claims := w.claim(owned, 10)).taken == 10 or claims.ids:
        found += ids(claims)

    assert found == ["job"]


def test_jobs_enqueued_to_a_capped_group_wake_the_owner_only_when_they_may_run(
    world: World,
) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    configure(world, max_running=1)
    running = w.claim(owned)
    _take_tokens(world)

    w.enqueue(world, ["b"])
    assert snapshot(world)["tokens"] == []
    w.finish(owned, running)
    w.drain(owned)
    w.enqueue(world, ["c"])
    assert b"w" in snapshot(world)["tokens"]


@pytest.mark.parametrize("settings", [{"max_running": 1}, {"serial": 1}])
@pytest.mark.parametrize("stray", [False, True])
def test_the_end_of_a_job_wakes_its_own_owner_which_slept_for_lack_of_room(
    world: World, settings: dict[str, int], stray: bool
) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    configure(world, b"g", **settings)
    running = w.claim(owned)
    assert w.claim(owned).taken == 0
    _take_tokens(world)

    if stray:
        owned.run(own.finish_stray(owned.ownership, [(running.ids[0], b"", 0, b"")]))
    else:
        w.finish(owned, running)

    assert snapshot(world)["tokens"] == [b"w"]
    assert ids(w.claim(owned)) == ["b"]


def _take_tokens(world: World) -> None:
    from tests.contract.test_hold import _take_tokens as take

    take(world)


def test_a_hold_of_a_capped_group_ends_and_leaves_the_cap(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 4))
    configure(world, max_running=2)

    configure(world, hold=True)
    assert (w.claim(owned).taken, world.partition.observe().held) == (0, 4)
    configure(world, hold=False)
    assert len(w.claim(owned).ids) == 2
    assert world.partition.observe().capped == 2


def test_a_serial_group_runs_one_job_after_the_other_in_their_order(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 4))
    configure(world, serial=True)
    order = []
    while (claims := w.claim(owned)).ids:
        assert len(claims.ids) == 1
        order += ids(claims)
        w.finish(owned, claims)

    assert order == w.names("a", 4)
    assert world.partition.group(b"g").serial


def test_a_retry_keeps_a_serial_group_waiting_and_comes_first(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    configure(world, serial=True)
    w.claim(owned)

    w.retry(owned, [b"a"], delay_ms=1_000)
    assert w.claim(owned).taken == 0
    w.enqueue(world, ["c"])
    assert w.claim(owned).taken == 0
    assert (world.partition.observe().backlog, world.partition.observe().capped) == (0, 2)
    world.advance(2)
    w.promote(owned)

    assert w.drain(owned) == ["a", "b", "c"]


@pytest.mark.parametrize("way", ["cancel", "cancel_group", "bury", "stray"])
def test_a_serial_group_goes_on_when_the_retried_job_is_gone(world: World, way: str) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    world.advance(1)
    configure(world, serial=True)
    w.claim(owned)
    if way == "bury":
        w.bury(owned, [b"a"])
        w.enqueue(world, ["b"])
    else:
        w.retry(owned, [b"a"], delay_ms=600_000)
        if way == "cancel":
            w.enqueue(world, ["b"])
            world.partition.cancel("a")
        elif way == "cancel_group":
            world.partition.cancel_group(b"g")
            world.advance(1)
            w.enqueue(world, ["b"])
        else:
            w.enqueue(world, ["b"])
            owned.run(own.finish_stray(owned.ownership, [(b"a", b"", 0, b"")]))

    assert w.drain(owned) == ["b"]


def test_a_takeover_keeps_the_order_of_a_serial_group(world: World) -> None:
    first = world.own(lease_s=1)
    w.enqueue(world, ["a", "b"])
    configure(world, serial=True)
    w.claim(first)
    world.advance(2)
    second = world.own()

    assert w.claim(second).taken == 0  # it may still run over there
    w.recover(second)
    assert w.drain(second) == ["a", "b"]


def test_a_dead_job_that_is_replayed_into_a_serial_group_waits_its_turn(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    configure(world, serial=True)
    w.bury(owned, w.claim(owned).ids)
    running = w.claim(owned)

    world.partition.replay(["a"])

    assert ids(running) == ["b"]
    assert w.claim(owned).taken == 0
    w.finish(owned, running)
    assert w.drain(owned) == ["c", "a"]


def test_what_does_not_fit_into_a_claim_counts_as_waiting(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"], payload=b'"' + b"x" * 5_000 + b'"')
    configure(world, max_running=2)

    assert ids(w.claim(owned, max_bytes=6_000)) == ["a"]
    assert ids(w.claim(owned, max_bytes=6_000)) == ["b"]
    assert w.claim(owned).taken == 0


@pytest.mark.parametrize("fields", [{"capped": 5}, {"w2": 7}, {"managed": -1}], ids=str)
def test_a_repair_counts_capped_jobs_again(world: World, fields: dict[str, int]) -> None:
    from tests.contract.test_hold import damage

    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    configure(world, max_running=1)
    running = w.claim(owned)
    damage(world, b"g", **fields)

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.miscounted == fixed.miscounted == 1
    assert world.partition.audit().clean
    assert world.partition.observe().capped == 2
    assert w.claim(owned).taken == 0
    w.finish(owned, running)
    assert w.drain(owned) == ["b", "c"]


def test_marks_are_looked_for_among_a_bounded_number_of_ids(server_world: World) -> None:
    base, client = server_world.partition.key, server_world.client
    for tier in range(4):
        w.enqueue(server_world, [f"job{tier}"], tier=tier)
        client.rpush(base + b":q:%d:g" % tier, *w.names("mark", 4999))
    server_world.partition.cancel("job0")
    server_world.damaged = True
    client.config_resetstat()

    configure(server_world, max_running=1)

    looks = client.info("commandstats")["cmdstat_lrange"]["calls"]
    assert looks == 10  # of 1,000 ids each
