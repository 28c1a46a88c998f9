"""A recording is decided again bit by bit, from any of its cycles on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import msgspec
import pytest

from coordinator.core.memory import PartitionMemory
from coordinator.core.overlays.sharing import Room
from coordinator.core.overlays.values import parse
from coordinator.core.planner import Planner
from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.recording import BadRecordingError, Recorder, end_line, read_line
from coordinator.core.replay.replaying import Replayed, replayed
from coordinator.policy import POLICIES, Limits, make_policy
from coordinator.simulator.scenario import Blind, Leaderless, Restart, ServiceChanges
from tests.unit.coordinator.core.replay.cycles import bounded_cycles, bursty, cycles_of
from tests.unit.coordinator.observed import World

FAULTS = (
    ServiceChanges(at_s=30, service_s=0.5),
    Blind(at_s=40, for_s=5, partition=1),
    Restart(at_s=50, for_s=4, partition=0),
    Leaderless(at_s=60, for_s=6),
)
VALUES = {
    "schedule": "DAILY 00:00-23:59 floor=6",
    "budget": "40",
    "wait_s.default": "0.5",
    "guard.cpu": "90",
    "drain_s": "1",
}


def lines_of(cycles: list[Cycle]) -> list[bytes]:
    recorder = Recorder("test")
    return [line for cycle in cycles for line in recorder.lines(cycle)]


def again(lines: list[bytes]) -> list[Replayed]:
    return list(replayed(lines))


def test_what_a_pool_may_have_of_the_budget_of_all_is_recorded() -> None:
    def bounded(planner: Planner) -> Planner:
        return replace(planner, room=Room(workers=13, total=40))

    cycles = cycles_of(bursty(), change=bounded)

    found = again(lines_of(cycles))

    assert [one.difference for one in found if one.difference is not None] == []
    decided = [d for one in found if one.cycle.plan for d in one.cycle.plan.decisions]
    told = {moved.why for d in decided for moved in d.moved if moved.name == "budget"}
    assert any(why.endswith("are wanted of 13 for this pool, of 40 for all pools") for why in told)
    totals = [
        sum(d.target for d in one.cycle.plan.decisions) for one in found[5:] if one.cycle.plan
    ]
    assert max(totals) == 13


def with_values(planner: Planner) -> Planner:
    return replace(planner, overrides=parse(VALUES), values=VALUES, record_version=7)


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_policy_decides_the_same(name: str) -> None:
    cycles = cycles_of(bursty(events=FAULTS), make_policy(name))

    found = again(lines_of(cycles))

    assert len(found) == len(cycles) > 70
    assert [one.difference for one in found if one.difference is not None] == []
    plans = [one.cycle.plan for one in found]
    assert [plan.decisions for plan in plans if plan] == [
        c.plan.decisions for c in cycles if c.plan
    ]
    assert any(d.target != d.previous for p in plans if p for d in p.decisions) or name == "static"


def test_overlays_of_the_record_are_replayed() -> None:
    cycles = cycles_of(bursty(), make_policy("pwqd"), with_values)

    found = again(lines_of(cycles))

    moved = {
        c.name for one in found if one.cycle.plan for d in one.cycle.plan.decisions for c in d.moved
    }
    assert {"floor", "budget", "wait"} <= moved
    assert [one.difference for one in found if one.difference is not None] == []
    assert found[0].cycle.planner.values == VALUES


def test_a_recording_begins_anywhere_and_may_have_gaps() -> None:
    cycles = cycles_of(bursty(events=FAULTS))

    found = again(lines_of(cycles[33:50] + cycles[55:]))

    assert len(found) == len(cycles) - 33 - 5
    assert [one.difference for one in found if one.difference is not None] == []


def bounded() -> list[Cycle]:
    """A backlog for 64 workers, of which the consumer itself takes 20."""
    return bounded_cycles(World(policy=make_policy("static", workers=64), backlog=900, most=20), {})


@pytest.mark.parametrize("begin", [0, 2, 3, 4, 10])
def test_a_recording_may_begin_after_the_bound_of_a_consumer_was_met(begin: int) -> None:
    cycles = bounded()[begin:]

    found = again(lines_of(cycles))

    assert [one.difference for one in found if one.difference is not None] == []
    targets = {one.cycle.plan.decisions[0].target for one in found[5:] if one.cycle.plan}
    assert targets == {20}


def test_a_recording_of_a_release_without_the_bounds_of_consumers_is_read() -> None:
    head, planner, state, *cycles = lines_of(bounded()[10:])
    kind, [memory] = msgspec.json.decode(state)
    assert memory[-1]["workers"] == 20

    found = again([head, planner, msgspec.json.encode([kind, [memory[:-1]]]) + b"\n", *cycles])

    assert len(found) == 50
    assert found[0].cycle.memories[0].own is None


@pytest.mark.parametrize(
    ("before", "after"), [("sized", "target-wait"), ("target-wait", "sized"), ("pwqd", "aimd")]
)
def test_a_recording_may_begin_where_the_policy_changes(before: str, after: str) -> None:
    planner = Planner(policy=make_policy(before), limits=Limits(min_workers=4, max_workers=48))
    memories: Mapping[int, PartitionMemory] = {}
    cycles = []
    for number, seen in enumerate(cycles_of(bursty(until_s=60))):
        if number == 30:
            planner = replace(planner, policy=make_policy(after))
        cycle = replace(seen, planner=planner, memories=memories)
        plan = cycle.planned_by(planner)
        cycles.append(replace(cycle, plan=plan))
        memories = plan.memories

    for begin in (0, 29, 30, 31):
        found = again(lines_of(cycles[begin:]))

        assert [one.difference for one in found if one.difference is not None] == []


def test_joined_recordings_are_one() -> None:
    cycles = cycles_of(bursty())

    found = again([*lines_of(cycles[:40]), end_line("stopped"), *lines_of(cycles[50:])])

    assert len(found) == len(cycles) - 10
    assert all(one.difference is None for one in found)


def test_a_state_stands_only_where_cycles_do_not_join() -> None:
    cycles = cycles_of(bursty())
    states = partial(filter, lambda line: line.startswith(b'["state"'))

    assert len(list(states(lines_of(cycles)))) == 1
    assert len(list(states(lines_of(cycles[:30] + cycles[31:])))) == 2


def test_another_decision_is_found_and_named() -> None:
    lines = lines_of(cycles_of(bursty()))
    place = next(i for i, line in enumerate(lines) if b'["cycle"' in line and i > 30)
    cycle = read_line(lines[place], 1)
    changed = cycle.readings[1]  # type: ignore[union-attr]
    changed.seen.ready = (0, 0, 5_000, 0)  # type: ignore[union-attr]
    lines[place] = msgspec.json.encode(cycle) + b"\n"

    first = next(one.difference for one in again(lines) if one.difference is not None)

    assert first is not None
    assert first.partition == 1
    assert first.replayed > first.recorded


def test_what_a_killed_writer_left_is_read_to_its_last_line() -> None:
    lines = lines_of(cycles_of(bursty()))

    assert len(again([*lines[:-1], lines[-1][:50]])) == len(again(lines)) - 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"\xff\xfe\n", "not part of a recording"),
        (b"[" * 100_000 + b"\n", "not part of a recording"),
        (b'["cycle",1]\n', "not part of a recording"),
        (b'["queuepool",99,"9.9"]\n', "format 99, of release 9.9"),
        (b'["planner","gone",1,{},[1,2],{},0,1.0,30.0,60.0]\n', "no scaling policy named 'gone'"),
        (b'["planner","sized",99,{},[1,2],{},0,1.0,30.0,60.0]\n', "had version 99"),
        (b'["planner","sized",1,{"drain_s":"x"},[1,2],{},0,1.0,30.0,60.0]\n', "drain_s"),
        (b'["planner","sized",1,{},[9,2],{},0,1.0,30.0,60.0]\n', "max_workers=2"),
        (b'["state",[]]\n', "a planner and a state must precede cycles"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(line: bytes, said: str) -> None:
    with pytest.raises(BadRecordingError, match="line 1: ") as refused:
        again([line])

    assert said in str(refused.value)
