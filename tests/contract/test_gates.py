"""Jobs that name limits wait at their gates, out of the lanes, until the owner admits them."""

from __future__ import annotations

from collections import Counter

import pytest

from queuepool.errors import InvalidInputError, ScriptError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs.owner import gates as at_gates
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_capped import configure, ids
from tests.contract.test_wakeups import forget_tokens
from tests.contract.world import World


def admit(owned: OwnedPartition, n: int = 200, gate: str = "mail", out: int = 1000) -> int:
    """Admit jobs; return how many that were."""
    return owned.run(at_gates.admit(owned.ownership, gate, n, most_waiting=out)).admitted


def gates(world: World, count: int = 200) -> dict[str, tuple[int, int]]:
    """Return by gate how many ids wait there, and how many were admitted and not claimed."""
    found: dict[str, tuple[int, int]] = {}
    cursor, begun = b"0", False
    while not (begun and cursor == b"0"):
        page = world.partition.run(at_gates.gates(cursor, count=count))
        cursor, begun = page.cursor, True
        found |= {gate.limits: (gate.parked, gate.waiting) for gate in page.gates}
    return found


def test_a_foreign_value_in_place_of_a_ring_stops_an_admission_before_it_begins(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"], limits=b"mail")
    ring = server_world.partition.key + b":ring:2"
    server_world.client.set(ring, "not ours")

    with pytest.raises(ScriptError):
        admit(owned)
    server_world.client.delete(ring)
    assert admit(owned) == 1
    assert w.claim(owned).ids == [b"a"]


NO_GATES = (b"", b",", b",mail", b"a b", b"\xff\xfe", b"x" * 260, b"a\nb", b"\x1b[2J", b"p|mail")


def test_names_that_are_no_gates_are_not_listed(server_world: World) -> None:
    planted = dict.fromkeys(NO_GATES, "5")
    for suffix in (b":gt", b":ga"):
        server_world.client.hset(server_world.partition.key + suffix, mapping=planted)
    server_world.damaged = True

    assert gates(server_world) == {}


@pytest.mark.parametrize("gate", NO_GATES, ids=range(len(NO_GATES)))
def test_a_job_at_what_is_no_gate_runs_as_one_without_limits(
    server_world: World, gate: bytes
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"], limits=b"mail", delay_ms=1000)
    server_world.client.hset(server_world.partition.key + b":lm", "a", b"p|" + gate)
    server_world.advance(1)
    w.promote(owned)

    claims = w.claim(owned)

    assert (claims.ids, claims.limits) == ([b"a"], [])
    w.finish(owned, claims)


@pytest.mark.parametrize(("delay_ms", "parked"), [(0, 1), (1000, 0)])
def test_jobs_without_limits_in_the_call_of_one_with_them_wait_for_none(
    world: World, delay_ms: int, parked: int
) -> None:
    owned, text = world.own(), w.tail(b"g")
    names = ["free", "limited", "free, too"]
    runs = [2, b"g", delay_ms, len(names), *(word for name in names for word in (name, text))]
    wishes = (2, b"", b"", 0, b"mail")  # of the second job
    sizes = {"jobs": len(names), "size_bytes": len(names) * (13 + len(text))}

    assert world.partition.run(produce.enqueue(runs, wishes, **sizes, **w.LIMITS)) == b"111"

    assert world.partition.observe().parked == parked
    world.advance(delay_ms / 1000)
    w.promote(owned)
    assert ids(w.claim(owned)) == ["free", "free, too"]
    assert gates(world) == {"mail": (1, 0)}


@pytest.mark.parametrize("gate", [b",", b",mail", b"a b", b"x" * 260])
def test_a_job_that_names_no_gate_is_refused(server_world: World, gate: bytes) -> None:
    with pytest.raises(InvalidInputError, match="nothing was enqueued"):
        w.enqueue(server_world, ["a"], limits=gate)


def test_jobs_with_limits_are_parked_and_claims_do_not_see_them(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 5), limits=b"mail")
    w.enqueue(world, ["free"], b"other")

    state = world.partition.observe()

    assert (state.ready, state.backlog, state.parked, state.jobs) == ((0, 0, 1, 0), 1, 5, 6)
    assert ids(w.claim(owned)) == ["free"]
    assert world.partition.status("a00000").state is JobState.PARKED
    group = world.partition.group(b"g")
    assert (group.parked, group.ready, group.in_flight, group.left) == (5, 0, 0, 5)
    assert gates(world) == {"mail": (5, 0)}


def test_admitted_jobs_are_ready_and_claims_name_their_gate(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 5), limits=b"api,mail")

    assert admit(owned, 2, "api,mail") == 2

    assert gates(world) == {"api,mail": (3, 2)}
    assert world.partition.observe().ready == (0, 0, 2, 0)
    claims = w.claim(owned)
    assert ids(claims) == ["a00000", "a00001"]
    assert claims.limits == [b"a00000", b"api,mail", b"a00001", b"api,mail"]
    assert gates(world) == {"api,mail": (3, 0)}
    w.finish(owned, claims)
    assert world.partition.group(b"g").done == 2


