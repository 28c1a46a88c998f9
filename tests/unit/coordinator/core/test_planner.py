from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.model import Mode, Observation
from coordinator.core.overlays.values import parse
from coordinator.core.planner import Planner, command_number
from coordinator.policy import Limits, make_policy
from queuepool.models import Owner
from tests.unit.coordinator.observed import EPOCH, World, owner, state


def hot_world(backlog: int = 10_000) -> World:
    """A world whose leader has looked once and whose backlog then grew."""
    world = World()
    world.cycle()
    world.backlog = backlog
    return world


def test_a_deep_backlog_takes_the_workers_to_the_maximum_by_absolute_commands() -> None:
    world = hot_world()

    for _ in range(10):
        world.done += 8
        world.cycle()

    assert [command.target for command in world.sent] == sorted({o.target for o in world.sent})
    assert world.sent[-1].target == 64
    assert {command.type for command in world.sent} == {"SCALE_UP"}
    assert "above 4.0" in world.sent[0].reason


def test_command_numbers_rise_by_one_within_an_epoch() -> None:
    world = hot_world()

    world.cycle(8)

    assert [command.sequence for command in world.sent] == list(range(1, len(world.sent) + 1))


@pytest.mark.parametrize(
    ("consumer", "why"),
    [
        (None, "no consumer owns it"),
        (owner(64, lease_ms=0), "its consumer's lease has expired"),
        (owner(0, workers=0), "its consumer has not reported yet"),
    ],
)
def test_without_a_consumer_that_reports_nothing_changes(consumer: Owner | None, why: str) -> None:
    world = World(consumer=owner(64))
    world.cycle(3)
    before = world.memories[0].policy
    world.consumer = consumer

    decision = world.cycle(50)

    assert (decision.target, decision.direction, decision.inputs) == (64, "hold", None)
    assert why in decision.reason
    assert world.sent == []
    assert world.memories[0].policy == before


def test_an_unreachable_server_never_shrinks_its_partitions() -> None:
    world = World(consumer=owner(64))
    world.cycle(5)
    world.reachable = False

    decision = world.cycle(600)

    assert (decision.target, decision.reason) == (64, "no answer: held")
    assert world.sent == []


def test_time_that_nobody_saw_does_not_count_towards_a_shrink() -> None:
    world = World(consumer=owner(64))
    world.cycle(20)  # quiet for 19 of the 30 seconds before a decay
    world.reachable = False
    world.cycle(50)
    world.reachable = True

    assert world.cycle(5).target == 64
    assert world.cycle(60).target < 64


def test_after_a_long_gap_the_count_that_the_consumer_reports_is_taken_over() -> None:
    world = World(consumer=owner(64))
    world.cycle(3)
    world.consumer = None
    world.cycle(100)
    world.consumer = owner(12, epoch=2)  # it restored itself from an aged checkpoint

    decision = world.cycle()

    assert (decision.mode, decision.target) == (Mode.OBSERVE, 12)
    assert world.sent == []


def test_after_a_short_gap_a_consumer_that_came_back_smaller_is_told_again() -> None:
    world = World(consumer=owner(64))
    world.cycle(3)
    world.consumer = None
    world.cycle(5)
    world.consumer = owner(40, epoch=2)

    world.cycle()

    assert [(o.type, o.target) for o in world.sent] == [("SCALE_UP", 64)]
    assert world.sent[0].reason.startswith("40 reported but 64 are wanted")


@pytest.mark.parametrize("policy", ["static", "ratio", "aimd", "pwqd"])
@pytest.mark.parametrize("reported", [1, 8, 24, 500])
def test_a_new_leaders_first_cycle_only_observes(policy: str, reported: int) -> None:
    world = World(policy=make_policy(policy), consumer=owner(reported), backlog=100_000)
    world.new_leader()

    decision = world.cycle()

    assert (decision.mode, decision.target, decision.direction) == (Mode.OBSERVE, reported, "hold")
    assert world.sent == []


