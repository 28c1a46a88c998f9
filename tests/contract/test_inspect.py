"""What operators see and fix: status, totals, dead jobs, observation, audit."""

import pytest

from queuepool.errors import InvalidInputError
from queuepool.models import JobState
from queuepool.testing.server import MemoryServer
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


def test_status_tells_each_state(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["done", "cancelled", "dead", "running", "retried", "ready"])
    w.enqueue(world, ["delayed"], delay_ms=5_000)
    claims = w.claim(owned, 5)
    w.finish(owned, claims, 0)
    owned.run(own.end_cancelled(owned.ownership, [b"cancelled"]))
    w.bury(owned, [b"dead"])
    w.retry(owned, [b"retried"], delay_ms=5_000)

    ids = ["done", "cancelled", "dead", "running", "retried", "ready", "delayed", "never"]
    states = [world.partition.status(i).state.value for i in ids]

    assert states == [
        "done", "cancelled", "dead", "in-flight", "delayed", "ready", "delayed", "unknown",
    ]  # fmt: skip


def test_a_job_that_runs_is_found_whoever_runs_it(world: World) -> None:
    for name, drain_lease_ms in [("draining", 60_000), ("died", 0), ("owner", None)]:
        owned = world.own()
        w.enqueue(world, [name])
        w.claim(owned, 1)
        if drain_lease_ms is not None:
            owned.run(own.release(owned.ownership, drain_lease_ms=drain_lease_ms))

    for name in ("draining", "died", "owner"):
        status = world.partition.status(name)
        assert status.state is JobState.IN_FLIGHT, name
        assert status.at_ms is not None
        assert world.partition.cancel(name) is JobState.IN_FLIGHT


def test_a_claimed_job_that_waits_in_memory_has_not_started(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned, starting=0)

    status = world.partition.status("a")

    assert (status.state, status.at_ms) == (JobState.IN_FLIGHT, None)


def test_status_tells_what_is_known_of_a_job(world: World) -> None:
    w.enqueue(world, ["a"], b"group", tier=1, delay_ms=60_000)

    status = world.partition.status("a")

    assert (status.task, status.tier, status.group) == ("t", 1, b"group")
    assert status.enqueued_ms is not None
    assert status.at_ms is not None
    assert abs(status.at_ms - status.enqueued_ms - 60_000) <= 1


def test_group_totals_by_state(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 10))
    w.enqueue(world, w.names("d", 2), delay_ms=1_000)
    claims = w.claim(owned, 6)
    w.finish(owned, claims, 0, 1)
    w.bury(owned, [claims.ids[2]])
    owned.run(own.end_cancelled(owned.ownership, [claims.ids[3]]))

    group = world.partition.group(b"g")

    assert (group.total, group.ready, group.delayed, group.in_flight) == (12, 4, 2, 2)
    assert (group.done, group.dead, group.cancelled) == (2, 1, 1)
    assert group.created_ms is not None
    assert group.finished_ms is None


def test_an_unknown_group_is_all_zeros(world: World) -> None:
    group = world.partition.group(b"never")

    assert (group.total, group.left, group.created_ms) == (0, 0, None)


def test_dead_jobs_are_listed_by_age_and_page(world: World) -> None:
    owned = world.own()
    ids = w.names("j", 5)
    w.enqueue(world, ids)
    w.claim(owned)
    for job_id in reversed(ids):
        world.advance(1)
        w.bury(owned, [job_id.encode()])

    assert [d.job_id for d in world.partition.dead(1, 3)] == ids[3:0:-1]
    with pytest.raises(InvalidInputError, match="count is 1 to 200"):
        world.partition.dead(0, 201)


