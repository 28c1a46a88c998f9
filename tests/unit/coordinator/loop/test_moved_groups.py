"""Groups without jobs go along: how they are to run, and how their jobs ended."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.routing.moves import Stage
from queuepool.verbs.moves.verbs import MAX_JOBS
from tests.unit.coordinator.loop.moving import KEYS, Died, Queue

pytestmark = pytest.mark.thorough

LONG = "k" * 100  # the name of its group is a digest


@pytest.mark.parametrize("key", ["new", LONG])
@pytest.mark.parametrize("tenant", [None, "acme"])
def test_a_group_that_is_held_before_its_first_job_is_held_after_a_move(
    key: str, tenant: str | None
) -> None:
    queue = Queue()
    group = queue.app.group(key, tenant=tenant)
    group.hold(create=True)
    group.configure(weight=3, max_running=2, tier="critical")
    for count in (3, 1, 4):
        queue.ask(count)
        queue.drive()
    queue.app.enqueue("t", {"key": "new", "n": 0}, partition_key=key, tenant=tenant)

    status = queue.app.group(key, tenant=tenant).status()
    assert (status.weight, status.max_running, status.tier) == (3, 2, 0)
    assert status.held_ms is not None
    assert queue.run_all() == {}
    queue.app.group(key, tenant=tenant).release()
    assert queue.run_all() == {"new": [0]}


def test_groups_that_have_finished_keep_their_totals() -> None:
    queue = Queue()
    queue.fill()
    queue.run_all()
    before = queue.totals()
    for count in (4, 1, 3):
        queue.ask(count)
        queue.drive()
        assert queue.totals() == before
    queue.fill(1)
    queue.run_all()
    assert {total for total, *_ in queue.totals().values()} == {4}


def test_parts_of_a_spread_group_that_have_finished_are_found_after_a_move() -> None:
    queue = Queue()
    rows = [{"key": "big", "n": n} for n in range(40)]
    queue.app.enqueue_many("t", rows, partition_key="big", spread=4)
    queue.run_all()
    queue.ask(5)
    queue.drive()

    status = queue.app.group("big").status()
    assert (status.total, status.done, status.spread) == (40, 40, 4)


def test_what_is_configured_while_slots_move_is_so_afterwards() -> None:
    queue, made = Queue(), list[str]()
    queue.fill(1, KEYS)
    queue.ask(4)
    while queue.look() and len(made) < 60:
        if queue.driver.config.topology.view.moving:
            continue  # these calls would wait
        for key in (f"a{len(made)}", f"{len(made)}{LONG}"):
            queue.app.group(key).hold(create=True)
            queue.app.enqueue("t", {"key": key, "n": 0}, partition_key=key, delay_s=60)
            queue.app.group(f"b{key}").hold(create=True)
            made += [key, f"b{key}"]
    queue.drive()
    assert len(made) > 8
    for key in made:
        assert queue.app.group(key).status().held_ms is not None, key


def test_a_group_that_came_and_ended_while_slots_moved_keeps_its_totals() -> None:
    queue = Queue()
    queue.fill(1, KEYS)
    queue.ask(4)
    for _ in range(3):  # one way is open again, the other one not closed yet
        queue.look()
    made = [f"late{n}" for n in range(40)]
    queue.app.route.read()
    for key in made:
        queue.app.enqueue("t", {"key": key, "n": 0}, partition_key=key)
    for key in made:
        queue.app.group(key).cancel()
    queue.drive()

    for key in made:
        status = queue.app.group(key).status()
        assert (status.total, status.cancelled) == (1, 1), key


def test_an_abort_brings_groups_without_jobs_back() -> None:
    queue = Queue()
    queue.fill()
    queue.run_all()
    before = queue.totals()
    for key in KEYS:
        queue.app.group(f"{key}-held").hold(create=True)
    for steps in range(1, 9):
        queue.ask(4)
        for _ in range(steps):
            queue.look()
        if queue.move is None or queue.move.stage is not Stage.MOVING:
            break
        queue.abort()
        queue.drive()
        assert queue.totals() == before, steps
        assert all(queue.app.group(f"{key}-held").status().held_ms for key in KEYS), steps


@pytest.mark.parametrize("executed", [True, False])
@pytest.mark.parametrize("at", [1, 2])
def test_totals_count_once_if_a_move_is_aborted_while_they_are_in_both_places(
    at: int, executed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, seen = Queue(), 0
    queue.fill(1, KEYS[:4])
    queue.run_all()
    queue.fill(1, KEYS[:4])
    for key in KEYS[:4]:
        queue.app.group(key).configure(weight=3)
    before, run_many = queue.totals(), queue.server.run_many

    def stop(calls: Any) -> Any:
        nonlocal seen
        last = [verb for _, verb in calls if verb.script == "forget" and verb.args[2] == 1]
        seen += bool(last)
        if not last or seen != at:
            return run_many(calls)
        if executed:
            run_many(calls)
        monkeypatch.undo()
        queue.abort()
        raise Died

    monkeypatch.setattr(queue.server, "run_many", stop)
    queue.ask(4)
    with pytest.raises(Died):
        queue.drive()
    queue.elect()
    queue.drive()
    assert queue.move is not None
    assert queue.move.stage is Stage.ABORTED
    assert queue.totals() == before
    assert {queue.app.group(key).status().weight for key in KEYS[:4]} == {3}


def test_the_next_page_is_read_as_what_has_arrived_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue, trips = Queue(), list[list[str]]()
    key = next(key for key in KEYS if queue.app.group(key).partition.number == 1)
    rows = [{"key": key, "n": n} for n in range(4 * MAX_JOBS)]
    queue.app.enqueue_many("t", rows, partition_key=key)
    run_many = queue.server.run_many

    def seen(calls: Any) -> Any:
        trips.append([verb.script for _, verb in calls])
        return run_many(calls)

    monkeypatch.setattr(queue.server, "run_many", seen)
    queue.ask(1)
    queue.drive()

    copying = [trip for trip in trips if {"export", "adopt", "forget"} & set(trip)]
    first, page = [["export"], ["adopt"], ["forget"]], [["adopt"], ["forget", "export"]]
    assert copying == [*first, ["export"], *(3 * page), ["forget"], ["adopt"], ["forget"]]
    monkeypatch.undo()
    assert queue.run_all() == {key: list(range(4 * MAX_JOBS))}
