"""Moves that the leader begins by itself: off a hot partition, within a budget, never twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.core.events import MoveBegun
from coordinator.core.moves.relief import SETTLE_S, may_begin, relief
from queuepool.errors import ScriptError
from queuepool.models.advice import Advice, AdviceKind, Advised, Loads
from queuepool.routing.moves import Stage
from queuepool.routing.slots import slot_of
from tests.unit.coordinator.loop.moving import KEYS, Queue

HOUR_S = 3600.0


def hot(*slots: int, source: int = 0, dest: int = 1) -> Advice:
    return Advice(
        kind=AdviceKind.HOT_SLOTS,
        subject=f"partition {source}",
        what="its jobs want 12.0 workers",
        effect="",
        command="",
        figures={"partition": source},
        slots=slots,
        partition=dest,
    )


def slots_in(queue: Queue, partition: int) -> list[int]:
    """Return the slots of a partition that have jobs."""
    view = queue.ops.config.topology.view
    slots = {slot_of(key.encode()) for key in KEYS}
    return sorted(slot for slot in slots if view.place_of_slot(slot) == partition)


@pytest.fixture
def queue() -> Queue:
    queue = Queue()
    queue.fill()
    queue.auto_moves = 6
    queue.elect()
    return queue


def advise(queue: Queue, *advice: Advice) -> None:
    """Let the doctor look."""
    queue.verdicts.advised = Advised(at_ms=0, loads=Loads(over_s=600.0), advice=advice)


def where(queue: Queue, slot: int) -> int:
    queue.ops.route.read()
    return queue.ops.config.topology.view.place_of_slot(slot)


def test_hot_slots_move_with_their_jobs_and_it_is_told(queue: Queue) -> None:
    before, [slot, *_] = queue.totals(), slots_in(queue, 0)
    advise(queue, hot(slot))

    queue.mover.look()
    queue.drive()

    assert where(queue, slot) == 1
    assert queue.move is not None
    assert (queue.move.stage, queue.move.slots) == (Stage.ENDED, {slot: 1})
    assert queue.told == [MoveBegun(f"of slot {slot} to partition 1", "its jobs want 12.0 workers")]
    assert queue.totals() == before


def test_without_leave_it_is_only_advised() -> None:
    queue = Queue()
    queue.fill()
    advise(queue, hot(*slots_in(queue, 0)))

    assert not queue.look()
    assert queue.move is None


def test_the_next_move_waits_for_the_budget_and_for_the_effect_of_the_last(queue: Queue) -> None:
    first, second = slots_in(queue, 0)[:2]
    advise(queue, hot(first))
    queue.look()
    queue.drive()

    for passed_s in (1.0, HOUR_S / 6 - 2):
        queue.now_s += passed_s
        advise(queue, hot(second))
        assert not queue.look(), queue.now_s
    queue.now_s += 2.0
    advise(queue, hot(second))
    assert queue.look()
    queue.drive()

    assert [where(queue, slot) for slot in (first, second)] == [1, 1]


def test_who_leads_next_keeps_to_the_budget_too(queue: Queue) -> None:
    first, second = slots_in(queue, 0)[:2]
    advise(queue, hot(first))
    queue.look()
    queue.drive()

    queue.auto_moves = 1
    queue.elect()
    queue.look()
    queue.now_s += HOUR_S - 1
    advise(queue, hot(second))
    assert not queue.look()
    queue.now_s += 2
    assert queue.look()


def test_a_new_leader_waits_for_the_effect_of_a_move_that_it_has_not_seen_end(queue: Queue) -> None:
    first, second = slots_in(queue, 0)[:2]
    advise(queue, hot(first))
    queue.look()
    queue.drive()

    queue.now_s += HOUR_S
    queue.elect()
    advise(queue, hot(second))
    assert not queue.look()
    queue.now_s += SETTLE_S
    queue.look()  # former places of slots are forgotten
    advise(queue, hot(second))
    assert queue.look()


def test_a_move_of_people_comes_first_and_counts(queue: Queue) -> None:
    mine, [other, *_] = slots_in(queue, 1)[0], slots_in(queue, 0)
    queue.ask_slots({mine: 0})
    advise(queue, hot(other))

    queue.drive()

    assert where(queue, mine) == 0
    assert where(queue, other) == 0
    assert queue.told == []


def test_advice_that_no_doctor_renews_is_not_followed(queue: Queue) -> None:
    first, second = slots_in(queue, 0)[:2]
    advise(queue, hot(first))
    queue.look()
    queue.drive()

    advise(queue, hot(second))
    assert not queue.look()  # the budget
    queue.now_s += HOUR_S
    assert not queue.look()
    advise(queue, hot(second))
    assert queue.look()


def test_slots_that_have_left_meanwhile_do_not_move_again(queue: Queue) -> None:
    here, there = slots_in(queue, 0)[0], slots_in(queue, 1)[0]
    view = queue.ops.config.topology.view

    found = relief(view, [hot(there), hot(here, there)], at_ms=5)

    assert found is not None
    assert (found.move.slots, found.move.at_ms) == ({here: 1}, 5)
    assert relief(view, [hot(there), hot(here, dest=7), replace(hot(here), partition=None)],
                  at_ms=5) is None  # fmt: skip
    assert relief(view, [replace(hot(here), kind=AdviceKind.HOT_GROUP)], at_ms=5) is None


def test_nothing_begins_while_the_queue_migrates(queue: Queue) -> None:
    queue.ops.route.read()
    view = queue.ops.config.topology.view
    assert view.record is not None
    migrating = replace(view, record=replace(view.record, migration="open"))

    assert may_begin(view, None, per_hour=1, now_ms=0)
    assert not may_begin(migrating, None, per_hour=1, now_ms=0)
    assert not may_begin(view, None, per_hour=0, now_ms=0)


def test_without_permission_nothing_begins_and_it_is_told_once(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ScriptError("NOPERM this user has no permissions")

    advise(queue, hot(*slots_in(queue, 0)[:1]))
    with monkeypatch.context() as patch:
        patch.setattr(queue.mover._carrier, "tell", refuse)
        assert [queue.look() for _ in range(3)] == [False] * 3
    assert caplog.text.count("cannot move slots off a hot partition: NOPERM") == 1
    assert queue.told == []

    assert queue.look()
