"""Holding a group, or the whole partition, and releasing it: what is held does not start."""

import pytest

from queuepool.errors import ForeignValueError
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import MemoryServer
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def hold(world: World, group: bytes | None = b"g") -> bool | None:
    """Hold a group, or the partition."""
    return world.partition.run(produce.configure(group, hold=True))


def release(world: World, group: bytes | None = b"g") -> bool | None:
    """Release a group, or the partition."""
    return world.partition.run(produce.configure(group, hold=False))


def test_jobs_of_a_held_group_are_not_claimed_until_it_is_released(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    w.enqueue(world, ["other"], b"other")

    assert hold(world) is True
    assert w.drain(owned) == ["other"]
    assert w.claim(owned).taken == 0

    assert release(world) is True
    assert w.drain(owned) == ["a", "b"]


def test_holding_and_releasing_twice_changes_nothing(world: World) -> None:
    world.own()
    w.enqueue(world, ["a"])

    assert (hold(world), hold(world)) == (True, False)
    assert (release(world), release(world)) == (True, False)
    assert world.partition.observe().ready == (0, 0, 1, 0)


def test_a_group_without_jobs_cannot_be_held(world: World) -> None:
    assert hold(world, b"never") is None
    assert release(world, b"never") is None
    assert not snapshot(world)["groups"]


def test_held_jobs_are_no_backlog_and_are_counted_apart(world: World) -> None:
    world.own()
    w.enqueue(world, ["a", "b"])
    w.enqueue(world, ["high"], tier=1)
    w.enqueue(world, ["other"], b"other")
    world.partition.cancel("b")

    hold(world)

    state = world.partition.observe()
    assert (state.ready, state.held, state.held_ms) == ((0, 0, 1, 0), 2, None)
    group = world.partition.group(b"g")
    assert group.held_ms
    assert world.partition.group(b"other").held_ms is None
    release(world)
    assert world.partition.observe().ready == (0, 1, 2, 0)
    assert world.partition.group(b"g").held_ms is None


def test_jobs_enqueued_to_a_held_group_wait_behind_the_others(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    hold(world)
    w.enqueue(world, ["b"])
    assert w.drain(owned) == []
    w.enqueue(world, ["c"])
    w.enqueue(world, ["low"], tier=3)
    assert w.drain(owned) == []

    assert world.partition.observe().held == 4
    release(world)
    assert sorted(w.drain(owned)) == ["a", "b", "c", "low"]


def test_enqueueing_to_a_held_group_wakes_nobody_and_releasing_it_does(world: World) -> None:
    world.own()
    w.enqueue(world, ["a"])
    hold(world)
    drained = snapshot(world)["tokens"]
    assert drained == [b"w"]
    _take_tokens(world)

    w.enqueue(world, ["b"])
    assert snapshot(world)["tokens"] == []

    w.enqueue(world, ["runs"], b"other")  # what may run wakes, whatever is held
    assert snapshot(world)["tokens"] == [b"w"]
    _take_tokens(world)
    release(world)
    assert snapshot(world)["tokens"] == [b"w"]


def _take_tokens(world: World) -> None:
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).tokens.clear()
    else:
        world.client.delete(world.partition.key + b":wk")


def test_running_jobs_of_a_held_group_go_on_and_end_in_every_way(world: World) -> None:
    owned = world.own()
    ids = ["done", "stray", "retried", "buried", "back", "asked"]
    w.enqueue(world, [*ids, "waits"])
    claims = w.claim(owned, 6)
    hold(world)
    w.finish(owned, claims, 0)
    owned.run(own.finish_stray(owned.ownership, [(b"stray", b"", 0, b"")]))
    w.retry(owned, [b"retried"])
    w.bury(owned, [b"buried"])
    world.partition.cancel("asked")
    owned.run(own.end_cancelled(owned.ownership, [b"asked"]))
    owned.run(own.hand_back(owned.ownership, [b"back"]))
    w.promote(owned)

    assert w.drain(owned) == []
    assert world.partition.observe().held == 3

    release(world)
    assert w.drain(owned) == ["back", "waits", "retried"]


def test_a_hold_survives_a_crash_and_covers_what_comes_back(world: World) -> None:
    first = world.own(lease_s=1)
    w.enqueue(world, ["a", "b"])
    w.claim(first, 1)
    hold(world)
    world.advance(2)
    second = world.own()
    w.recover(second)

    assert w.drain(second) == []
    assert world.partition.observe().held == 2
    release(world)
    assert w.drain(second) == ["a", "b"]


def test_waiting_jobs_of_a_held_group_can_be_cancelled_one_by_one(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    hold(world)
    w.drain(owned)
    world.partition.cancel("b")

    assert world.partition.observe().held == 2
    release(world)
    assert w.drain(owned) == ["a", "c"]


@pytest.mark.parametrize("met", [False, True])
def test_a_held_group_that_is_cancelled_leaves_nothing_behind(world: World, met: bool) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 3))
    w.enqueue(world, ["high"], tier=1)
    hold(world)
    if met:
        assert w.drain(owned) == []

    assert world.partition.cancel_group(b"g") == (4, 0)

    assert world.partition.observe().held == 0
    assert snapshot(world)["managed"] == {}
    assert w.drain(owned) == []
    state = snapshot(world)
    assert (state["lanes"], state["marks"], state["rings"]) == ({}, set(), [[], [], [], []])


