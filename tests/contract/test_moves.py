"""Task groups that go from one partition to another; what a crash at any call leaves of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from coordinator.core.moves.copying import Copied, Side, copying, copying_back
from queuepool.errors import MovedError
from queuepool.models.jobs import JobId, Replayed
from queuepool.partitions.partition import Partition
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.operator import editing
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.conftest import check_invariants
from tests.contract.snapshot import snapshot
from tests.contract.world import World

V = 5
T = TypeVar("T")


@dataclass
class Pair:
    """Partition A, and B, where a group goes."""

    a: World
    b: World

    def turn_away(self, version: int) -> None:
        for world in (self.a, self.b):
            world.partition.run(lead.turn_away(version))

    def at(self, side: Side) -> World:
        return self.a if side is Side.A else self.b

    def run(self, side: Side, verb: Verb[T]) -> T:
        return self.at(side).partition.run(verb)

    def freeze(self, *groups: bytes) -> list[int]:
        self.turn_away(V)
        return self.run(Side.A, move.freeze(V, dict.fromkeys(groups, 7), closed=True))

    def carry(self, group: bytes = b"g", dead: tuple[bytes, ...] = ()) -> Copied:
        return self.drive(copying(V, group, dead))

    def drive(
        self, steps: Generator[Any, Any, Copied], stop_at: int = -1, *, executed: bool = True
    ) -> Copied:
        """Make the calls. stop_at: the one whose reply is lost, or that is not executed."""
        reply: Any = None
        calls = 0
        while True:
            try:
                side, verb, _ = steps.send(reply)
            except StopIteration as end:
                return Copied(end.value.left, end.value.dead, end.value.kept)
            if calls == stop_at and not executed:
                raise _CrashError
            reply = self.run(side, verb)
            if calls == stop_at:
                raise _CrashError
            calls += 1

    def arrive(self) -> None:
        self.turn_away(V + 1)
        assert self.run(Side.B, move.thaw(V + 1)) == 0

    def check(self, when: str = "") -> None:
        for world in (self.a, self.b):
            check_invariants(world, when)


class _CrashError(Exception):
    """The leader is gone."""


@pytest.fixture
def pair(world: World) -> Iterator[Pair]:
    key = world.partition.key.replace(b"_0}", b"_1}")
    b = World(Partition(1, key, world.partition.server), world.clock, world.client)
    yield Pair(world, b)
    check_invariants(b)


def _fill(world: World, group: bytes = b"g", prefix: str = "") -> None:
    """Put a job of a group into every place that there is, but for running ones."""
    owned = world.own(nonce="a")
    for name in ("dead", "tried", "killed", "aside"):
        w.enqueue(world, [prefix + name], group, unique={0: f"key-{prefix}{name}".encode()})
    claims = w.claim(owned)
    ids = dict(zip([i.decode()[len(prefix) :] for i in claims.ids], claims.ids, strict=True))
    w.bury(owned, [ids["dead"]])
    w.retry(owned, [ids["tried"]], delay_ms=60_000)
    owned.run(own.retry(owned.ownership, [(ids["aside"], 70_000, "new", b"{}")]))
    w.finish(owned, claims, *(i for i, n in enumerate(claims.ids) if n == ids["killed"]))
    w.enqueue(world, [f"{prefix}{n}" for n in "abc"], group)
    w.enqueue(world, [f"{prefix}high"], group, tier=0, expires_ms=600_000)
    w.enqueue(world, [f"{prefix}late"], group, delay_ms=90_000, unique={0: prefix.encode() + b"u"})
    w.enqueue(world, [f"{prefix}parked", f"{prefix}parked2"], group, limits=b"api")
    w.enqueue(world, [f"{prefix}mark"], group)
    world.partition.cancel(f"{prefix}mark")
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


_COMPARED = ("jobs", "unique", "expiring", "attempts", "crashes", "errors", "asides", "groups",
             "dead", "delayed")  # fmt: skip


def _has(world: World) -> dict[str, Any]:
    state = {k: deepcopy(v) for k, v in snapshot(world).items() if k in _COMPARED}
    # Without parked ones: at B they go to their gate again
    totals = {n: t[:9] for n, t in state["groups"].items()}
    return state | {"groups": totals}


def test_a_group_arrives_with_all_that_it_has(pair: Pair) -> None:
    _fill(pair.a)
    before = _has(pair.a)

    assert pair.freeze(b"g") == [0]
    assert pair.carry(dead=(b"dead",)).done
    pair.check()
    assert _has(pair.b) == before
    assert pair.a.partition.observe().jobs == 0
    assert snapshot(pair.a)["groups"] == {}

    pair.arrive()
    pair.check()
    assert _has(pair.b) == before


def test_jobs_start_at_b_in_the_order_that_they_had(pair: Pair) -> None:
    ids = w.names("j", 450)
    w.enqueue(pair.a, ids[:200])
    w.enqueue(pair.a, ids[200:400])
    w.enqueue(pair.a, ids[400:])
    owned = pair.b.own(nonce="b")

    pair.freeze(b"g")
    pair.carry()
    assert w.drain(owned) == []
    pair.arrive()
    assert w.drain(owned) == ids


@pytest.mark.parametrize("executed", [True, False])
def test_a_crash_at_any_call_loses_and_doubles_nothing(pair: Pair, executed: bool) -> None:
    _fill(pair.a)
    before = _has(pair.a)
    pair.freeze(b"g")
    dead = [b"dead"]

    for stop_at in range(100):
        try:
            pair.drive(copying(V, b"g", dead), stop_at % 8, executed=executed)
            break
        except _CrashError:
            pair.check(f"after call {stop_at}")
            jobs = {**snapshot(pair.a)["jobs"], **snapshot(pair.b)["jobs"]}
            assert jobs.keys() == before["jobs"].keys()
        dead = [i for i in dead if i in snapshot(pair.a)["dead"]]

    assert stop_at > 3
    assert _has(pair.b) == before
    assert pair.a.partition.observe().jobs == 0


def test_every_call_may_be_repeated(pair: Pair) -> None:
    _fill(pair.a)
    before = _has(pair.a)
    pair.freeze(b"g")
    steps, reply, sent = copying(V, b"g", [b"dead"]), None, []
    while True:
        try:
            side, verb, _ = steps.send(reply)
        except StopIteration:
            break
        reply = pair.run(side, verb)
        sent.append((side, verb))
        for late in sent:  # also those before
            pair.run(*late)
    # What comes late meets jobs that A has forgotten since: B knows them by id and
    # stamp, so that nothing is added
    assert _has(pair.b) == before
    assert pair.a.partition.observe().jobs == 0


def test_a_frozen_group_starts_nothing_at_either_place(pair: Pair) -> None:
    w.enqueue(pair.a, ["a", "b"])
    w.enqueue(pair.a, ["other"], b"other")
    a, b = pair.a.own(nonce="a"), pair.b.own(nonce="b")
    pair.freeze(b"g")

    pair.run(Side.A, move.freeze(V, {b"g": 7}))
    assert w.drain(a) == ["other"]
    pair.carry()
    assert w.drain(a) == w.drain(b) == []
    pair.run(Side.B, produce.configure(b"g", hold=True, version=V))
    pair.run(Side.B, produce.configure(b"g", hold=False, version=V))
    assert w.drain(b) == []
    pair.arrive()
    assert w.drain(b) == ["a", "b"]


def test_running_jobs_are_counted_until_they_end(pair: Pair) -> None:
    w.enqueue(pair.a, ["a", "b", "c"])
    owned = pair.a.own(nonce="a")
    claims = w.claim(owned, 2)

    assert pair.freeze(b"g", b"unknown") == [2, -1]
    w.finish(owned, claims, 0)
    assert pair.run(Side.A, move.freeze(V, {b"g": 7})) == [1]
    w.retry(owned, [b"b"], delay_ms=0)
    assert pair.run(Side.A, move.freeze(V, {b"g": 7})) == [0]
    assert pair.carry().done
    assert pair.a.partition.observe().jobs == 0


def test_a_running_job_stays_with_its_group(pair: Pair) -> None:
    w.enqueue(pair.a, ["a", "b"])
    owned = pair.a.own(nonce="a")
    claims = w.claim(owned, 1)
    assert pair.freeze(b"g") == [1]

    assert pair.carry() == Copied(left=1)
    assert set(snapshot(pair.a)["jobs"]) == {b"a"}
    assert b"g" in snapshot(pair.a)["groups"]
    w.finish(owned, claims)
    pair.carry()
    assert snapshot(pair.a)["groups"] == {}
    assert snapshot(pair.b)["groups"][b"g"][:2] == (2, 1)


@pytest.mark.parametrize("settings", [{"hold": True}, {"max_running": 1}, {"serial": True},
                                      {"weight": 3}, {"tier": 0}])  # fmt: skip
def test_settings_go_with_the_group(pair: Pair, settings: dict[str, Any]) -> None:
    w.enqueue(pair.a, ["a", "b"])
    pair.run(Side.A, produce.configure(b"g", **settings))
    apart = snapshot(pair.a)["apart"]
    owned = pair.b.own(nonce="b")

    pair.freeze(b"g")
    pair.carry()
    pair.arrive()
    assert snapshot(pair.b)["apart"] == apart
    expected = 0 if "hold" in settings else 1 if settings.keys() & {"max_running", "serial"} else 2
    assert len(w.claim(owned).ids) == expected


def test_a_group_without_settings_costs_nothing_more_afterwards(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"])
    pair.freeze(b"g")
    pair.carry()
    pair.arrive()

    assert snapshot(pair.b)["managed"] == {}
    assert snapshot(pair.b)["apart"] == {}


def test_totals_count_once_and_a_later_move_adds_to_them(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    w.enqueue(pair.a, ["a", "b"])
    w.finish(owned, w.claim(owned, 1))
    pair.freeze(b"g")
    last = pair.run(Side.A, move.export(V, b"g"))
    for _ in range(3):
        pair.run(Side.B, move.adopt(V, b"g", last, last=True))
    pair.carry()
    pair.arrive()

    group = pair.run(Side.B, produce.group(b"g", V + 1))
    assert (group.total, group.done, group.left) == (2, 1, 1)


def test_a_job_whose_id_b_knows_stays_and_is_named(pair: Pair) -> None:
    w.enqueue(pair.a, ["same", "other"])
    w.enqueue(pair.b, ["same"], b"of b")
    pair.freeze(b"g")

    assert pair.carry() == Copied(left=1, kept=(b"same",))
    assert set(snapshot(pair.a)["jobs"]) == {b"same"}
    assert set(snapshot(pair.b)["jobs"]) == {b"same", b"other"}
    assert snapshot(pair.b)["groups"][b"g"][:2] == (1, 1)


def test_what_comes_back_is_found_beside_the_marks_that_it_left(pair: Pair) -> None:
    _fill(pair.a)
    before = _has(pair.a)
    pair.freeze(b"g")
    pair.carry(dead=(b"dead",))
    back = Pair(pair.b, pair.a)
    back.turn_away(V + 1)
    back.run(Side.A, move.freeze(V + 1, {b"g": 7}))
    assert back.drive(copying(V + 1, b"g", [b"dead"])).done

    pair.turn_away(V + 2)
    pair.run(Side.A, move.thaw(V + 2))
    pair.check()
    assert _has(pair.a) == before
    assert {*w.drain(pair.a.own(nonce="again"))} >= {"a", "b", "c", "high"}


def test_what_came_back_outlives_a_late_call_that_made_way_for_it(pair: Pair) -> None:
    w.enqueue(pair.a, ["a", "b"])
    owned = pair.a.own()
    w.finish(owned, w.claim(owned))
    pair.freeze(b"g")
    with pytest.raises(_CrashError):  # B has the totals; A still has them
        pair.drive(copying(V, b"g", []), stop_at=3, executed=False)
    assert _totals(pair.a) == _totals(pair.b) == (2, 2)

    back = Pair(pair.b, pair.a)
    back.turn_away(V + 1)
    back.run(Side.A, move.freeze(V + 1, {b"g": 7}))
    assert back.drive(copying_back(V + 1, b"g", [])).done
    back.run(Side.B, move.forget_twin(V + 1, b"g"))

    assert (_totals(pair.a), _totals(pair.b)) == ((2, 2), (0, 0))


def _totals(world: World) -> tuple[int, int]:
    status = world.partition.run(produce.group(b"g", V + 1))
    return status.total, status.done


def test_calls_of_another_version_change_nothing(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"])
    pair.freeze(b"g")
    jobs = pair.run(Side.A, move.export(V, b"g"))
    pair.arrive()
    before = snapshot(pair.a), snapshot(pair.b)

    for version in (1, V, V + 2):
        calls: list[Verb[Any]] = [
            move.freeze(version, {b"g": 7}),
            move.export(version, b"g"),
            move.adopt(version, b"g", jobs),
            move.forget(version, b"g", jobs.stamps),
            move.thaw(version),
        ]
        for verb in calls:
            for side in Side:
                with pytest.raises(MovedError):
                    pair.run(side, verb)
    assert (snapshot(pair.a), snapshot(pair.b)) == before


def test_what_is_forgotten_together_leaves_its_lane(pair: Pair) -> None:
    w.enqueue(pair.a, ["a", "b", "c"])
    pair.freeze(b"g")
    jobs = pair.run(Side.A, move.export(V, b"g"))

    assert pair.run(Side.A, move.forget(V, b"g", jobs.stamps[:2])) == (1, 0)

    assert snapshot(pair.a)["lanes"] == {(b"2", b"g"): [b"c"]}


def test_a_unique_key_that_b_uses_is_left_behind(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"], unique={0: b"key"})
    w.enqueue(pair.b, ["b"], b"of b", unique={0: b"key"})
    pair.freeze(b"g")
    assert pair.carry().done

    assert snapshot(pair.b)["unique"] == ({b"key": b"b"}, {b"b": b"ekey"})
    assert pair.b.counters()["conflicts"] == 1


def test_groups_with_jobs_are_found_by_slot_and_their_dead_jobs_by_id(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    w.enqueue(pair.a, ["dead", "runs"], b"one")
    w.claim(owned)
    w.bury(owned, [b"dead"])
    w.enqueue(pair.a, w.names("j", 1500), b"two")
    w.enqueue(pair.a, ["late"], b"three", delay_ms=60_000)
    found, cursor, pages = move.Walked(), b"0", 0
    while cursor != b"0" or not pages:
        cursor, page = pair.run(Side.A, move.walk(cursor, jobs=50))
        found.add(page)
        pages += 1

    assert found.slots == {b"one": 7, b"two": 7, b"three": 7}
    assert found.dead == {b"one": [b"dead"]}
    assert pages > 3 or pair.a.in_memory


def test_what_is_on_its_way_is_not_changed_by_operators(pair: Pair) -> None:
    w.enqueue(pair.a, ["waits"])
    w.enqueue(pair.a, ["died"], tier=0)
    owned = pair.a.own(nonce="a")
    w.bury(owned, w.claim(owned, 1).ids)
    pair.freeze(b"g")
    body = pair.run(Side.A, editing.edit("waits"))[1]

    assert pair.run(Side.A, editing.edit("waits", body, b"{}")) == ("moving", b"")
    assert pair.run(Side.A, operate.replay(["died"])) == Replayed(0, (JobId("died"),))
    assert pair.run(Side.A, operate.discard(["died"])) == 0
    pair.run(Side.A, move.thaw(V))
    assert pair.run(Side.A, editing.edit("waits", body, body[20:])) == ("edited", b"")
    assert pair.run(Side.A, operate.replay(["died"])) == Replayed(1)


def test_frozen_groups_are_listed_with_their_slots_also_without_jobs(pair: Pair) -> None:
    w.enqueue(pair.a, ["a"], b"one")
    w.enqueue(pair.a, ["b"], b"two")
    owned = pair.a.own(nonce="a")
    pair.turn_away(V)
    claims = w.claim(owned)
    pair.run(Side.A, move.freeze(V, {b"one": 7, b"two": 4095}))
    w.finish(owned, claims)

    cursor, found = pair.run(Side.A, move.frozen())
    assert (cursor, found) == (b"0", {b"one": 7, b"two": 4095})
    pair.carry(b"two")
    assert pair.run(Side.A, move.frozen())[1] == {b"one": 7}
    assert pair.run(Side.B, move.frozen())[1] == {b"two": 4095}
    pair.arrive()
    assert pair.run(Side.B, move.frozen())[1] == {}
    assert pair.run(Side.B, produce.group(b"two", V + 1)).done == 1


def test_tenants_with_settings_are_listed(pair: Pair) -> None:
    pair.run(Side.A, tenants.configure(b"acme", weight=3))
    pair.run(Side.A, tenants.configure(b"other", hold=True))

    cursor, found = pair.run(Side.A, move.tenants())
    assert (cursor, sorted(found)) == (b"0", [b"acme", b"other"])


def test_a_dead_job_can_be_replayed_where_it_went(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    w.enqueue(pair.a, ["dead"])
    w.claim(owned)
    w.bury(owned, [b"dead"])
    pair.freeze(b"g")
    pair.carry(dead=(b"dead",))
    pair.arrive()

    pair.run(Side.B, operate.replay(["dead"]))
    assert w.drain(pair.b.own(nonce="b")) == ["dead"]
    assert pair.run(Side.B, produce.group(b"g", V + 1)).done == 1


def test_a_cancelled_group_ends_nothing_that_comes_after_it_moved(pair: Pair) -> None:
    owned = pair.a.own(nonce="a")
    w.enqueue(pair.a, ["late"], delay_ms=60_000)
    w.enqueue(pair.a, ["runs"])
    w.claim(owned)
    pair.a.partition.cancel_group(b"g")
    w.retry(owned, [b"runs"], delay_ms=0)
    pair.freeze(b"g")
    pair.carry()
    pair.arrive()

    text = w.tail(b"g")
    pair.run(
        Side.B,
        produce.enqueue(
            [2, b"g", 0, 1, b"new", text],
            jobs=1,
            size_bytes=13 + len(text),
            version=V + 1,
            **w.LIMITS,
        ),
    )
    assert w.drain(pair.b.own(nonce="b")) == ["new"]
    assert pair.run(Side.B, produce.group(b"g", V + 1)).cancelled == 2
