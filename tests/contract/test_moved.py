"""A partition turns away who routes by an older version than it accepts, before any write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queuepool.errors import MovedError
from queuepool.partitions.partition import Partition
from queuepool.partitions.sameness import are_same
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.relay import relay
from queuepool.verbs.schedules import verbs as schedule
from tests.contract import batches as b
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def _enqueue(version: int, job_id: bytes = b"new") -> Verb[Any]:
    text = w.tail(b"g")
    runs: list[Any] = [2, b"g", 0, 1, job_id, text]
    size = 13 + len(text)
    return produce.enqueue(runs, jobs=1, size_bytes=size, version=version, **w.LIMITS)


CALLS: dict[str, Callable[[int], Verb[Any]]] = {
    "enqueue": _enqueue,
    "fire": lambda v: schedule.fire("nightly", 1000, 9, _enqueue(v, b"fired"), overlap=True),
    "relay": lambda v: relay("shop", 7, _enqueue(v, b"relayed")),
    "status": lambda v: produce.status("a", 0, v),
    "cancel": lambda v: produce.cancel("a", v),
    "group": lambda v: produce.group(b"g", v),
    "cancel_group": lambda v: produce.cancel_group(b"g", b"start", v),
    "configure": lambda v: produce.configure(b"g", hold=True, version=v),
    "configure the partition": lambda v: produce.configure(None, hold=True, version=v),
    "configure_tenant": lambda v: tenants.configure(b"acme", weight=3, version=v),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_by_an_older_route_is_turned_away_and_writes_nothing(
    world: World, name: str
) -> None:
    w.enqueue(world, ["a"])
    assert world.partition.run(lead.turn_away(12)) == 12
    before = snapshot(world)

    for version in (0, 1, 9, 11):
        with pytest.raises(MovedError) as caught:
            world.partition.run(CALLS[name](version))
        assert caught.value.version == 12
    assert snapshot(world) == before

    world.partition.run(CALLS[name](12))
    world.partition.run(CALLS[name](produce.ANY_VERSION))


def test_a_partition_that_was_told_nothing_accepts_every_version(world: World) -> None:
    for version in (0, 1, 7):
        job_id = b"v%d" % version
        assert world.partition.run(_enqueue(version, job_id)) == b"1"


def test_the_least_version_never_falls(world: World) -> None:
    assert [world.partition.run(lead.turn_away(n)) for n in (1, 3, 2, 3, 1)] == [1, 3, 3, 3, 3]

    with pytest.raises(MovedError):
        world.partition.run(_enqueue(2))
    assert world.partition.run(_enqueue(3)) == b"1"


def test_a_call_without_a_version_counts_as_the_first(server_world: World) -> None:
    call = _enqueue(1)
    for said in ("", "none"):
        bare = Verb(call.script, [*call.args[:5], said, *call.args[6:]], call.parse)
        server_world.partition.run(lead.turn_away(2))
        with pytest.raises(MovedError):
            server_world.partition.run(bare)


@pytest.mark.parametrize("planted", ["", "many", "-5", "0", "nan", "1.5"])
def test_a_least_version_that_is_no_number_turns_nobody_away_and_gives_way(
    server_world: World, planted: str
) -> None:
    server_world.client.hset(server_world.partition.key + b":c", "route", planted)

    if planted != "1.5":
        assert server_world.partition.run(_enqueue(1)) == b"1"
    assert server_world.partition.run(lead.turn_away(4)) == 4
    with pytest.raises(MovedError):
        server_world.partition.run(_enqueue(3))


def test_a_planted_version_without_end_gives_way(server_world: World) -> None:
    server_world.client.hset(server_world.partition.key + b":c", "route", "inf")

    assert server_world.partition.run(lead.turn_away(4)) == 4
    assert server_world.partition.run(_enqueue(4)) == b"1"


def test_calls_for_a_batch_are_turned_away_too(world: World) -> None:
    b.open_batch(world, 2, seal=False)
    before = snapshot(world)
    world.partition.run(lead.turn_away(12))
    ends = [(b.BATCH, 0, b"d", b"0" * 11, b"1")]
    calls: list[Verb[Any]] = [
        flow.open_batch(
            "BBbbbbbbbbbbbb",
            "BBbbbbbbbbbbbb",
            on_failure="wait",
            on_deadline="fail",
            deadline_ms=60_000,
            keep_ms=60_000,
        ),
        flow.seal_batch(b.BATCH, 2),
        telling.note_ends(ends),
        flow.grow_batch(b.BATCH, "0:1", 1),
        flow.batch(b.BATCH),
        flow.inner_batches(b.BATCH),
        flow.batch_results(b.BATCH, 0),
        flow.cancel_batch(b.BATCH),
    ]
    for verb in calls:
        for late in (verb, flow.by_route(verb, 11), flow.by_route(verb, 0)):
            with pytest.raises(MovedError) as raised:
                world.partition.run(late)
            assert raised.value.version == 12
    after = snapshot(world)
    assert {k: v for k, v in after.items() if before[k] != v}.keys() <= {"counters"}
    for verb in calls:
        world.partition.run(flow.by_route(verb, 12))
    assert b.status_by(world, 12).done == 1


def test_an_audit_is_content_while_slots_move(world: World) -> None:
    world.partition.run(lead.turn_away(12, moves=True))
    assert world.partition.audit(repair=True).clean
    world.partition.run(produce.configure(b"g", weight=2, keep_ms=60_000, slot=7, version=12))
    assert world.partition.run(move.configured())[1] == {b"g": 7}, "still noted"
    world.partition.run(lead.turn_away(12, moves=False))


def test_a_place_is_told_from_another(world: World) -> None:
    here = world.partition
    there = Partition(here.number, here.key + b"-other", here.server)
    twin = Partition(here.number, here.key, here.server)
    before = snapshot(world)

    assert are_same(here, twin)
    assert not are_same(here, there)
    assert snapshot(world) == before


def test_a_number_that_another_caller_left_is_not_taken_for_ones_own(world: World) -> None:
    here = world.partition
    there = Partition(here.number, here.key + b"-other", here.server)
    there.run(move.probe(7))

    assert not are_same(here, there)
    assert there.run(move.probe(0)) == 0


def test_places_that_others_keep_probing_count_as_one(world: World) -> None:
    here = world.partition
    there = Partition(here.number, here.key + b"-other", here.server)

    class Probed(Partition):
        def run(self, verb: Verb[Any]) -> Any:
            there.run(move.probe(7))
            return super().run(verb)

    assert are_same(here, Probed(there.number, there.key, there.server))