def test_no_more_are_admitted_than_may_wait_for_a_claim(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 9), limits=b"mail")

    assert [admit(owned, 5, out=3), admit(owned, 5, out=3)] == [3, 0]
    assert len(w.claim(owned).ids) == 3
    assert admit(owned, 5, out=3) == 3


def test_groups_take_turns_at_a_gate_and_tiers_by_weight(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 50), b"huge", limits=b"mail")
    w.enqueue(world, w.names("b", 2), b"small", limits=b"mail")
    w.enqueue(world, w.names("h", 50), b"urgent", tier=0, limits=b"mail")

    assert admit(owned, 14) == 14

    found = sorted(ids(w.claim(owned)))
    assert [i for i in found if i[0] == "b"] == ["b00000", "b00001"]
    assert sum(i[0] == "h" for i in found) >= 6


def test_a_retry_and_every_other_way_back_needs_another_admission(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 4), limits=b"mail")
    admit(owned)
    claims = w.claim(owned)
    w.retry(owned, [b"a00000"], delay_ms=0)
    owned.run(own.hand_back(owned.ownership, [b"a00001"]))
    w.bury(owned, [b"a00002"])
    w.promote(owned)
    world.partition.replay(["a00002"])

    assert w.claim(owned).ids == []

    assert world.partition.observe().parked == 3
    assert admit(owned) == 3
    again = w.claim(owned)
    assert sorted(ids(again)) == ["a00000", "a00001", "a00002"]
    w.finish(owned, again)
    w.finish(owned, claims, 3)
    assert world.partition.observe().jobs == 0


def test_a_job_admitted_by_an_earlier_owner_needs_another_admission(world: World) -> None:
    first = world.own(lease_s=10)
    w.enqueue(world, w.names("a", 3), limits=b"mail")
    admit(first, 2)
    world.advance(11)
    second = world.own()

    assert w.claim(second).ids == []

    assert gates(world) == {"mail": (3, 0)}
    assert admit(second) == 3
    assert ids(w.claim(second)) == ["a00000", "a00001", "a00002"]


def test_delayed_jobs_meet_their_limits_when_they_are_due(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], limits=b"mail", delay_ms=1000)
    assert gates(world) == {}
    world.advance(2)
    w.promote(owned)

    assert w.claim(owned).ids == []

    assert gates(world) == {"mail": (1, 0)}
    assert admit(owned) == 1
    assert ids(w.claim(owned)) == ["a"]


@pytest.mark.parametrize("admitted", [0, 1])
def test_cancelled_jobs_leave_their_gate(world: World, admitted: int) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], limits=b"mail")
    admit(owned, admitted)

    assert world.partition.cancel("a") is JobState.READY

    assert world.partition.status("a").state is JobState.CANCELLED
    assert world.partition.observe().parked == 2 - 1 if not admitted else 1
    assert admit(owned) == 1
    assert ids(w.claim(owned)) == ["b"]
    assert gates(world) == {}


def test_jobs_of_a_held_group_stay_at_their_gate(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 3), b"held", limits=b"mail")
    w.enqueue(world, ["b"], b"other", limits=b"mail")
    configure(world, b"held", hold=True)

    assert admit(owned) == 1

    assert ids(w.claim(owned)) == ["b"]
    assert world.partition.observe().parked == 3
    configure(world, b"held", hold=False)
    assert admit(owned) == 3
    assert len(w.claim(owned).ids) == 3


