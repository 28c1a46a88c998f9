"""One suite, run on the partition in memory and on every real server that this machine has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from queuepool.models.tenants import tenant_of
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.codec import read_group
from queuepool.verbs.operator import verbs as operate
from tests.conftest import server_engines
from tests.contract.snapshot import snapshot
from tests.contract.world import World, memory_world, real_world

SERVERS = [pytest.param(kind, marks=pytest.mark.server) for kind in ("bundled", "redis-server")]


@pytest.fixture(scope="session")
def contract_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The URL of a server of one kind, shared by the tests of this worker; None for memory."""
    kind = str(request.param)
    if kind == "memory":
        yield None
        return
    binary = server_engines().get(kind)
    if binary is None:
        pytest.skip(f"{kind} is not installed here")
    with EmbeddedServer(binary=binary, appendonly=False) as server:
        yield server.url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that wants a world, or one on a real server, once for each kind."""
    if "server_world" in metafunc.fixturenames:
        metafunc.parametrize("contract_url", SERVERS, indirect=True, scope="session")
    elif "world" in metafunc.fixturenames:
        metafunc.parametrize("contract_url", ["memory", *SERVERS], indirect=True, scope="session")


@pytest.fixture
def world(contract_url: str | None, stage: str) -> Iterator[World]:
    """An empty partition. After the test, nothing impossible may be in it."""
    world = memory_world() if contract_url is None else real_world(contract_url, stage)
    yield world
    try:
        if not world.damaged:
            check_invariants(world)
    finally:
        world.partition.server.close()
        if world.client is not None:
            world.client.flushall()  # or the scans of later tests pass over all keys of this one
            world.client.close()


@pytest.fixture
def server_world(world: World) -> World:
    """An empty partition on a real server, for what memory cannot show."""
    return world


def check_invariants(world: World, when: str = "at the end") -> None:
    """Fail unless the partition is in order: conservation, seats, places, counters."""
    report = world.partition.audit()
    state = world.partition.run(operate.observe(0))

    assert report.clean, f"{when}: {report}"
    assert all(value >= 0 for value in state.counters.values()), (when, state.counters)
    assert state.bytes >= 0
    ready = state.backlog + state.held + state.capped + state.parked
    assert state.jobs == ready + state.delayed + state.in_flight + state.dead
    if state.jobs == 0:
        assert state.bytes == 0
    check_places(snapshot(world), when)
    if not world.in_memory:
        check_expiry(world)
        check_index(world)


READY = ("r0", "r1", "r2", "r3", "held", "capped")


def check_places(state: dict[str, Any], when: str) -> None:
    """Fail unless every job is in exactly one place, and nothing is noted of jobs that are gone."""
    jobs, marks = set(state["jobs"]), state["marks"]
    in_lanes = [i for lane in state["lanes"].values() for i in lane]
    in_books = [i for book in state["books"] for _, i in book]
    at_gates = [i for lane in state["gated"].values() for i in lane]
    places = [i for i in in_lanes + at_gates if i not in marks]
    places += in_books + state["delayed"] + state["dead"]
    ready = sum(state["counters"].get(name, 0) for name in READY)
    rings = [*state["rings"], *state["tenants"].values()]
    seats = [seat for ring in rings for seat in ring if seat[0] < b"4"]

    assert sorted(places) == sorted(jobs), f"{when}: a job is in no place, or in two"
    assert set(state["asides"]) <= set(state["delayed"]), f"{when}: waits for a task, not delayed"
    assert set(state["urgent"]) <= set(state["delayed"]), f"{when}: listed as urgent, not delayed"
    assert marks <= set(in_lanes + at_gates), f"{when}: marks leaked: {marks - set(in_lanes)}"
    assert ready == len(set(in_lanes) - marks), f"{when}: ready jobs miscounted"
    placed = sorted([*seats, *state["out"]])
    seated = sorted([*state["lanes"], *state["stale"]])
    assert placed == seated, f"{when}: a lane has no seat, or two (I17)"
    sitting = [seat for ring in state["rings"] for seat in ring if seat[0] >= b"4"]
    tenants = [(b"%d" % (int(tier) + 4), name) for tier, name in state["tenants"]]
    placed = sorted([*sitting, *state["shut"]])
    assert placed == sorted(tenants), f"{when}: a tenant has no seat, or two (I17)"
    full = {
        name for name, bounds in state["tenant_apart"].items() if not room_of(state, name, bounds)
    }
    assert {name for _, name in state["shut"]} <= full, f"{when}: shut for no reason (I17)"
    check_holds(state, when)
    check_gates(state, when)
    for notes in ("attempts", "crashes", "errors"):
        assert set(state[notes]) <= jobs, f"{when}: {notes} of jobs that are gone"
    holders, keys = state["unique"]
    alive = {said[1:]: i for i, said in keys.items() if i not in state["dead"] and said[:1] != b"S"}
    assert state["expiring"] <= jobs - set(state["dead"]), f"{when}: jobs that are gone expire"
    assert set(keys) <= jobs, f"{when}: unique keys of jobs that are gone"
    assert holders == alive, f"{when}: I14: a unique key is held other than by its job"
    for notes in ("progress", "cancels"):
        assert set(state[notes]) <= set(in_books), f"{when}: {notes} of jobs that do not run"
    assert all(totals[1] >= 0 for totals in state["groups"].values()), f"{when}: {state['groups']}"


def check_holds(state: dict[str, Any], when: str) -> None:
    """Fail unless managed groups, and only they, count their jobs and what may be claimed."""
    waiting = {
        (tier, group): n
        for (tier, group), ids in state["lanes"].items()
        if group in state["managed"] and (n := len(set(ids) - state["marks"]))
    }
    assert state["waiting"] == waiting, f"{when}: ready jobs of managed groups are miscounted"
    apart: Counter[str] = Counter()
    for group, room in state["managed"].items():
        ready = sum(n for (_, name), n in waiting.items() if name == group)
        able = sum(n for (_, name), n in state["able"].items() if name == group)
        kind, rest, _most, _serial = state["apart"][group]
        assert (able, rest) == (min(ready, room), ready - able), f"{when}: {group!r} is miscounted"
        apart[kind] += rest
    able = of_tenants(state)
    assert state["tenant_able"] == able, f"{when}: jobs of tenants are miscounted"
    check_tenants(state, able, apart, when)
    for kind in ("held", "capped"):
        assert state["counters"].get(kind, 0) == apart[kind], f"{when}: {kind} miscounted"
    closed = {group for group, room in state["managed"].items() if room == 0}
    assert {group for _, group in state["out"]} <= closed, f"{when}: out for no reason (I17)"


def room_of(state: dict[str, Any], tenant: bytes, bounds: tuple[str, int, bool, int]) -> int:
    """Return how many jobs of a bounded tenant may be claimed."""
    _kind, _apart, held, most = bounds
    return 0 if held else max(0, most - state["tenant_running"].get(tenant, 0)) if most else 10**9


def check_tenants(
    state: dict[str, Any],
    able: dict[tuple[bytes, bytes], int],
    apart: Counter[str],
    when: str,
) -> None:
    """Fail unless the records of tenants count jobs in flight, and what may be claimed."""
    in_flight = (i for book in state["books"] for _, i in book if i in state["jobs"])
    names = (tenant_of(group_in(state["jobs"][i])) for i in in_flight)
    running = Counter(name for name in names if name)
    assert state["tenant_running"] == running, f"{when}: running jobs of tenants"
    for name, bounds in state["tenant_apart"].items():
        ready = sum(n for (_, tenant), n in able.items() if tenant == name)
        may = sum(n for (_, tenant), n in state["tenant_shares"].items() if tenant == name)
        kind, rest, held, _most = bounds
        assert (may, rest) == (min(ready, room_of(state, name, bounds)), ready - may), (
            f"{when}: {name!r} is miscounted: {bounds}, {able}, {state['tenant_shares']}"
        )
        assert kind == ("held" if held else "capped"), f"{when}: {name!r} is {kind}"
        apart[kind] += rest


def group_in(body: bytes) -> bytes:
    """Return the group of a body whose stamp was left out."""
    return body[7 : 7 + int(body[5:7], 16)]


def of_tenants(state: dict[str, Any]) -> dict[tuple[bytes, bytes], int]:
    """Return how many jobs of each tier and tenant its groups let run."""
    able: Counter[tuple[bytes, bytes]] = Counter()
    for (tier, group), ids in state["lanes"].items():
        if (tenant := tenant_of(group)) and group not in state["managed"]:
            able[tier, tenant] += len(set(ids) - state["marks"])
    for (tier, group), n in state["able"].items():
        if (tenant := tenant_of(group)) and group in state["managed"]:
            able[place_of(state, tier, group), tenant] += n
    return {lane: n for lane, n in able.items() if n}


def place_of(state: dict[str, Any], tier: bytes, group: bytes) -> bytes:
    """Return the tier whose turns a lane of a group has."""
    own = state["moved"].get(group)
    return tier if own is None else b"%d" % own


def check_gates(state: dict[str, Any], when: str) -> None:
    """Fail unless parked jobs wait at their gates, in lanes with one seat each, and are counted."""
    limits, counters = state["limits"], state["counters"]
    ids = {i for lane in state["gated"].values() for i in lane} - state["marks"]
    parked = {i for i, (place, _) in limits.items() if place == b"p"}
    moved = state["moved"]  # these may still have the turns of another tier there
    lanes = [(place[group in moved :], group) for place, group in state["gated"]]
    rings = state["at_gates"].items()
    seats = [(place[group in moved :], group) for place, ring in rings for group in ring]
    waiting: Counter[bytes] = Counter()
    for (place, _), lane in state["gated"].items():
        waiting[place[2:]] += len(lane)
    admitted = Counter(gate for place, gate in limits.values() if place == b"epoch")

    assert set(limits) <= set(state["jobs"]), f"{when}: limits of jobs that are gone"
    assert ids == parked, f"{when}: parked elsewhere than at a gate"
    assert sorted(seats) == sorted(lanes), f"{when}: a lane at a gate has no seat, or two"
    assert counters.get("parked", 0) == len(parked), f"{when}: parked jobs are miscounted"
    assert state["gates"] == (waiting, admitted), f"{when}: {state['gates']} at gates"


def check_index(world: World) -> None:
    """Fail unless the delayed jobs of each group, and no others, are indexed by their group."""
    base, client = world.partition.key, world.client
    groups: dict[bytes, set[bytes]] = {}
    for job_id in client.zrange(base + b":dl", 0, -1):
        groups.setdefault(read_group(client.hget(base + b":j", job_id)), set()).add(job_id)
    keys = client.scan_iter(match=base + b":dg:*", count=1000)
    assert {k[len(base) + 4 :]: client.smembers(k) for k in keys} == groups


def check_expiry(world: World) -> None:
    """Fail when something that is remembered for a time would be remembered forever."""
    base, client = world.partition.key, world.client
    for key in client.scan_iter(match=base + b":r:*"):
        assert client.pttl(key) != -1, key
    for key in client.scan_iter(match=base + b":g:*"):
        left, dead = (int(x or 0) for x in client.hmget(key, "left", "dead"))
        assert (client.pttl(key) == -1) == (left > 0 or dead > 0), key