CANCELLED = ["stopped", "retried", "handed back", "recovered"]
ENDS = ["done", "dead", "stray", "crashed", *CANCELLED]


def end_last(world: World, owned: OwnedPartition, claims: own.Claims, end: str) -> None:
    """End the job that is in flight."""
    if end in CANCELLED:
        world.partition.cancel("last")
    if end == "done":
        w.finish(owned, claims)
    elif end == "dead":
        w.bury(owned, [b"last"])
    elif end == "stopped":
        owned.run(own.end_cancelled(owned.ownership, [b"last"]))
    elif end == "retried":
        w.retry(owned, [b"last"])
    elif end == "handed back":
        owned.run(own.hand_back(owned.ownership, [b"last"]))
    elif end in ("crashed", "recovered"):
        owned.run(own.release(owned.ownership, drain_lease_ms=0))
        w.recover(world.own(nonce="n"), max_crashes=1)
    else:
        owned.run(own.finish_stray(owned.ownership, [(b"last", b"", 0, b"")]))


@pytest.mark.parametrize("end", ENDS)
def test_the_last_job_of_a_held_group_frees_the_marks_in_its_lane(world: World, end: str) -> None:
    owned = world.own(nonce="n")
    w.enqueue(world, ["last", "mark"])
    claims = w.claim(owned, 1)
    world.partition.cancel("mark")
    hold(world)
    assert w.drain(owned) == []

    end_last(world, owned, claims, end)
    owned = world.own(nonce="n")

    assert snapshot(world)["managed"] == {}
    w.drain(owned)
    assert (snapshot(world)["lanes"], snapshot(world)["marks"]) == ({}, set())


@pytest.mark.parametrize("end", ENDS)
def test_a_foreign_ring_is_told_before_the_last_job_of_a_held_group_ends(
    server_world: World, end: str
) -> None:
    world, owned = server_world, server_world.own(nonce="n")
    w.enqueue(world, ["last"])
    claims = w.claim(owned, 1)
    hold(world)
    ring = world.partition.key + b":ring:3"
    world.client.set(ring, "not ours")

    with pytest.raises(ForeignValueError):
        end_last(world, owned, claims, end)

    assert world.client.getdel(ring) == b"not ours"
    assert world.partition.group(b"g").left == 1