def test_a_new_leader_goes_on_from_the_count_it_found() -> None:
    world = hot_world()
    world.cycle(4)
    found = world.consumer.target if world.consumer else 0
    world.new_leader()
    sent_before = len(world.sent)

    world.cycle(3)

    assert found > 8
    assert all(command.target > found for command in world.sent[sent_before:])


def test_a_count_outside_the_limits_is_moved_inside_them() -> None:
    world = World(consumer=owner(100), limits=Limits(min_workers=8, max_workers=64))

    decisions = [world.cycle() for _ in range(2)]

    assert [r.target for r in decisions] == [100, 64]  # first it only looks
    assert "max_workers" in decisions[1].clamps
    assert decisions[1].reason.startswith("moved within the limits of 8 to 64")
    assert [(o.type, o.target) for o in world.sent] == [("SCALE_DOWN", 64)]


def test_a_count_set_by_hand_holds_against_the_policy_and_is_shown_as_such() -> None:
    world = hot_world()
    world.manual = {0: 12}

    decisions = [world.cycle() for _ in range(20)]

    assert {(r.mode, r.target, r.reason) for r in decisions} == {
        (Mode.MANUAL, 12, "set to 12 manually")
    }
    assert [(o.type, o.target) for o in world.sent] == [("SCALE_UP", 12)]


def test_a_count_set_by_hand_may_lie_below_the_base_but_not_above_the_maximum() -> None:
    world = World()

    world.manual = {0: 2}
    low = world.cycle(2)
    world.manual = {0: 1_000}
    high = world.cycle()

    assert (low.target, low.clamps) == (2, ())
    assert (high.target, high.clamps) == (64, ("max_workers",))


def test_after_the_manual_time_the_policy_goes_on_from_the_manual_count() -> None:
    world = World()
    world.manual = {0: 32}
    world.cycle(5)
    world.manual = {}

    first = world.cycle()
    later = world.cycle(29)

    assert (first.mode, first.target) == (Mode.AUTOMATIC, 32)
    assert "no longer set manually" in first.reason
    assert later.target == 32  # it holds for 30 s as after any step
    assert world.cycle(120).target < 32


def test_a_command_that_is_not_heard_goes_out_again_after_two_cycles_under_a_new_number() -> None:
    world = World(obeys=False)
    world.cycle()
    world.manual = {0: 20}

    world.cycle(5)

    assert [(o.sequence, o.target) for o in world.sent] == [(1, 20), (2, 20), (3, 20)]


def test_a_command_that_is_obeyed_goes_out_once() -> None:
    world = World()
    world.cycle()
    world.manual = {0: 20}

    world.cycle(100)

    assert [o.target for o in world.sent] == [20]


def test_a_consumer_with_a_lower_maximum_is_asked_again_after_five_minutes() -> None:
    world = World(most=16)
    world.cycle()
    world.manual = {0: 32}

    world.cycle(300)
    assert len(world.sent) == 1
    world.cycle(600)  # its target does not move, but is known to be its bound
    assert len(world.sent) == 3


def test_a_decision_names_the_bound_of_the_consumer_itself() -> None:
    world = World(policy=make_policy("static", workers=32), most=16)

    decision = world.cycle(5)

    assert (decision.target, decision.clamps) == (16, ("consumer_max",))
    assert "consumer_max 32 -> 16 (its consumer takes no more: CONSUMER_MAX_" in decision.reason
    assert [(o.type, o.target) for o in world.sent] == [("SCALE_UP", 32)]


def test_a_consumer_that_takes_no_fewer_is_named_too() -> None:
    world = World(policy=make_policy("static", workers=1), limits=Limits(min_workers=1), least=4)

    decision = world.cycle(5)

    assert (decision.target, decision.clamps) == (4, ("consumer_min",))
    assert [o.target for o in world.sent] == [1]


def test_a_command_that_a_consumer_refuses_is_no_bound_for_long() -> None:
    world = World(policy=make_policy("static", workers=32), refuses=True)
    world.cycle(20)
    assert len(world.sent) == 1

    world.refuses = False
    world.cycle(20)

    assert [o.target for o in world.sent] == [32, 32]
    assert world.cycle().target == 32


