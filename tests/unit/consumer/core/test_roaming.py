"""An owner leaves for work elsewhere at an idle moment or after its quantum, and looks seldom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from consumer.core.looks import LATE_S
from consumer.core.outages import Outages
from consumer.core.roaming import (
    FEW_S,
    GRACE_S,
    IDLE_S,
    LOOK_S,
    QUANTUM,
    QUANTUM_S,
    SHARE_S,
    SOON_S,
    Roaming,
    keep_up,
)
from queuepool.testing import FakeClock
from queuepool.verbs.owner.replies import Ownership
from tests.unit.consumer.core.looking import OWNED, answer


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


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
        ownership=Ownership(partition, "", 1),
        state=SimpleNamespace(
            gatekeeper=SimpleNamespace(gates=SimpleNamespace(known=known)), slots=slots
        ),
    )


def roaming_over(
    count: int,
    clock: FakeClock,
    *,
    numbers: Callable[[], Sequence[int]] | None = None,
    looks: bool = True,
    moved: bool = False,
) -> Roaming:
    """Return that of a process which owned all partitions in turn, partition 0 for long enough."""
    roaming = Roaming(
        range(count), clock, numbers or (lambda: range(count)), outages=Outages(10.0, clock),
        looks=looks, has_moved=lambda: moved, draw=lambda: 0.0,
    )  # fmt: skip
    for partition in range(count):
        roaming._looks.leave(partition)
    roaming.arrive(0)
    clock.advance(SOON_S)
    return roaming


def look(roaming: Roaming, owner: Any, work: dict[int, Any]) -> tuple[list[int], list[int]]:
    """Return for which partitions it leaves after a look that is due, and which it asked."""
    calls = roaming.step(owner, rests=True)
    assert calls, "no look was due"
    asked = answer(roaming, calls, work)
    assert roaming.step(owner, rests=True) == []
    assert roaming.leaves == bool(roaming.wanted)
    assert roaming.leaves or roaming.wait_s(60.0) == stays(roaming, owner)
    return roaming.wanted, asked


def stays(roaming: Roaming, owner: Any) -> float:
    """Return for how long it will not look."""
    assert roaming.step(owner, rests=True) == []
    assert not roaming.leaves
    return roaming.wait_s(60.0)


def test_idle_ones_look_every_second_and_those_with_idle_moments_ever_less_often(
    clock: FakeClock,
) -> None:
    roaming = roaming_over(3, clock)
    pauses = []
    for _ in range(4):
        assert look(roaming, core(), {}) == ([], [1, 2])
        pauses.append(stays(roaming, core()))
        stays(roaming, core(claimed=True))  # a job ran in between
        clock.advance(pauses[-1])
    assert pauses == pytest.approx([2 * SOON_S, 4 * SOON_S, 8 * SOON_S, 16 * SOON_S])

    for _ in range(9):
        look(roaming, core(), {})
        clock.advance(IDLE_S)
    look(roaming, core(), {})
    assert stays(roaming, core()) == LOOK_S
    stays(roaming, core(claimed=True))
    assert stays(roaming, core()) == IDLE_S


def test_it_leaves_for_work_first_and_then_for_what_waits_for_limits(clock: FakeClock) -> None:
    roaming = roaming_over(4, clock)

    assert look(roaming, core(), {1: 1, 3: 2}) == ([3, 1], [1, 2, 3])
    assert roaming.order()[:2] == [3, 1]
    assert sorted(roaming.order()) == [0, 1, 2, 3]


def test_with_parked_jobs_of_its_own_it_leaves_only_for_what_can_run(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    assert look(roaming, core(gates=True), {1: 1})[0] == []
    clock.advance(SHARE_S)
    assert look(roaming, core(gates=True), {1: 1, 2: 2})[0] == [2]


def test_one_with_work_looks_after_its_quantum_and_leaves_for_what_waits_for_longer(
    clock: FakeClock,
) -> None:
    roaming = roaming_over(3, clock)
    busy = core(claimed=True)
    assert stays(roaming, busy) == pytest.approx(QUANTUM_S - SOON_S)
    clock.advance(QUANTUM_S - SOON_S)
    assert look(roaming, busy, {1: OWNED, 2: OWNED})[0] == []
    clock.advance(SHARE_S)

    assert look(roaming, busy, {1: 2, 2: OWNED})[0] == []  # a standby may take it within 2 s
    assert stays(roaming, busy) == GRACE_S
    clock.advance(GRACE_S)

    assert look(roaming, busy, {1: 2, 2: 2}) == ([1], [1, 2])


def test_an_idle_one_lets_standbys_go_first(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    look(roaming, core(), {1: OWNED})
    clock.advance(IDLE_S)
    assert look(roaming, core(), {1: 2})[0] == []
    clock.advance(FEW_S - SOON_S)
    assert look(roaming, core(), {1: 2})[0] == []
    assert stays(roaming, core()) == pytest.approx(SOON_S)
    clock.advance(2 * SOON_S)

    assert look(roaming, core(), {1: 2})[0] == [1]


def test_one_with_work_does_not_wait_for_others_to_take_what_it_left_itself(
    clock: FakeClock,
) -> None:
    roaming = roaming_over(3, clock)
    assert look(roaming, core(), {1: 2})[0] == [1]
    roaming.arrive(1)
    clock.advance(QUANTUM_S)

    busy = core(partition=1, claimed=True)
    assert look(roaming, busy, {0: OWNED})[0] == []  # another owns it now
    clock.advance(QUANTUM_S)
    assert look(roaming, busy, {0: 2})[0] == []
    clock.advance(GRACE_S)
    assert look(roaming, busy, {0: 2})[0] == [0]

    roaming.arrive(0)
    clock.advance(QUANTUM_S)
    assert look(roaming, core(claimed=True), {1: 2})[0] == [1]


def test_a_job_that_came_during_a_look_keeps_it_for_its_quantum(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    look(roaming, core(), {1: OWNED})
    clock.advance(SHARE_S)
    answer(roaming, roaming.step(core(), rests=True), {1: 2})

    assert stays(roaming, core(claimed=True)) > 0


def test_one_with_work_does_not_leave_for_what_only_waits_for_limits(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    for _ in range(4):
        clock.advance(SHARE_S)
        assert look(roaming, core(claimed=True), {1: 1, 2: 1})[0] == []


def test_the_quantum_grows_with_the_age_of_running_jobs_and_the_time_of_a_change(
    clock: FakeClock,
) -> None:
    roaming = roaming_over(3, clock)
    long, work = core(claimed=True, started_s=clock()), {1: 2, 2: 2}
    for _ in range(20):
        clock.advance(SHARE_S)
        assert stays(roaming, long) <= SHARE_S
    clock.advance(SHARE_S)
    look(roaming, core(claimed=True, started_s=clock()), work)
    clock.advance(GRACE_S)
    assert look(roaming, core(claimed=True, started_s=clock()), work)[0] == [1, 2]

    clock.advance(4.0)  # its last job took so long
    roaming.arrive(1)
    begun = core(partition=1, claimed=True)
    clock.advance(QUANTUM * 4.0 - 0.1)
    assert stays(roaming, begun) == pytest.approx(0.1)
    clock.advance(0.1)
    assert look(roaming, begun, work)[1] == [0, 2]


def test_where_workers_take_long_to_start_it_stays_for_longer(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    for _ in range(10):
        clock.advance(IDLE_S)
        stays(roaming, core(slots=0))

    assert stays(roaming, core()) == pytest.approx(2 * (10 * IDLE_S + SOON_S))


def test_what_it_owned_longest_ago_comes_first(clock: FakeClock) -> None:
    roaming = roaming_over(5, clock)
    work = dict.fromkeys(range(5), 2)
    visits, here = [], 0
    for _ in range(10):
        visits.append(here)
        here = look(roaming, core(partition=here), work)[0][0]
        roaming.arrive(here)
        clock.advance(SOON_S)

    assert sorted(visits[:5]) == [0, 1, 2, 3, 4]
    assert visits[5:] == visits[:5]


def test_a_partition_that_had_nothing_to_run_is_left_alone_for_a_while(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    look(roaming, core(), {1: 2})
    roaming.arrive(1)
    assert look(roaming, core(partition=1, job_s=None), {2: 2})[0] == [2]
    roaming.arrive(2)

    assert look(roaming, core(partition=2), {1: 2})[0] == []
    clock.advance(IDLE_S)
    assert look(roaming, core(partition=2), {1: 2})[0] == [1]


def test_a_look_that_is_not_answered_ends(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)
    answer(roaming, roaming.step(core(), rests=True), {1: 2, 2: None})
    assert stays(roaming, core()) == LATE_S
    clock.advance(LATE_S)

    assert roaming.step(core(), rests=True) == []
    assert roaming.wanted == [1]


def test_an_answer_that_comes_late_counts_when_it_comes(clock: FakeClock) -> None:
    roaming = roaming_over(2, clock)
    calls = roaming.step(core(), rests=True)
    clock.advance(LATE_S)
    assert roaming.step(core(), rests=True) == []
    assert roaming.wanted == []
    answer(roaming, calls, {1: 2})
    assert roaming.step(core(), rests=True) == []
    assert roaming.wanted == [1]


def test_an_owner_of_a_place_that_its_partition_left_goes_once_it_is_idle(
    clock: FakeClock,
) -> None:
    roaming = roaming_over(1, clock, looks=False, moved=True)
    for _ in range(3):
        clock.advance(SHARE_S)
        stays(roaming, core(claimed=True))
    clock.advance(IDLE_S)

    assert roaming.step(core(), rests=True) == []
    assert roaming.retired
    assert roaming.leaves
    assert roaming.order() == [0]


def test_turns_that_only_renew_are_no_work(clock: FakeClock) -> None:
    roaming = roaming_over(1, clock, looks=False, moved=True)
    for _ in range(10):
        clock.advance(IDLE_S / 10)
        assert roaming.step(core(), rests=False) == []
        assert not roaming.leaves
        assert roaming.wait_s(60.0) == 0.0

    roaming.step(core(), rests=True)
    assert roaming.leaves


def test_a_turn_that_is_due_and_batches_that_are_told_come_first(clock: FakeClock) -> None:
    roaming = roaming_over(3, clock)

    assert stays(roaming, core(tells=True)) > 0
    assert roaming.step(core(), rests=False) == []
    assert look(roaming, core(), {})[1] == [1, 2]


def test_it_looks_at_new_partitions_first_and_not_at_those_that_are_gone(
    clock: FakeClock,
) -> None:
    count = 3
    roaming = roaming_over(3, clock, numbers=lambda: range(count))
    look(roaming, core(), {})

    clock.advance(IDLE_S)
    count = 5
    assert look(roaming, core(), {4: 2}) == ([], [3, 4, 1, 2])
    clock.advance(2 * FEW_S)
    assert look(roaming, core(), {4: 2})[0] == [4]

    roaming.arrive(0)
    count = 2
    assert look(roaming, core(), {}) == ([], [1])
    assert sorted(roaming.order()) == [0, 1]


def test_a_list_that_is_up_to_date_keeps_its_order() -> None:
    order = [3, 0, 2, 1]
    keep_up(order, range(4))
    assert order == [3, 0, 2, 1]

    keep_up(order, range(6))
    assert order == [4, 5, 3, 0, 2, 1]
    keep_up(order, range(1))
    assert order == [0]