def test_a_hold_lasts_while_the_group_is_remembered(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    hold(world)
    release(world)
    hold(world)
    claims_before = w.claim(owned).taken
    world.partition.cancel_group(b"g")
    w.enqueue(world, ["b"])

    assert claims_before == 0
    assert w.drain(owned) == []
    assert world.partition.group(b"g").held_ms

    world.partition.cancel_group(b"g")
    world.advance(3600)  # the group is forgotten, and its hold with it
    w.enqueue(world, ["c"])
    assert w.drain(owned) == ["c"]
    assert world.partition.group(b"g").held_ms is None


def test_a_dead_job_that_is_replayed_into_a_held_group_waits(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.bury(owned, w.claim(owned).ids)
    assert hold(world) is True

    world.partition.replay(["a"])

    assert w.drain(owned) == []
    assert world.partition.observe().held == 1
    release(world)
    assert w.drain(owned) == ["a"]


def test_a_delayed_job_of_a_held_group_becomes_due_and_waits(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["late"], delay_ms=1_000)
    w.enqueue(world, ["late-other"], b"other", delay_ms=1_000)
    hold(world)
    world.advance(2)

    assert w.promote(owned).promoted == 2

    state = world.partition.observe()
    assert (state.backlog, state.held) == (1, 1)
    assert w.drain(owned) == ["late-other"]
    release(world)
    assert w.drain(owned) == ["late"]


def test_a_job_that_a_failover_brought_back_to_a_held_lane_ends_there(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    hold(world)

    owned.run(own.finish_stray(owned.ownership, [(b"a", b"", 0, b"")]))

    assert world.partition.observe().held == 1
    release(world)
    assert w.drain(owned) == ["b"]


def test_many_held_groups_do_not_hide_one_that_can_run(world: World) -> None:
    owned = world.own()
    groups = [b"g%02d" % i for i in range(30)]
    for group in groups:
        w.enqueue(world, [group + b"-job"], group)
        hold(world, group)
    w.enqueue(world, ["runs"], b"other")

    assert len(w.claim(owned, 10).ids) == 0
    found = [i for _ in range(5) for i in w.claim(owned, 10).ids]

    assert found == [b"runs"]
    assert [sum(map(len, snapshot(world)["rings"])), len(snapshot(world)["out"])] == [0, 30]
    for group in groups:
        release(world, group)
    assert w.drain(owned) == [f"g{i:02d}-job" for i in range(30)]


def test_a_held_partition_gives_nothing_out_and_has_no_backlog(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    running = w.claim(owned, 1)

    assert (hold(world, None), hold(world, None)) == (True, False)
    w.enqueue(world, ["c"])

    state = world.partition.observe()
    assert (state.ready, state.held, state.oldest_ms) == ((0, 0, 0, 0), 2, 0)
    assert state.held_ms
    assert w.claim(owned).taken == 0
    assert w.finish(owned, running).finished == 1
    assert (release(world, None), release(world, None)) == (True, False)
    assert world.partition.observe().held_ms is None
    assert w.drain(owned) == ["b", "c"]


def test_the_hold_of_a_partition_survives_its_owner_and_ends_apart_from_those_of_groups(
    world: World,
) -> None:
    first = world.own(lease_s=1)
    w.enqueue(world, ["a"])
    w.enqueue(world, ["other"], b"other")
    hold(world, None)
    hold(world)
    first.run(own.release(first.ownership, drain_lease_ms=0))
    second = world.own()

    assert w.drain(second) == []
    release(world, None)
    assert w.drain(second) == ["other"]
    release(world)
    assert w.drain(second) == ["a"]


def test_marks_among_many_jobs_are_not_counted_as_held(world: World) -> None:
    world.own()
    ids = w.names("a", 2500)
    w.enqueue(world, ids[:1500])
    w.enqueue(world, ids[1500:])
    for job_id in (ids[0], ids[1000], ids[2499]):
        world.partition.cancel(job_id)

    hold(world)

    assert world.partition.observe().held == 2497
    release(world)
    assert world.partition.observe().ready == (0, 0, 2497, 0)


def damage(world: World, group: bytes, **fields: int) -> None:
    """Change what is stored of managed groups without our scripts; managed: the room, -1: none."""
    server = world.partition.server
    if isinstance(server, MemoryServer):
        data = server.data(world.partition.key)
        for name in fields.keys() & {"held", "capped"}:
            data.counters[name] = fields[name]
        if "managed" in fields:
            data.managed[group] = fields["managed"]
            if fields["managed"] < 0:
                del data.managed[group]
        if "w2" in fields:
            data.groups[group].waiting[2] = fields["w2"]
        return
    base = world.partition.key
    for name in fields.keys() & {"held", "capped"}:
        world.client.hset(base + b":c", name, fields[name])
    if "managed" in fields:
        world.client.hset(base + b":mg", group, fields["managed"])
        if fields["managed"] < 0:
            world.client.hdel(base + b":mg", group)
    if "w2" in fields:
        world.client.hset(base + b":g:" + group, "w2", fields["w2"])


@pytest.mark.parametrize(
    "fields", [{"held": 5}, {"w2": 7}, {"held": 1, "w2": 1}, {"managed": -1}], ids=str
)
def test_a_repair_counts_held_jobs_again(world: World, fields: dict[str, int]) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "mark", "b"])
    w.enqueue(world, ["c"], tier=0)
    w.enqueue(world, ["other"], b"other")
    hold(world)
    world.partition.cancel("mark")
    damage(world, b"g", **fields)

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.miscounted == fixed.miscounted == 1
    assert world.partition.audit().clean
    assert world.partition.observe().held == 3
    assert w.drain(owned) == ["other"]
    release(world)
    assert sorted(w.drain(owned)) == ["a", "b", "c"]


def test_a_repair_drops_the_entry_of_a_group_that_is_not_held(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    damage(world, b"g", managed=1)

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.stray == fixed.stray == 1
    assert w.drain(owned) == ["a"]


def test_a_lost_job_of_a_held_group_returns_to_its_lane(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    hold(world)
    assert w.drain(owned) == []
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).lanes[2, b"g"].remove(b"a")
    else:
        world.client.lrem(world.partition.key + b":q:2:g", 1, "a")

    fixed = world.partition.audit(repair=True)

    assert (fixed.orphan, fixed.miscounted) == (1, 0)
    assert world.partition.observe().held == 2
    release(world)
    assert w.drain(owned) == ["b", "a"]


def test_a_planted_state_makes_no_group_managed(server_world: World) -> None:
    owned, client = server_world.own(), server_world.client
    w.enqueue(server_world, ["a"])
    client.hset(server_world.partition.key + b":g:g", "state", "planted")

    w.enqueue(server_world, ["b"])

    assert client.exists(server_world.partition.key + b":mg") == 0
    assert server_world.partition.observe().ready == (0, 0, 2, 0)
    client.hdel(server_world.partition.key + b":g:g", "state")
    assert w.drain(owned) == ["a", "b"]
