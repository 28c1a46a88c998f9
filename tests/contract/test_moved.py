"""A partition turns away who routes by an older version than it accepts, before any write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queuepool.errors import MovedError, UnavailableError
from queuepool.models.flows import BatchState
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.leader import verbs as lead
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
    "configure_tenant": lambda v: produce.configure_tenant(b"acme", weight=3, version=v),
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


OTHER = "BBbbbbbbbbbbbb"


def define(world: World, batch: str) -> BatchState | bool:
    verb = flow.open_batch(
        batch,
        batch,
        on_failure="wait",
        on_deadline="fail",
        deadline_ms=60_000,
        keep_ms=60_000,
        called="t",
    )
    return world.partition.run(verb)


def test_while_slots_move_no_batch_is_defined_and_who_is_late_changes_nothing(
    world: World,
) -> None:
    assert define(world, b.BATCH) is True
    assert world.partition.run(lead.turn_away(12, batches=False)) == 12

    with pytest.raises(UnavailableError, match="move"):
        define(world, OTHER)
    assert define(world, b.BATCH) is False  # it is there, and its call is repeated
    assert world.partition.run(lead.turn_away(11, batches=True)) == 12  # of an earlier leader
    with pytest.raises(UnavailableError, match="move"):
        define(world, OTHER)

    world.partition.run(lead.turn_away(12, batches=True))
    world.partition.run(lead.turn_away(11, batches=False))
    assert define(world, OTHER) is True