def test_parked_jobs_do_not_count_as_running_ones_of_a_capped_group(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 3), limits=b"mail")
    w.enqueue(world, w.names("b", 3))
    configure(world, max_running=2)

    assert ids(w.claim(owned)) == ["b00000", "b00001"]


@pytest.mark.parametrize("held", ["group", "tenant", "partition"])
def test_what_is_held_is_not_admitted_and_others_are(world: World, held: str) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], group_of(b"g", b"acme"), limits=b"mail")
    w.enqueue(world, ["b"], b"other", limits=b"mail")

    def hold(on: bool) -> None:
        if held == "tenant":
            world.partition.run(tenants.configure(b"acme", hold=on))
        else:
            group = group_of(b"g", b"acme") if held == "group" else None
            world.partition.run(produce.configure(group, hold=on))

    hold(True)

    assert admit(owned) == (0 if held == "partition" else 1)
    assert gates(world)["mail"][0] == (2 if held == "partition" else 1)
    hold(False)
    assert admit(owned) == (2 if held == "partition" else 1)
    assert sorted(ids(w.claim(owned))) == ["a", "b"]


def test_a_parked_job_that_expired_costs_no_admission(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 3), limits=b"mail", expires_ms=1000)
    w.enqueue(world, ["b"], limits=b"mail")
    world.advance(2)

    assert admit(owned, 1) == 1

    assert ids(w.claim(owned)) == ["b"]
    assert world.counters()["expired"] == 3
    assert gates(world) == {}


def test_the_first_job_at_a_gate_wakes_the_owner(world: World) -> None:
    w.enqueue(world, ["a", "b"], limits=b"mail")

    tokens = _tokens(world)
    assert b"g" in tokens
    assert b"w" not in tokens


def test_admitted_jobs_are_counted_and_wake_the_owner(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 3), limits=b"mail")
    forget_tokens(world)

    assert admit(owned, 2) == 2

    assert snapshot(world)["tokens"] == [b"w"]
    assert world.counters()["admitted"] == 2


def test_an_admission_ends_what_was_cancelled_with_its_group_and_wakes_nobody(
    server_world: World,
) -> None:
    world, owned = server_world, server_world.own()
    w.enqueue(world, w.names("a", 3), limits=b"mail")
    world.partition.run(produce.cancel_group(b"g", b"start"))
    forget_tokens(world)

    done = owned.run(at_gates.admit(owned.ownership, "mail", 9, most_waiting=9))

    assert (done.admitted, done.cancelled) == (0, 3)
    assert snapshot(world)["tokens"] == []
    assert (world.partition.observe().parked, world.partition.observe().jobs) == (0, 0)


def test_the_turns_of_tiers_go_on_with_the_next_admission(world: World) -> None:
    owned = world.own()
    for tier in range(4):
        w.enqueue(world, w.names(f"{tier}-", 12), b"g%d" % tier, tier=tier, limits=b"mail")

    for _ in range(12):
        assert admit(owned, 1) == 1

    found = Counter(i.partition("-")[0] for i in ids(w.claim(owned)))
    assert found == {"0": 6, "1": 3, "2": 2, "3": 1}


def test_an_admission_tells_claims_how_large_its_jobs_are(server_world: World) -> None:
    owned, counters = server_world.own(), server_world.partition.key + b":c"
    w.enqueue(server_world, ["a"], payload=b"x" * 1000, limits=b"mail")
    server_world.client.hset(counters, "largest", 1)

    admit(owned)

    known = server_world.client.hget(counters, "largest")
    assert known == b"%d" % len(w.claim(owned).bodies[0])


def test_parked_jobs_stay_counted_when_their_group_loses_its_settings(world: World) -> None:
    w.enqueue(world, w.names("a", 2), limits=b"mail")
    world.partition.run(produce.configure(b"g", hold=True))

    world.partition.run(produce.configure(b"g", hold=False))

    group = world.partition.group(b"g")
    assert (group.parked, group.ready, group.in_flight) == (2, 0, 0)


