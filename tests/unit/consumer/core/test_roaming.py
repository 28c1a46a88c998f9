"""An owner leaves for work elsewhere at an idle moment or after its quantum; looks are bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from consumer.core.effects import Call
from consumer.core.outages import Outages
from consumer.core.roaming import (
    GRACE_S,
    IDLE_S,
    LOOK_S,
    LOOK_SHARE,
    QUANTUM,
    QUANTUM_S,
    SHARE_S,
    SOON_S,
    START_S,
    Roaming,
    keep_up,
)
from queuepool.errors import ConfigurationError, UnavailableError
from queuepool.testing import FakeClock


def core(
    partition: int = 0,
    *,
    claimed: bool = False,
    started_s: float = 0.0,
    job_s: float | None = 0.1,
    gates: bool = False,
    tells: bool = False,
    slots: int = 4,
) -> Any:
    """Return what a roaming owner looks at."""
    known = {"mail": object()} if gates else {}
    return SimpleNamespace(
        claimed={b"1": SimpleNamespace(started_s=started_s)} if claimed else {},
        prefetch=SimpleNamespace(job_s=job_s),
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


def due(roaming: Roaming, owner: Any) -> bool:
    """Return whether it is time to look, for an owner of which no turn is due."""
    return roaming.is_due(owner, rests=True)


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


def test_idle_ones_look_every_second_and_those_with_idle_moments_ever_less_often() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    assert not due(roaming, core())
    assert roaming.wait_s(60.0) == START_S
    clock.advance(START_S)

    pauses = []
    for _ in range(4):
        assert due(roaming, core())
        assert look(roaming, core(), {}) == (False, [1, 2])
        assert not due(roaming, core())
        pauses.append(roaming.wait_s(60.0))
        assert not due(roaming, core(claimed=True))  # a job ran in between
        clock.advance(pauses[-1])
    assert pauses == pytest.approx([2 * SOON_S, 4 * SOON_S, 8 * SOON_S, 16 * SOON_S])

    for _ in range(9):
        look(roaming, core(), {})
    clock.advance(IDLE_S)
    assert due(roaming, core())
    look(roaming, core(), {})
    assert not due(roaming, core())
    assert roaming.wait_s(60.0) == LOOK_S


def test_one_with_work_looks_after_its_quantum_and_leaves_for_what_waits_for_longer() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    roaming.arrive(0)
    busy = core(claimed=True)
    assert not due(roaming, busy)
    assert roaming.wait_s(60.0) == QUANTUM_S
    clock.advance(QUANTUM_S)
    assert due(roaming, busy)

    # a standby may take it within 2 s
    assert look(roaming, busy, {1: 2, 2: [0, 7]}) == (False, [1, 2])
    assert not due(roaming, busy)
    assert roaming.wait_s(60.0) == GRACE_S
    clock.advance(GRACE_S)

    assert due(roaming, busy)
    assert look(roaming, busy, {1: 2, 2: 2}) == (True, [1, 2])
    assert roaming.wanted == [1]


def test_one_with_work_does_not_wait_for_others_to_take_what_it_left_itself() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    roaming.arrive(0)
    clock.advance(START_S)
    assert due(roaming, core())
    assert look(roaming, core(), {1: 2})[0] is True
    roaming.arrive(1)
    clock.advance(QUANTUM_S)

    busy = core(partition=1, claimed=True)
    assert due(roaming, busy)
    assert look(roaming, busy, {0: [0, 7]})[0] is False  # another owns it now
    clock.advance(2 * QUANTUM_S)
    assert due(roaming, busy)
    assert look(roaming, busy, {0: 2})[0] is False
    clock.advance(GRACE_S)
    assert due(roaming, busy)
    assert look(roaming, busy, {0: 2})[0] is True

    roaming.arrive(0)
    clock.advance(QUANTUM_S)
    assert due(roaming, core(claimed=True))
    assert look(roaming, core(claimed=True), {1: 2})[0] is True


def test_one_with_work_does_not_leave_for_what_only_waits_for_limits() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    for _ in range(4):
        clock.advance(QUANTUM_S + SHARE_S)
        assert due(roaming, core(claimed=True))
        assert look(roaming, core(claimed=True), {1: 1, 2: 1})[0] is False


def test_the_quantum_grows_with_the_age_of_running_jobs_and_the_time_of_a_change() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    roaming.arrive(0)
    long = core(claimed=True, started_s=clock())
    work = {1: 2, 2: 2}
    for _ in range(20):
        clock.advance(SHARE_S)
        assert due(roaming, long)
        assert look(roaming, long, work) == (False, [])
    short = core(claimed=True, started_s=clock())
    due(roaming, short)
    look(roaming, short, work)
    clock.advance(GRACE_S)
    due(roaming, short)
    assert look(roaming, short, work)[0] is True

    clock.advance(4.0)  # its last job took so long
    roaming.arrive(1)
    begun = core(partition=1, claimed=True, started_s=clock() + 100)
    clock.advance(QUANTUM * 4.0 - 0.1)
    assert due(roaming, begun)
    assert look(roaming, begun, work) == (False, [])
    clock.advance(0.1)
    assert due(roaming, begun)
    assert look(roaming, begun, work)[1] == [0, 2]


def test_what_it_owned_longest_ago_comes_first() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(5), clock, lambda: range(5))
    work = dict.fromkeys(range(5), 2)
    visits = []
    here = 0
    clock.advance(START_S)
    for _ in range(10):
        clock.advance(SOON_S)
        roaming.arrive(here)
        assert due(roaming, core(partition=here))
        assert look(roaming, core(partition=here), work)[0] is True
        visits.append(here)
        here = roaming.wanted[0]

    assert sorted(visits[:5]) == [0, 1, 2, 3, 4]
    assert visits[5:] == visits[:5]


def test_a_partition_that_had_nothing_to_run_is_left_alone_for_a_while() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    look(roaming, core(), {1: 2})
    roaming.arrive(1)
    due(roaming, core(partition=1))
    assert look(roaming, core(partition=1, job_s=None), {2: 2})[0] is True
    roaming.arrive(2)

    assert look(roaming, core(partition=2), {1: 2})[0] is False
    clock.advance(IDLE_S)
    assert look(roaming, core(partition=2), {1: 2})[0] is True


def test_looks_take_a_fiftieth_of_the_time_of_one_that_has_work() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    clock.advance(START_S)
    assert due(roaming, core())
    steps = roaming.look(core())
    with suppress(StopIteration):
        next(steps)
        while True:
            clock.advance(0.1)
            steps.send([[0]])
    assert not due(roaming, core(claimed=True))

    assert roaming.wait_s(60.0) == pytest.approx(0.2 / LOOK_SHARE)


def test_an_owner_of_a_place_that_its_partition_left_goes_once_it_is_idle() -> None:
    clock = FakeClock()
    outages = Outages(10.0, clock)
    roaming = Roaming([0], clock, lambda: [0], outages=outages, looks=False, has_moved=lambda: True)
    for _ in range(3):
        clock.advance(SHARE_S)
        due(roaming, core(claimed=True))
        assert look(roaming, core(claimed=True), {})[0] is False
    clock.advance(IDLE_S)
    assert due(roaming, core())

    assert look(roaming, core(), {}) == (True, [])
    assert roaming.retired
    assert roaming.wanted == []


def test_one_whose_workers_start_does_not_look_however_long_they_take() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    for _ in range(10):
        clock.advance(SHARE_S)
        assert not due(roaming, core(slots=0))

    clock.advance(START_S)

    assert due(roaming, core())


def test_turns_that_only_renew_are_no_work() -> None:
    clock = FakeClock()
    roaming = Roaming(
        [0], clock, lambda: [0], outages=Outages(10.0, clock), looks=False, has_moved=lambda: True
    )
    for _ in range(10):
        clock.advance(IDLE_S / 10)
        assert not roaming.is_due(core(), rests=False)
        assert roaming.wait_s(60.0) == 0.0
    assert due(roaming, core())
    assert look(roaming, core(), {})[0] is True


def test_a_turn_that_is_due_and_batches_that_are_told_come_first() -> None:
    clock = FakeClock()
    roaming = roaming_over(range(3), clock, lambda: range(3))
    roaming.arrive(0)
    clock.advance(START_S)

    assert not due(roaming, core(tells=True))
    assert not roaming.is_due(core(), rests=False)
    assert due(roaming, core())


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