def test_the_bound_of_a_former_consumer_is_forgotten() -> None:
    world = World(policy=make_policy("static", workers=32), most=16)
    assert world.cycle(5).target == 16
    world.consumer, world.most = owner(8, epoch=2), 64

    assert world.cycle(3).target == 32


def test_a_consumer_that_heard_and_was_replaced_is_told_at_once() -> None:
    world = World(most=16)
    world.cycle()
    world.manual = {0: 32}
    world.cycle(3)  # heard and not followed: the next try is 30 s away
    heard = world.consumer.applied if world.consumer else ""
    world.consumer, world.most = owner(8, epoch=2, applied=heard), 64

    world.cycle()

    assert [o.target for o in world.sent] == [32, 32]
    assert world.consumer.target == 32


def test_a_newer_wish_does_not_wait_for_an_older_command() -> None:
    world = World(obeys=False)
    world.cycle()
    world.manual = {0: 20}
    world.cycle()
    world.manual = {0: 30}

    world.cycle()

    assert [o.target for o in world.sent] == [20, 30]


def test_numbers_go_on_after_a_gap_in_the_same_epoch() -> None:
    world = World()
    world.cycle()
    world.manual = {0: 20}
    world.cycle(2)
    world.consumer = None
    world.cycle(100)
    world.consumer = owner(8, epoch=2)

    world.cycle(2)

    assert [o.sequence for o in world.sent] == [1, 2]


def test_only_what_is_new_is_worth_a_record() -> None:
    world = World()

    notable = [len(world.plan().notable) for _ in range(20)]

    assert notable[0] == 1  # the first look
    assert sum(notable[2:]) == 0  # nothing happens any more
    world.consumer = None
    assert [len(world.plan().notable) for _ in range(5)] == [1, 0, 0, 0, 0]


@given(
    reported=st.integers(1, 10_000),
    backlogs=st.lists(st.integers(0, 10**7), min_size=2, max_size=30),
    name=st.sampled_from(("static", "ratio", "aimd", "pwqd")),
)
def test_every_command_stays_inside_the_limits(
    reported: int, backlogs: list[int], name: str
) -> None:
    world = World(policy=make_policy(name), consumer=owner(reported))

    for backlog in backlogs:
        world.backlog = backlog
        world.done += 5
        world.cycle()

    assert all(8 <= command.target <= 64 for command in world.sent)


def test_partitions_are_ruled_independently() -> None:
    planner = Planner(policy=make_policy("static", workers=10))
    seen = [
        Observation(partition=0, at_s=1.0, state=state(owner(8))),
        Observation(partition=1, at_s=1.0, problem="no answer"),
        Observation(partition=2, at_s=1.0, state=state(owner(10))),
    ]
    first = planner.plan(EPOCH, {}, seen, {}, 1.0)

    second = planner.plan(EPOCH, first.memories, seen, {}, 2.0)

    assert [r.target for r in second.decisions] == [10, 0, 10]
    assert [(o.partition, o.target) for o in second.commands] == [(0, 10)]


def test_command_ids_compare_as_numbers() -> None:
    assert command_number("9-10") > command_number("9-9") > command_number("8-999")
    assert command_number("damaged") == (0, 0)


def test_holds_that_alternate_are_recorded_once_a_minute() -> None:
    world = World(consumer=owner(8))
    world.cycle()
    notable = 0
    for second in range(180):
        world.reachable = second % 2 == 0
        notable += len(world.plan().notable)

    assert 2 <= notable <= 2 * 3 + 1


def test_after_a_passing_doubt_that_all_is_normal_is_recorded_within_a_minute() -> None:
    world = World(consumer=owner(8))
    world.cycle(3)
    world.consumer = owner(8, busy=5_000)
    doubted = world.plan().notable
    world.consumer = owner(8)

    notable = [one for _ in range(70) for one in world.plan().notable]

    assert ["doubt" in one.clamps for one in doubted] == [True]
    assert [one.clamps for one in notable] == [()]