def _tokens(world: World) -> list[bytes]:
    if world.in_memory:
        return list(world.client.data(world.partition.key).tokens) if world.client else [b"g"]
    return list(world.client.lrange(world.partition.key + b":wk", 0, -1))


def test_a_gate_without_parked_jobs_is_listed_while_admitted_ones_wait(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], limits=b"mail")
    admit(owned)

    assert gates(world) == {"mail": (0, 1)}

    w.claim(owned)
    assert gates(world) == {}


@pytest.mark.parametrize("end", ["cancel", "claim", "takeover"])
def test_a_gate_that_was_used_leaves_nothing_behind(world: World, end: str) -> None:
    owned = world.own(lease_s=10)
    w.enqueue(world, ["a"], limits=b"mail")
    admit(owned)

    if end == "cancel":
        world.partition.cancel("a")
    elif end == "takeover":
        world.advance(11)
        owned = world.own()
    claims = w.claim(owned)
    if end == "takeover":
        assert admit(owned) == 1
        claims = w.claim(owned)
    w.finish(owned, claims)

    assert gates(world) == {}
    if world.client is not None:
        assert not world.client.exists(world.partition.key + b":ga")


def test_all_gates_are_listed_by_pages_those_with_admitted_jobs_too(world: World) -> None:
    owned = world.own()
    names = [f"account-{n:03}" for n in range(700)]
    for name in names:
        w.enqueue(world, [f"j-{name}"], limits=name.encode())
    for name in names[::2]:
        admit(owned, gate=name)

    seen = gates(world, count=50)

    assert seen == {name: (n % 2, 1 - n % 2) for n, name in enumerate(names)}


def test_gates_with_admitted_jobs_alone_are_listed_by_pages(server_world: World) -> None:
    owned, setting = server_world.own(), "hash-max-listpack-entries"
    [before] = server_world.client.config_get(setting).values()
    server_world.client.config_set(setting, 8)  # a hash of more is read by pages
    names = [f"account-{n:02}" for n in range(40)]
    for name in names:
        w.enqueue(server_world, [f"j-{name}"], limits=name.encode())
        admit(owned, gate=name)

    seen = gates(server_world, count=5)

    server_world.client.config_set(setting, before)
    assert seen == dict.fromkeys(names, (0, 1))


def test_a_page_says_whether_jobs_ever_were_at_a_gate(world: World) -> None:
    owned = world.own()
    assert not world.partition.run(at_gates.gates()).used

    w.enqueue(world, ["a"], limits=b"mail")
    world.partition.cancel("a")
    admit(owned)

    assert world.partition.run(at_gates.gates()).used


@pytest.mark.parametrize("per_claim", [1, 2, 10])
def test_jobs_that_return_to_their_gate_keep_their_order(world: World, per_claim: int) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", 8), limits=b"mail")
    assert admit(owned, 5) == 5
    claims = w.claim(owned, 4)
    owned.run(own.hand_back(owned.ownership, claims.ids[1:]))
    for _ in range(6):
        w.claim(owned, per_claim)

    begun: list[str] = []
    while admit(owned, 2):
        begun += ids(w.claim(owned, 2))

    assert begun == [name for name in w.names("a", 8) if name not in ("a00000", "a00004")]


def test_what_returns_to_its_gate_is_in_front_of_a_new_job_with_an_old_id(world: World) -> None:
    def admit_for_another_owner() -> OwnedPartition:  # whose claim sends it back
        assert admit(world.own(lease_s=10), 1) == 1
        world.advance(300)  # an id that ended is forgotten by then
        owned = world.own(lease_s=10)
        assert w.claim(owned).ids == []
        return owned

    w.enqueue(world, ["a", "b", "c", "d"], limits=b"mail")
    owned = admit_for_another_owner()
    assert admit(owned, 1) == 1
    w.finish(owned, w.claim(owned))
    world.advance(300)
    w.enqueue(world, ["a"], limits=b"mail")
    owned = admit_for_another_owner()

    begun: list[str] = []
    while admit(owned, 1):
        begun += ids(w.claim(owned))
    assert begun == ["b", "c", "d", "a"]
