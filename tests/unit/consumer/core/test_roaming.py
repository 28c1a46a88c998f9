"""An owner leaves for work elsewhere only when it has none, and asks in bounded looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from consumer.core.effects import Call
from consumer.core.outages import Outages
from consumer.core.roaming import IDLE_S, LOOK_S, Roaming, keep_up
from queuepool.errors import ConfigurationError, UnavailableError
from queuepool.testing import FakeClock


def core(
    partition: int = 0,
    *,
    claimed: bool = False,
    gates: bool = False,
    tells: bool = False,
    slots: int = 4,
) -> Any:
    """Return what a roaming owner looks at."""
    known = {"mail": object()} if gates else {}
    return SimpleNamespace(
        claimed={b"1": object()} if claimed else {},
        in_flight=SimpleNamespace(has_unrecorded=False),
        tell=SimpleNamespace(busy=tells),
        ownership=SimpleNamespace(partition=partition),
        state=SimpleNamespace(
            gatekeeper=SimpleNamespace(gates=SimpleNamespace(known=known)), slots=slots
        ),
    )


def roaming_over(
    partitions: Sequence[int],
    clock: FakeClock,
    numbers: Callable[[], Sequence[int]],
    outages: Outages | None = None,
) -> Roaming:
    return Roaming(partitions, clock, numbers, outages=outages or Outages(10.0, clock))


def look(roaming: Roaming, owner: Any, work: dict[int, Any]) -> tuple[bool, list[int]]:
    """Answer one look; return whether it leaves, and which partitions it asked."""
    asked: list[int] = []
    steps = roaming.look(owner)
    try:
        effect = next(steps)
        while True:
            assert isinstance(effect, Call)
            asked.append(effect.partition)
            reply = work.get(effect.partition, 0)
            if isinstance(reply, Exception):
                effect = steps.throw(reply)
            else:
                effect = steps.send([[reply] if isinstance(reply, int) else reply])
    except StopIteration as end:
        return end.value, asked


def test_it_looks_after_it_was_idle_for_a_while_and_then_every_second() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    assert not roaming.is_idle(core())
    assert roaming.wait_s(60.0) == IDLE_S

    clock.advance(IDLE_S)

    assert roaming.is_idle(core())
    assert look(roaming, core(), {}) == (False, [1, 2])
    assert not roaming.is_idle(core())
    clock.advance(LOOK_S)
    assert roaming.is_idle(core())


def test_a_job_restarts_the_time() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    clock.advance(IDLE_S)
    assert not roaming.is_idle(core(claimed=True))
    assert not roaming.is_idle(core(tells=True))

    clock.advance(IDLE_S - 0.01)
    assert not roaming.is_idle(core())
    clock.advance(0.01)

    assert roaming.is_idle(core())


def test_one_whose_workers_start_is_not_idle_however_long_they_take() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    for _ in range(10):
        clock.advance(IDLE_S)
        assert not roaming.is_idle(core(slots=0))

    clock.advance(IDLE_S)

    assert roaming.is_idle(core())


def test_it_leaves_for_work_first_and_then_for_what_waits_for_limits() -> None:
    roaming = roaming_over(range(4), FakeClock(), lambda: range(4))

    assert look(roaming, core(), {1: 1, 3: 2}) == (True, [1, 2, 3])

    assert roaming.wanted == [3, 1]
    assert roaming.order()[:2] == [3, 1]
    assert sorted(roaming.order()) == [0, 1, 2, 3]


def test_with_parked_jobs_of_its_own_it_leaves_only_for_what_can_run() -> None:
    roaming = roaming_over(range(3), FakeClock(), lambda: range(3))

    assert look(roaming, core(gates=True), {1: 1})[0] is False
    assert look(roaming, core(gates=True), {1: 1, 2: 2})[0] is True
    assert roaming.wanted == [2]


def test_a_server_that_is_away_ends_a_look_and_keeps_nobody_from_the_next_one() -> None:
    clock = FakeClock()
    outages = Outages(10.0, clock, {0: "a", 1: "b", 2: "b", 3: "a"}.get)
    roaming = roaming_over(range(4), clock, lambda: range(4), outages)
    away = {1: UnavailableError("away"), 2: UnavailableError("away")}

    assert look(roaming, core(), {**away, 3: 2}) == (False, [1])
    assert look(roaming, core(), {**away, 3: 2}) == (True, [3])

    assert roaming.wanted == [3]


def test_calls_without_a_reply_take_a_twentieth_of_its_time() -> None:
    clock = FakeClock()
    outages = Outages(10.0, clock, {0: "a", 1: "b", 2: "b", 3: "a"}.get)
    roaming = roaming_over(range(4), clock, lambda: range(4), outages)

    def asked(took_s: float) -> list[int]:
        steps = roaming.look(core())
        partitions: list[int] = []
        with suppress(StopIteration):
            effect = next(steps)
            while True:
                assert isinstance(effect, Call)
                partitions.append(effect.partition)
                if effect.partition == 3:
                    effect = steps.send([[0]])
                else:
                    clock.advance(took_s)
                    effect = steps.throw(UnavailableError("no reply"))
        return partitions

    assert asked(3.0) == [1]
    clock.advance(59.9)
    assert asked(3.0) == [3]
    clock.advance(0.1)
    assert asked(0.0) == [1]  # refused at once
    clock.advance(4.9)
    assert asked(0.0) == [3]
    clock.advance(0.1)
    assert asked(0.0) == [1]


def test_a_partition_that_there_is_no_more_has_no_work() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))

    assert look(roaming, core(), {1: ConfigurationError("no partition 1"), 2: 2}) == (True, [1, 2])


def test_after_an_outage_it_leaves_for_nobodys_partition_until_owners_could_renew() -> None:
    clock = FakeClock()
    outages = Outages(10.0, clock)
    roaming = roaming_over(range(3), clock, lambda: range(3), outages)
    turn = outages.call(0, [])  # of the owner itself
    next(turn)
    with pytest.raises(UnavailableError):
        turn.throw(UnavailableError("away"))

    assert look(roaming, core(), {1: 2})[0] is False  # the first reply after it
    clock.advance(9.9)
    assert look(roaming, core(), {1: 2})[0] is False
    clock.advance(0.1)

    assert look(roaming, core(), {1: 2})[0] is True
    assert roaming.wanted == [1]


def test_what_another_server_holds_is_left_alone_after_an_outage_of_that_server() -> None:
    clock = FakeClock()
    outages = Outages(10.0, clock, lambda partition: "b" if partition == 2 else "a")
    roaming = roaming_over(range(3), clock, lambda: range(3), outages)
    look(roaming, core(), {2: UnavailableError("away")})
    clock.advance(60)

    assert look(roaming, core(), {2: 2}) == (False, [1, 2])  # the first reply
    clock.advance(10)
    assert look(roaming, core(), {2: 2})[0] is True


def test_an_owner_whose_lease_is_over_is_watched_before_it_is_replaced() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(40), clock, lambda: range(40))
    late = {5: [2, 7]}

    assert look(roaming, core(), late)[0] is False
    for _ in range(2):
        clock.advance(2)
        assert look(roaming, core(), late)[1][0] == 5  # also in the turn of others
    clock.advance(1)
    assert look(roaming, core(), late)[0] is True
    assert roaming.wanted == [5]


def test_one_that_renews_meanwhile_is_left_alone() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    for _ in range(9):
        assert look(roaming, core(), {1: [2, 7]})[0] is False
        clock.advance(4.9)
        assert look(roaming, core(), {1: [0, 7]})[0] is False
        clock.advance(4.9)


def test_many_partitions_are_asked_in_turns() -> None:
    roaming = roaming_over(range(100), FakeClock(), lambda: range(100))
    asked: list[int] = []

    for _ in range(7):
        found = look(roaming, core(partition=99), {})[1]
        assert len(found) <= 16
        asked += found

    assert set(asked) == set(range(99))


def test_it_looks_at_new_partitions_first_and_not_at_those_that_are_gone() -> None:
    count = 3
    roaming = roaming_over(range(3), FakeClock(), lambda: range(count))
    look(roaming, core(), {})

    count = 5
    assert look(roaming, core(), {4: 2}) == (True, [3, 4, 1, 2])
    assert roaming.order()[0] == 4

    count = 2
    assert look(roaming, core(), {}) == (False, [1])
    assert sorted(roaming.order()) == [0, 1]


def test_one_that_has_the_only_partition_has_nowhere_to_look() -> None:
    assert look(roaming_over([0], FakeClock(), lambda: range(1)), core(), {}) == (False, [])


def test_a_list_that_is_up_to_date_keeps_its_order() -> None:
    order = [3, 0, 2, 1]
    keep_up(order, range(4))
    assert order == [3, 0, 2, 1]

    keep_up(order, range(6))
    assert order == [4, 5, 3, 0, 2, 1]
    keep_up(order, range(1))
    assert order == [0]