def test_a_replayed_job_starts_with_a_clean_record(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    w.claim(owned)
    w.retry(owned, [b"a"])
    w.promote(owned)
    w.claim(owned)
    w.bury(owned, [b"a", b"b"])

    assert world.partition.replay(["a", "never", "a"]).replayed == 1

    status = world.partition.status("a")
    assert (status.state, status.attempts, status.error) == (JobState.READY, 0, None)
    group = world.partition.group(b"g")
    assert (group.dead, group.left, group.finished_ms) == (1, 1, None)
    assert w.drain(owned) == ["a"]


def test_a_discarded_job_is_gone(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    w.claim(owned)
    w.bury(owned, [b"a", b"b"])

    assert world.partition.discard(["a", "never", "a"]) == 1
    assert world.partition.discard(["b"]) == 1

    assert world.partition.observe().jobs == 0
    assert world.counters()["discarded"] == 2
    world.advance(86_401)
    assert world.partition.group(b"g").total == 0


def test_the_group_of_a_dead_job_is_remembered_as_long_as_it(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    w.bury(owned, [b"a"])

    world.advance(40 * 86_400)

    assert world.partition.group(b"g").dead == 1


def test_observation_tells_everything_at_once(world: World) -> None:
    owned = world.own(lease_s=60)
    w.enqueue(world, ["a", "b"], b"x", tier=0)
    w.enqueue(world, ["c", "d", "e"], b"y")
    w.enqueue(world, ["f"], b"y", delay_ms=60_000)
    world.advance(5)
    claims = w.claim(owned, 3, weights=w.STRICT)
    w.finish(owned, claims, 0)
    w.bury(owned, [claims.ids[1]])
    w.renew(owned, lease_s=60, applied="3-1")
    world.partition.run(
        lead.command(
            3, 2, type="SCALE_UP", partition=0, target_workers=9, reason="", expires_ms=9_000
        )
    )

    state = world.partition.observe()

    assert (state.ready, state.lanes) == ((0, 0, 2, 0), (0, 0, 1, 0))
    assert (state.jobs, state.delayed, state.in_flight, state.dead) == (5, 1, 1, 1)
    assert 5_000 <= state.oldest_ms < 60_000
    assert (state.backlog, state.pwqd, state.checkpoint) == (2, 0.5, 9)
    assert state.last_command == "3-2"
    assert state.owner is not None
    assert (state.owner.epoch, state.owner.applied) == (owned.epoch, "3-1")
    assert 50_000 < state.owner.lease_ms <= 60_000
    assert state.counters["enqueued"] == 6
    assert set(state.counters).isdisjoint({"r0", "k0", "bytes", "cut"})


def test_a_delayed_job_waits_since_it_was_due(world: World) -> None:
    w.enqueue(world, ["a"], delay_ms=60_000)
    w.enqueue(world, ["b"], delay_ms=30_000)
    assert world.partition.observe().oldest_ms == 0

    world.advance(40)

    assert 10_000 <= world.partition.observe().oldest_ms < 40_000


def test_an_empty_partition_can_be_observed(world: World) -> None:
    state = world.partition.observe()

    assert (state.jobs, state.oldest_ms, state.owner, state.checkpoint) == (0, 0, None, None)
    assert state.last_command == "0-0"


def test_jobs_in_flight_are_counted_once_when_their_owner_has_left(world: World) -> None:
    for lease_ms in (60_000, 0):
        owned = world.own()
        w.enqueue(world, [f"a{lease_ms}"])
        w.claim(owned)
        owned.run(own.release(owned.ownership, drain_lease_ms=lease_ms))

    assert world.partition.observe().in_flight == 2
    assert world.partition.audit().clean


# -- audit: damage that no verb can do, so the tests do it -----------------------------------------


def lose_seats(world: World) -> None:
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).seats.tiers[2].clear()
    else:
        world.client.delete(world.partition.key + b":ring:2")


def lose_lane(world: World, group: bytes) -> None:
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).lanes.pop((2, group))
    else:
        world.client.delete(world.partition.key + b":q:2:" + group)


def plant(world: World, key: str, job_id: bytes) -> None:
    server = world.partition.server
    if isinstance(server, MemoryServer):
        data = server.data(world.partition.key)
        places = {"dl": data.delayed, "dead": data.dead}
        (places[key] if key in places else data.book(int(key[3:]))).add(job_id, 1e12)
    else:
        world.client.zadd(world.partition.key + b":" + key.encode(), {job_id: 1e12})


def test_audit_finds_nothing_where_nothing_is_wrong(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 450))
    w.claim(owned, 20)

    assert world.partition.audit(repair=True).clean
    assert world.partition.observe().lanes == (0, 0, 1, 0)


def test_audit_seats_lanes_that_were_lost(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], b"one")
    w.enqueue(world, ["b", "c"], b"two")
    lose_seats(world)
    assert w.claim(owned).taken == 0

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.unseated == fixed.unseated == 2
    assert sorted(w.drain(owned)) == ["a", "b", "c"]


@pytest.mark.parametrize("seat", ["kept", "lost"])
def test_audit_puts_orphans_back_and_seats_them_once(world: World, seat: str) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    lose_lane(world, b"g")
    if seat == "lost":
        lose_seats(world)

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.orphan == fixed.orphan == 2
    assert world.partition.observe().lanes == (0, 0, 1, 0)
    assert sorted(w.drain(owned)) == ["a", "b"]


def test_audit_removes_ids_without_a_body(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 450))
    w.claim(owned, 20)
    for key in ("dl", "dead", f"fl:{owned.epoch}"):
        plant(world, key, b"ghost")

    seen, fixed = world.partition.audit(), world.partition.audit(repair=True)

    assert seen.hollow == fixed.hollow == 3
    assert seen.unbalanced == 3
    assert world.partition.audit().clean


def test_a_dead_id_without_a_body_can_be_discarded(world: World) -> None:
    plant(world, "dead", b"ghost")

    assert world.partition.discard(["ghost"]) == 1

    assert world.partition.observe().dead == 0


def test_a_seat_without_a_lane_is_dropped_by_the_next_claim(world: World) -> None:
    world.damaged = True
    owned = world.own()
    w.enqueue(world, ["a"], b"gone")
    w.enqueue(world, ["b"], b"there")
    lose_lane(world, b"gone")

    assert list(w.claim(owned).ids) == [b"b"]
    assert world.partition.observe().lanes == (0, 0, 0, 0)
