"""The other policies, the names they go by, and the data they share."""

import math

import pytest

from coordinator.policy import (
    DEFAULT_POLICY,
    POLICIES,
    Decision,
    Direction,
    Limits,
    PolicyState,
    Reading,
    make_policy,
    setting_names,
)

LIMITS = Limits(min_workers=8, max_workers=64)


def play(name: str, backlogs: list[int], *, start: int = 8, workers: int = 8) -> list[Decision]:
    policy = make_policy(name)
    state: PolicyState = policy.initial(start)
    decisions = []
    for second, backlog in enumerate(backlogs):
        seen = Reading(at_s=second, backlog=backlog, workers=workers, busy=0, finished_total=0)
        decisions.append(policy.decide(seen, state, LIMITS))
        state = decisions[-1].state
    return decisions


def targets(name: str, backlogs: list[int], **settings: int) -> list[int]:
    return [made.target for made in play(name, backlogs, **settings)]


def test_static_keeps_its_count_whatever_waits() -> None:
    policy = make_policy("static", workers=24)

    decision = policy.decide(
        Reading(at_s=0, backlog=10**6, workers=8, busy=8, finished_total=0),
        policy.initial(8),
        LIMITS,
    )

    assert (decision.target, decision.reason) == (24, "fixed at 24 workers")
    assert targets("static", [10**6, 0, 10**6]) == [8, 8, 8]


def test_ratio_swings_with_the_backlog() -> None:
    assert targets("ratio", [0, 900, 900, 0, 900, 0, 0]) == [8, 16, 32, 16, 32, 16, 8]


def test_aimd_doubles_first_and_only_adds_after_a_decrease() -> None:
    burst, quiet = [900] * 3, [0] * 31

    run = targets("aimd", [0, *burst, *quiet, *burst])

    assert run[1:4] == [16, 32, 64]
    assert run[34] == 32
    assert run[-3:] == [36, 40, 44]


def test_a_decision_knows_its_direction() -> None:
    decisions = play("ratio", [0, 900, 16, 0])

    assert [made.direction for made in decisions] == [
        Direction.HOLD,
        Direction.UP,
        Direction.HOLD,
        Direction.DOWN,
    ]


def test_sized_is_the_default_and_every_policy_is_known_by_name() -> None:
    assert make_policy().name == DEFAULT_POLICY == "sized"
    assert [make_policy(name).name for name in POLICIES] == list(POLICIES)


def test_an_unknown_policy_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"'magic'\. Known: aimd, pwqd, ratio, sized, static, target-wait"
    ):
        make_policy("magic")


def test_an_unknown_setting_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no setting tau\. Its settings are: cycle_s, threshold"):
        make_policy("pwqd", tau=3)


def test_a_bad_setting_names_the_policy() -> None:
    with pytest.raises(ValueError, match="policy 'aimd': hold_s=-1 must not be negative"):
        make_policy("aimd", hold_s=-1)


def test_settings_can_be_listed() -> None:
    assert "cycle_s" in setting_names("pwqd")
    assert setting_names("static") == ("workers",)


@pytest.mark.parametrize(("low", "high"), [(0, 8), (8, 7)])
def test_impossible_limits_are_refused(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="workers="):
        Limits(min_workers=low, max_workers=high)


@pytest.mark.parametrize(("field", "value"), [("backlog", -1), ("workers", -1), ("at_s", math.nan)])
def test_an_impossible_reading_is_refused(field: str, value: float) -> None:
    values = {"at_s": 0.0, "backlog": 0, "workers": 0, "busy": 0, "finished_total": 0}

    with pytest.raises(ValueError, match=field):
        Reading(**(values | {field: value}))  # type: ignore[arg-type]


def test_pwqd_counts_a_partition_without_workers_as_one_worker() -> None:
    assert Reading(at_s=0, backlog=7, workers=0, busy=0, finished_total=0).pwqd == 7


@pytest.mark.parametrize("name", POLICIES)
def test_a_state_of_its_own_is_taken_up_and_none_is_made_beside_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy(name)
    own, other = policy.initial(8), PolicyState(target=8)
    seen = Reading(at_s=1.0, backlog=0, workers=8, busy=0, finished_total=0)
    made = list[int]()

    def initial(target: int) -> PolicyState:
        made.append(target)
        fresh: PolicyState = type(own)(target=target)
        return fresh

    monkeypatch.setattr(policy, "initial", initial)
    policy.decide(seen, own, Limits())
    assert made == []
    if type(own) is not PolicyState:
        policy.decide(seen, other, Limits())
        assert made == [8]
