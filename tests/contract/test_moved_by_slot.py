"""While slots move, an older version will do for jobs of the slots that stay, and for no others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from queuepool.errors import MovedError
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.relay import relay
from queuepool.verbs.schedules import verbs as schedule
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World

V = 12
STAYS, LEAVES = 7, 0xABC
_ids = count()


def _enqueue(version: int, *slots: int) -> Verb[Any]:
    runs: list[Any] = []
    size = 0
    for slot in slots:
        text = w.tail(b"g%d" % slot, slot=slot)
        runs += [2, b"g%d" % slot, 0, 1, b"job-%d" % next(_ids), text]
        size += 13 + len(text)
    return produce.enqueue(runs, jobs=len(slots), size_bytes=size, version=version, **w.LIMITS)


def _add(world: World, version: int, *slots: int) -> bool:
    """Enqueue a job of each slot; return whether that was not turned away."""
    before, turned_away = snapshot(world), 0
    try:
        status = world.partition.run(_enqueue(version, *slots))
    except MovedError as error:
        turned_away = error.version
    if turned_away:
        assert turned_away == world.partition.run(lead.turn_away(0))
        assert snapshot(world) == before
        return False
    assert status == b"1" * len(slots)
    return True


def _tell(world: World, version: int, told: int | None, closing: Sequence[int] = ()) -> None:
    world.partition.run(lead.turn_away(version, told=told, closing=closing))


@pytest.fixture
def moving(world: World) -> World:
    """A partition that was told of a move by version V, and of a slot that closed by V + 1."""
    _tell(world, V, 0)
    _tell(world, V + 1, V, [LEAVES])
    return world


def test_jobs_of_slots_that_stay_may_come_by_the_version_of_before(moving: World) -> None:
    assert _add(moving, V, STAYS)
    assert not _add(moving, V, LEAVES)
    assert _add(moving, V + 1, STAYS, LEAVES), "who knows of it says what goes where"


def test_a_call_with_a_slot_that_closed_is_turned_away_as_a_whole(moving: World) -> None:
    assert not _add(moving, V, STAYS, LEAVES)
    assert not _add(moving, V, *range(100, 150), LEAVES, *range(200, 250))
    assert _add(moving, V, *range(100, 200))


def test_who_knows_of_earlier_versions_may_let_them_in(world: World) -> None:
    world.partition.run(lead.turn_away(V, told=0, since=V - 2))
    _tell(world, V + 1, V, [LEAVES])

    assert [_add(world, v, STAYS) for v in (V - 3, V - 2, V - 1)] == [False, True, True]
    assert not any(_add(world, v, LEAVES) for v in (V - 2, V))
    world.partition.run(lead.turn_away(V + 2, told=V + 1, since=V + 2))
    assert _add(world, V - 2, STAYS), "what is known stays known"


def test_what_is_older_than_all_that_is_known_is_turned_away(moving: World) -> None:
    assert not any(_add(moving, version, STAYS) for version in (0, 1, V - 1))


def test_a_slot_that_closed_earlier_counts_by_its_own_version(moving: World) -> None:
    _tell(moving, V + 2, V + 1, [STAYS])

    assert [_add(moving, v, LEAVES) for v in (V, V + 1, V + 2)] == [False, True, True]
    assert [_add(moving, v, STAYS) for v in (V, V + 1, V + 2)] == [False, False, True]


def test_a_slot_that_closes_again_counts_by_the_later_version(moving: World) -> None:
    _tell(moving, V + 2, V + 1)
    _tell(moving, V + 3, V + 2, [LEAVES])

    assert [_add(moving, v, LEAVES) for v in (V + 1, V + 2, V + 3)] == [False, False, True]
    assert _add(moving, V, STAYS)


def test_a_call_that_comes_twice_makes_it_strict_at_most(moving: World) -> None:
    """The reply was lost, so the caller does not know that it told this."""
    _tell(moving, V + 1, V, [LEAVES])

    assert [_add(moving, v, STAYS) for v in (V, V + 1)] == [False, True]
    assert [_add(moving, v, LEAVES) for v in (V, V + 1)] == [False, True]


@pytest.mark.parametrize("told", [None, 0, V, V + 2])
def test_only_who_told_the_last_version_may_add_to_what_is_known(
    moving: World, told: int | None
) -> None:
    _tell(moving, V + 2, told)

    assert [_add(moving, v, STAYS) for v in (V, V + 1, V + 2)] == [False, False, True]


def test_after_a_version_that_says_nothing_of_slots_nothing_is_known(moving: World) -> None:
    """A leader of an earlier release, and then one of this release again."""
    _tell(moving, V + 2, None)
    _tell(moving, V + 3, V + 2)

    assert [_add(moving, v, STAYS) for v in (V, V + 1, V + 2, V + 3)] == [False] * 3 + [True]


def test_a_late_call_changes_nothing(moving: World) -> None:
    for told in (None, 0, V):
        _tell(moving, V, told, [STAYS])

    assert _add(moving, V, STAYS)


def test_deliveries_and_schedules_may_come_by_the_version_of_before(moving: World) -> None:
    number, calls = count(1), dict[str, Any]()
    calls["relay"] = lambda verb: relay("shop", next(number), verb)
    calls["fire"] = lambda verb: schedule.fire("s", 1000 * next(number), 9, verb, overlap=True)
    for call in calls.values():
        moving.partition.run(call(_enqueue(V, STAYS)))
        with pytest.raises(MovedError):
            moving.partition.run(call(_enqueue(V, LEAVES)))


def test_other_calls_are_turned_away_for_whatever_group(moving: World) -> None:
    verbs: list[Verb[Any]] = [
        produce.status("a", 0, V),
        produce.configure(b"g7", hold=True, version=V),
    ]
    for verb in verbs:
        with pytest.raises(MovedError):
            moving.partition.run(verb)


@pytest.mark.parametrize(
    "planted",
    [{"from": "x"}, {"to": "x"}, {"from": "inf"}, {"from": "nan"}, {"to": ""}, {"to": "1e300"}],
)
def test_what_is_no_number_turns_away(server_world: World, planted: dict[str, str]) -> None:
    _tell(server_world, V, 0)
    _tell(server_world, V + 1, V)
    server_world.client.hset(server_world.partition.key + b":mr", mapping=planted)

    assert not _add(server_world, V, STAYS)
    _tell(server_world, V + 2, V + 1)
    assert _add(server_world, V + 2, STAYS)


@pytest.mark.parametrize("n", ["0", "-1", "1.5", "9", "x", ""])
def test_a_malformed_run_is_turned_away(server_world: World, n: str) -> None:
    _tell(server_world, V, 0)
    _tell(server_world, V + 1, V)
    call = _enqueue(V, STAYS)
    args = [*call.args[:9], n, *call.args[10:]]

    with pytest.raises(MovedError):
        server_world.partition.run(Verb(call.script, args, call.parse))


def test_nothing_is_left_of_it_when_the_move_has_ended(server_world: World) -> None:
    _tell(server_world, V, 0, [LEAVES])
    assert server_world.client.hgetall(server_world.partition.key + b":mr") == {
        b"from": b"12", b"to": b"12", b"abc": b"12",
    }  # fmt: skip

    server_world.partition.run(lead.turn_away(V + 1, moves=False))

    assert not server_world.client.exists(server_world.partition.key + b":mr")


def test_a_call_that_may_overtake_another_is_turned_away_for_whatever_slot(moving: World) -> None:
    def arrives(version: int) -> bool:
        text = w.tail(b"g", slot=STAYS)
        runs: list[Any] = [2, b"g", 0, 1, b"job-%d" % next(_ids), text]
        size = 13 + len(text)
        verb = produce.enqueue(runs, jobs=1, size_bytes=size, version=version, behind=1, **w.LIMITS)
        try:
            return world.partition.run(verb) == b"1"
        except MovedError:
            return False

    world = moving
    assert not arrives(V)
    assert arrives(V + 1)
