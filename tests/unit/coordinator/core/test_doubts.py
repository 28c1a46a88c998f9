"""A wrong reading never moves a count by more than a step, and the decision says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from msgspec.structs import replace as changed

from coordinator.core.doubts import A_STEP_AT_MOST, within_a_step
from coordinator.core.model import Observation, PartitionDecision
from coordinator.core.overlays.values import parse
from coordinator.core.planner import Planner
from coordinator.policy import POLICIES, Limits, make_policy
from queuepool.models import PartitionState
from queuepool.models.limit_use import LimitUse
from tests.unit.coordinator.observed import EPOCH, owner, state

NOW_MS = 1_795_000_000_000
Wrong = Callable[[PartitionState], PartitionState]


def calm(second: int) -> PartitionState:
    """10 of 20 workers busy with 50 jobs a second, and few waiting."""
    held = changed(owner(20, busy=10), heartbeat_ms=NOW_MS + second * 1000 - 300)
    seen = state(held, backlog=3, done=1_000 + 50 * second, observed_ms=NOW_MS + second * 1000)
    return changed(seen, in_flight=10, jobs=13)


def of_owner(**values: object) -> Wrong:
    return lambda seen: changed(seen, owner=changed(seen.owner, **values))  # type: ignore[type-var]


def of_state(**values: object) -> Wrong:
    return lambda seen: changed(seen, **values)


def huge_backlog(backlog: int) -> Wrong:
    return of_state(ready=(0, 0, backlog, 0))


def with_limit(*, parked: int, granted_per_s: float) -> Wrong:
    use = LimitUse(
        name="mail",
        parked=parked,
        granted_per_s=granted_per_s,
        finished_total=0,
        service_s_total=10.0**9,
    )
    return lambda seen: changed(of_owner(limits=(use,))(seen), jobs=13)


WRONG = {
    "negative backlog": of_state(ready=(0, 0, -5, 0)),
    "negative in flight": of_state(in_flight=-1),
    "negative workers": of_owner(workers=-3),
    "negative busy": of_owner(busy=-3),
    "impossible backlog": huge_backlog(10**15),
    "impossible workers": of_owner(workers=10**9),
    "impossible target": of_owner(target=10**9),
    "more ready than there are": huge_backlog(10**9),
    "more in flight than there are": of_state(in_flight=10**7),
    "hundreds more ready than there are": huge_backlog(900),
    "hundreds more in flight than there are": of_state(in_flight=900),
    "parked and ready are more than there are": of_state(
        ready=(0, 0, 5_000, 0), parked=4_000, jobs=4_013
    ),
    "more busy than there are": of_owner(workers=1),
    "a billion finished in a second": of_state(counters={"done": 10**9}),
    "fewer finished, and a bulk": of_state(
        counters={"done": 5}, ready=(0, 0, 10**6, 0), jobs=10**6 + 10
    ),
    "an hour old, with a bulk": of_state(
        observed_ms=NOW_MS - 3_600_000, ready=(0, 0, 10**6, 0), jobs=10**6 + 10
    ),
    "more parked than there are": with_limit(parked=10**9, granted_per_s=10_000),
    "a limit that grants any number": with_limit(parked=10**4, granted_per_s=10**7),
    "from the future": lambda seen: changed(
        of_owner(heartbeat_ms=NOW_MS + 86_400_000)(seen), ready=(0, 0, 10**6, 0), jobs=10**6 + 10
    ),
    "counts of a consumer that stalls": lambda seen: changed(
        of_owner(heartbeat_ms=seen.observed_ms - 6_000, lease_ms=4_000)(seen),
        ready=(0, 0, 10**6, 0),
        jobs=10**6 + 10,
    ),
    "an endless lease": lambda seen: changed(
        of_owner(lease_ms=10**12)(seen), ready=(0, 0, 10**6, 0), jobs=10**6 + 10
    ),
}


def decided(policy: str, wrong: Wrong, **values: str) -> list[PartitionDecision]:
    """Return the decisions before, with, and after one wrong reading."""
    planner = Planner(
        policy=make_policy(policy),
        limits=Limits(min_workers=4, max_workers=512),
        overrides=parse(values),
        cycle_s=1.0,
    )
    memories, found = {}, []  # type: ignore[var-annotated]
    for second in range(1, 14):
        seen = calm(second)
        if second == 12:
            seen = wrong(seen)
        plan = planner.plan(
            EPOCH, memories, [Observation(partition=0, at_s=float(second), state=seen)], {},
            float(second), now_ms=NOW_MS,
        )  # fmt: skip
        memories = dict(plan.memories)
        found += plan.decisions
    return found[-3:]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_reading_moves_a_count_by_a_step_at_most(policy: str, what: str) -> None:
    before, wrong, after = decided(policy, WRONG[what])

    for made, earlier in ((wrong, before), (after, wrong)):
        assert made.target == within_a_step(made.target, earlier.target), made
    said = (A_STEP_AT_MOST, "is negative", "impossibly large")
    assert any(words in wrong.reason for words in said), wrong


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("what", WRONG)
def test_no_overlay_moves_a_count_further_on_a_doubt(policy: str, what: str) -> None:
    before, wrong, _ = decided(policy, WRONG[what], schedule="DAILY 00:00-24:00 times=3")

    assert wrong.target == within_a_step(wrong.target, before.target), wrong


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "static"])
@pytest.mark.parametrize("reported", [2, 300, 10**6])
def test_a_first_look_at_a_wrong_target_is_taken_again(policy: str, reported: int) -> None:
    planner = Planner(
        policy=make_policy(policy), limits=Limits(min_workers=4, max_workers=512), cycle_s=1.0
    )
    memories, found = {}, []  # type: ignore[var-annotated]
    for second in range(1, 5):
        seen = of_owner(target=reported)(calm(second)) if second == 1 else calm(second)
        plan = planner.plan(
            EPOCH, memories, [Observation(partition=0, at_s=float(second), state=seen)], {},
            float(second), now_ms=NOW_MS,
        )  # fmt: skip
        memories = dict(plan.memories)
        found += plan.decisions

    assert not found[0].command
    assert f"its target is {reported}, and it has 20 workers: held" in found[0].reason
    assert found[1].reason == "first observation: 20 workers stay as they are"
    for earlier, made in pairwise(found[1:]):
        assert made.target == within_a_step(made.target, earlier.target)


def test_what_a_first_look_says_twice_is_believed() -> None:
    planner = Planner(policy=make_policy("sized"), limits=Limits(min_workers=4, max_workers=512))
    plan = None
    for second in range(1, 3):
        seen = of_owner(target=300)(calm(second))
        plan = planner.plan(
            EPOCH, plan.memories if plan else {},
            [Observation(partition=0, at_s=float(second), state=seen)], {}, float(second),
        )  # fmt: skip

    assert plan is not None
    assert plan.decisions[0].reason == "first observation: 300 workers stay as they are"


def test_a_wrong_target_of_one_partition_takes_nothing_of_a_budget_from_others() -> None:
    planner = Planner(policy=make_policy("static", workers=20), overrides=parse({"budget": "60"}))
    memories, targets = {}, []  # type: ignore[var-annotated]
    for second in range(1, 6):
        seen = [Observation(partition=0, at_s=float(second), state=calm(second))]
        if second > 3:
            late = of_owner(target=10**6)(calm(second)) if second == 4 else calm(second)
            state_ = changed(late, partition=1)
            seen.append(Observation(partition=1, at_s=float(second), state=state_))
        plan = planner.plan(EPOCH, memories, seen, {}, float(second), now_ms=NOW_MS)
        memories = dict(plan.memories)
        targets.append(plan.decisions[0].target)

    assert targets == [20] * 5


def test_the_decision_says_what_is_doubted() -> None:
    before, wrong, _ = decided("utilisation", WRONG["fewer finished, and a bulk"])

    assert wrong.target == max(2 * before.target, before.target + 8)
    assert "doubt" in wrong.clamps
    assert f"finished jobs fell from 1550 to 5: {A_STEP_AT_MOST}" in wrong.reason


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("budget", "; budget 64 -> 10 (64 are wanted of 10 for all partitions)"),
        ("max_workers", ""),
    ],
)
def test_on_a_doubt_a_bound_of_operators_is_obeyed_at_once(name: str, said: str) -> None:
    planner = Planner(
        policy=make_policy("static", workers=64), limits=Limits(min_workers=4, max_workers=64)
    )
    seen = of_owner(workers=64, target=64)(calm(1))
    plan = planner.plan(EPOCH, {}, [Observation(partition=0, at_s=1.0, state=seen)], {}, 1.0)
    wrong = of_state(counters={"done": 5})(of_owner(workers=64, target=64)(calm(2)))

    bounded = replace(planner, overrides=parse({name: "10"}))
    observed = [Observation(partition=0, at_s=2.0, state=wrong)]
    made = bounded.plan(EPOCH, plan.memories, observed, {}, 2.0).decisions[0]

    assert (made.previous, made.target) == (64, 10)
    assert f"finished jobs fell from 1050 to 5: {A_STEP_AT_MOST}{said}" in made.reason


@pytest.mark.parametrize(("age_ms", "lease_ms"), [(3_900, 100), (6_000, 6_000), (50_000, 70_000)])
def test_a_report_that_is_late_and_no_more_is_no_doubt(age_ms: int, lease_ms: int) -> None:
    def late(seen: PartitionState) -> PartitionState:
        return of_owner(heartbeat_ms=seen.observed_ms - age_ms, lease_ms=lease_ms)(seen)

    _, made, _ = decided("utilisation", late)

    assert "doubt" not in made.clamps


def test_damage_holds_and_says_so() -> None:
    before, wrong, _ = decided("utilisation", WRONG["negative backlog"])

    assert wrong.target == before.target
    assert wrong.reason == "a count is negative (-5): held"


def test_a_true_bulk_is_no_doubt() -> None:
    def bulk(seen: PartitionState) -> PartitionState:
        return changed(seen, ready=(0, 0, 10**6, 0), jobs=10**6 + 10)

    _, made, _ = decided("utilisation", bulk)

    assert made.target == 512
    assert "doubt" not in made.clamps


def test_a_step_is_half_or_double_or_eight() -> None:
    assert [within_a_step(wanted, 10) for wanted in (1, 2, 15, 99)] == [2, 2, 15, 20]
    assert [within_a_step(wanted, 100) for wanted in (1, 60, 500)] == [50, 60, 200]
    assert [within_a_step(wanted, 2) for wanted in (1, 9, 90)] == [1, 9, 10]