def test_a_doubt_of_another_kind_is_recorded_and_one_with_other_numbers_is_not() -> None:
    world = World(consumer=owner(8), done=50)
    world.cycle(3)
    reasons = []
    for busy, done in ((5_000, 60), (6_000, 70), (8, 5)):
        world.consumer, world.done = owner(8, busy=busy), done
        reasons += [one.reason for one in world.plan().notable]

    assert len(reasons) == 2
    assert "5000 of its 8 workers are busy" in reasons[0]
    assert "finished jobs fell from 70 to 5" in reasons[1]


def test_why_nothing_is_observed_is_recorded_anew_when_it_changes() -> None:
    world = World(consumer=owner(8))
    world.cycle(3)
    world.reachable = False
    reasons = [one.reason for _ in range(3) for one in world.plan().notable]
    world.reachable, world.consumer = True, None
    reasons += [one.reason for _ in range(3) for one in world.plan().notable]

    assert reasons == ["no answer: held", "no consumer owns it: held"]


def test_a_partition_that_no_consumer_owns_takes_nothing_of_a_budget() -> None:
    """It had 60 of 72 workers when its consumer left; one that is only silent keeps them."""
    planner = Planner(policy=make_policy("pwqd"), overrides=parse({"budget": "72"}))
    memories = planner.plan(EPOCH, {}, budgeted(0, owner(60), 12), {}, 0.0).memories

    def granted(first: Owner | None) -> int:
        known, count = memories, 12
        for second in range(1, 20):
            plan = planner.plan(EPOCH, known, budgeted(second, first, count), {}, float(second))
            known, count = plan.memories, plan.decisions[1].target
        return count

    assert granted(owner(60, lease_ms=0)) == 12
    assert granted(None) == 64


def budgeted(at_s: int, first: Owner | None, second: int) -> list[Observation]:
    """Return what is seen of a partition without jobs and of one with many."""
    return [
        Observation(partition=0, at_s=float(at_s), state=state(first)),
        Observation(
            partition=1, at_s=float(at_s), state=state(owner(second), partition=1, backlog=9_999)
        ),
    ]


def test_a_count_that_a_budget_keeps_below_the_minimum_is_not_said_to_be_within_the_limits() -> (
    None
):
    planner = Planner(policy=make_policy("pwqd"), overrides=parse({"budget": "12"}))
    memories, reasons = planner.plan(EPOCH, {}, budgeted(0, owner(8), 8), {}, 0.0).memories, []
    for second in range(1, 4):
        plan = planner.plan(EPOCH, memories, budgeted(second, owner(6), 6), {}, float(second))
        memories, reasons = plan.memories, [one.reason for one in plan.decisions]
    free = Planner(policy=make_policy("pwqd"))
    after = free.plan(EPOCH, memories, budgeted(4, owner(6), 6), {}, 4.0).decisions

    assert all("budget" in reason and "moved" not in reason for reason in reasons), reasons
    assert after[0].reason.startswith("moved within the limits of 8 to 64; at the base")


@given(st.permutations(range(6)), st.integers(0, 6))
def test_a_plan_is_the_same_however_its_observations_come(order: list[int], cut: int) -> None:
    planner = Planner(policy=make_policy("sized"), overrides=parse({"budget": "40"}))
    memories = planner.plan(EPOCH, {}, observed(0, range(6)), {}, 0.0).memories
    manual = {4: 5}
    expected = planner.plan(EPOCH, memories, observed(1, range(6)), manual, 1.0)
    assert {one.partition for one in expected.decisions if "budget" in one.clamps}

    planning = planner.begin(memories, manual)
    planning.consider(observed(1, order[:cut]))
    planning.consider(observed(1, order[cut:]))

    assert planning.plan(EPOCH, 1.0) == expected
    assert [seen.partition for seen in planning.observations] == list(range(6))


def observed(second: int, partitions: Iterable[int]) -> list[Observation]:
    """Return partitions of which all but 3 get more and more jobs."""
    return [
        Observation(
            partition=n,
            at_s=float(second),
            state=state(
                owner(), partition=n, backlog=1_000 * n * second * (n != 3), done=100 * second
            ),
        )
        for n in partitions
    ]
