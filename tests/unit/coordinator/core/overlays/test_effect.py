"""What overlays make of the count that a policy wants, in the planner's own cycles."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.core.model import Observation, PartitionDecision
from coordinator.core.overlays.values import parse
from coordinator.core.planner import CyclePlan, PartitionMemory, Planner
from coordinator.policy import POLICIES, Limits, make_policy
from tests.unit.coordinator.observed import EPOCH, owner, state

LIMITS = Limits(min_workers=4, max_workers=64)


class Partitions:
    """Partitions whose policy wants `wanted` workers each, and consumers that obey at once."""

    def __init__(self, wanted: int, partitions: int = 1, **values: str) -> None:
        self.counts = dict.fromkeys(range(partitions), 8)
        self.policy = make_policy("static", workers=wanted)
        self.memories: Mapping[int, PartitionMemory] = {}
        self.manual: dict[int, int] = {}
        self.unseen = set[int]()
        self.cpu: float | None = None
        self.memory: float | None = None
        self.backlog = self.busy = self.done = self.now_ms = 0
        self.now_s = 0.0
        self.set(**values)
        self.cycle()

    def set(self, **values: str) -> None:
        self.overrides = parse({n.replace("__", "."): text for n, text in values.items()})

    def plan(self) -> CyclePlan:
        self.now_s += 1
        planner = Planner(policy=self.policy, limits=LIMITS, overrides=self.overrides)
        plan = planner.plan(
            EPOCH,
            self.memories,
            [self.observe(n) for n in self.counts],
            self.manual,
            self.now_s,
            now_ms=self.now_ms,
        )
        self.memories = plan.memories
        return plan

    def observe(self, n: int) -> Observation:
        if n in self.unseen:
            return Observation(partition=n, at_s=self.now_s, problem="no answer")
        held = replace(owner(self.counts[n], busy=self.busy), cpu=self.cpu, memory=self.memory)
        there = state(held, partition=n, backlog=self.backlog, done=self.done)
        there = replace(there, in_flight=self.busy)
        return Observation(partition=n, at_s=self.now_s, state=there)

    def cycle(self) -> PartitionDecision:
        plan = self.plan()
        for command in plan.commands:
            self.counts[command.partition] = command.target
        return plan.decisions[0]


def moves(decision: PartitionDecision) -> list[tuple[str, int, int]]:
    return [(clamp.name, clamp.before, clamp.after) for clamp in decision.moved]


def test_a_new_leader_first_observes_whatever_is_set() -> None:
    cluster = Partitions(20, mode="auto", min_workers="30", budget="1")

    assert cluster.counts == {0: 8}


@pytest.mark.parametrize(
    ("mode", "wanted", "expected", "moved"),
    [
        ("auto", 20, 20, []),
        ("hold", 20, 8, [("mode", 20, 8)]),
        ("hold", 5, 8, [("mode", 5, 8)]),
        ("hold-up", 20, 8, [("mode", 20, 8)]),
        ("hold-up", 5, 5, []),
        ("hold-down", 20, 20, []),
        ("hold-down", 5, 8, [("mode", 5, 8)]),
        ("manual", 20, 8, [("mode", 20, 8)]),
    ],
)
def test_modes(mode: str, wanted: int, expected: int, moved: list[Any]) -> None:
    decision = Partitions(wanted, mode=mode).cycle()

    assert (decision.target, moves(decision)) == (expected, moved)


def test_a_hold_bends_to_limits_and_budget_and_manual_mode_does_not() -> None:
    held = Partitions(20, mode="hold", max_workers="6").cycle()
    budgeted = Partitions(20, mode="hold", budget="5").cycle()
    manual = Partitions(20, mode="manual", max_workers="6", budget="5").cycle()

    assert moves(held)[-1] == ("max_workers", 8, 6)
    assert moves(budgeted) == [("mode", 20, 8), ("budget", 8, 5)]
    assert (held.target, budgeted.target, manual.target) == (6, 5, 8)


def test_a_count_set_manually_holds_in_every_mode_and_stays_in_manual_mode() -> None:
    for mode, later in (("auto", 20), ("hold", 12), ("manual", 12)):
        cluster = Partitions(20, mode=mode)
        cluster.manual = {0: 12}
        assert cluster.cycle().target == 12
        cluster.manual = {}
        assert cluster.cycle().target == later


def test_floor_and_times_raise_what_is_wanted_up_to_the_maximum() -> None:
    day = "1970-01-01 00:00-24:00"

    floor = Partitions(5, schedule=f"{day} floor=16").cycle()
    times = Partitions(5, schedule=f"{day} times=3").cycle()
    both = Partitions(30, schedule=f"{day} times=3 floor=16").cycle()

    assert moves(floor) == [("floor", 5, 16)]
    assert moves(times) == [("times", 5, 15)]
    assert moves(both) == [("times", 30, 90), ("max_workers", 90, 64)]
    assert f"floor 5 -> 16 ({day} floor=16)" in floor.reason


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "static"])
def test_times_multiplies_what_the_policy_wants_and_not_what_it_made_of_that(name: str) -> None:
    cluster = Partitions(8, schedule="1970-01-01 00:00-01:00 times=3")
    cluster.policy, cluster.busy = make_policy(name), 5

    targets = [cluster.cycle().target for _ in range(20)]
    cluster.now_ms = 3_600_000

    assert max(targets) <= 3 * 8
    assert cluster.cycle().target <= 8


def test_a_floor_is_left_when_its_window_closes() -> None:
    cluster = Partitions(5, schedule="1970-01-01 00:00-01:00 floor=16")
    cluster.cycle()
    cluster.now_ms = 3_600_000

    assert (cluster.counts[0], cluster.cycle().target) == (16, 5)


def test_the_guard_lets_no_count_rise_and_names_what_was_used() -> None:
    for name in ("cpu", "memory"):
        cluster = Partitions(20, guard__cpu="90", guard__memory="90")
        setattr(cluster, name, 95.0)
        decision = cluster.cycle()
        assert moves(decision) == [(f"guard_{name}", 20, 8)]
        assert f"95 % of the {name} of its machine in use, 90 % or more" in decision.reason
        setattr(cluster, name, 60.0)
        assert cluster.cycle().target == 20


def test_the_guard_lets_counts_fall_and_rise_to_the_minimum() -> None:
    cluster = Partitions(5, guard__cpu="90")
    cluster.cpu = 100.0
    assert cluster.cycle().target == 5
    cluster.set(guard__cpu="90", min_workers="7")
    assert cluster.cycle().target == 7


def test_a_machine_that_reports_nothing_is_not_guarded() -> None:
    assert Partitions(20, guard__cpu="1").cycle().target == 20


def test_a_wanted_wait_raises_the_count_for_the_jobs_of_its_tier() -> None:
    cluster = Partitions(8, wait_s__default="0.5", wait_s__critical="0.1")
    cluster.busy, cluster.done = 8, 0
    for _ in range(20):  # 16 jobs a second finish by 8 workers: 0.5 s each
        cluster.done += 16
        before = cluster.cycle()
    assert before.target == 8
    cluster.backlog = 40

    decision = cluster.cycle()

    [(name, wanted, after)] = moves(decision)
    assert (name, wanted) == ("wait", 8)
    assert after == 16  # one step towards 40 jobs x 0.5 s / 0.5 s, beside those that arrive
    assert "40 jobs of 0.5" in decision.reason
    assert "in tier default or above within 0.5 s" in decision.reason


def test_a_wanted_wait_overrules_no_gain_check() -> None:
    cluster = Partitions(8, wait_s__default="0.5")
    cluster.policy = make_policy("sized")
    cluster.busy = 8
    clamps = set()
    for _ in range(60):  # nothing helps: 16 jobs a second, whatever the workers
        cluster.done += 16
        cluster.backlog += 50
        cluster.busy = cluster.counts[0]
        decision = cluster.cycle()
        clamps |= set(decision.clamps)
        if "gain_check" in decision.clamps:
            assert "wait" not in decision.clamps

    assert "gain_check" in clamps


def test_a_wanted_wait_stays_below_what_the_gain_check_found_enough() -> None:
    cluster = Partitions(8, wait_s__default="0.1")
    cluster.policy = make_policy("sized")
    compared = ceiling = 0
    for _ in range(90):  # 16 jobs a second, whatever the workers; then few jobs wait
        cluster.done += 16
        cluster.backlog = 12 if ceiling else cluster.backlog + 50
        cluster.busy = cluster.counts[0]
        decision = cluster.cycle()
        if ceiling := getattr(cluster.memories[0].policy, "ceiling").workers:  # noqa: B009
            compared += 1
            assert decision.target <= max(ceiling, LIMITS.min_workers), decision.reason

    assert compared > 10


def test_a_doubtful_observation_moves_no_count_in_manual_mode() -> None:
    cluster = Partitions(20, mode="manual")
    cluster.done, cluster.manual = 100, {0: 2}  # below the minimum of 4
    cluster.cycle()
    cluster.manual = {}
    cluster.cycle()
    cluster.done = 50

    decision = cluster.cycle()

    assert decision.doubt
    assert decision.target == 2
    assert "within the limits" not in decision.reason


def test_partitions_share_a_budget() -> None:
    cluster = Partitions(40, 3, budget="60")

    plan = cluster.plan()

    assert [decision.target for decision in plan.decisions] == [20, 20, 20]
    assert moves(plan.decisions[0]) == [("budget", 40, 20)]
    assert "budget 40 -> 20 (120 are wanted of 60 for all partitions)" in plan.decisions[0].reason


def test_a_budget_below_one_worker_a_partition_names_the_fewest_possible() -> None:
    plan = Partitions(40, 3, budget="1").plan()

    assert [decision.target for decision in plan.decisions] == [1, 1, 1]
    said = "(120 are wanted of 1 for all partitions; 3 are the fewest possible)"
    assert said in plan.decisions[0].reason


def test_unseen_and_manual_partitions_are_taken_from_the_budget() -> None:
    cluster = Partitions(40, 3, budget="60")
    cluster.unseen, cluster.manual = {1}, {2: 30}

    plan = cluster.plan()

    assert [decision.target for decision in plan.decisions] == [22, 8, 30]


def test_the_policy_remembers_what_happened_and_not_what_it_wanted() -> None:
    cluster = Partitions(40, mode="hold")
    cluster.cycle()
    cluster.set()
    decision = cluster.cycle()

    assert (decision.previous, decision.target) == (8, 40)


def test_a_policys_own_clamp_comes_first_with_its_counts() -> None:
    decision = Partitions(100).cycle()

    assert moves(decision) == [("max_workers", 100, 64)]
    assert decision.clamps == ("max_workers",)
    assert "->" not in decision.reason
