"""The default policy, cycle by cycle."""

import math
from itertools import pairwise

import pytest
from msgspec.structs import replace

from coordinator.policy import Decision, Direction, Limits, Reading
from coordinator.policy.gain_check import GainCheckSettings
from coordinator.policy.pwqd import PwqdPolicy, PwqdSettings
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.scenario import Burst, Scenario, Stream
from tests.sampling import one_in

LIMITS = Limits(min_workers=8, max_workers=64)
POLICY = PwqdPolicy()
IDEAL_S = 100_000 * 0.12 / 64


def reading(second: float, *, backlog: int, workers: int = 8, finished: int = 0) -> Reading:
    return Reading(
        at_s=second,
        backlog=backlog,
        workers=workers,
        busy=min(backlog, workers),
        finished_total=finished,
    )


def decide(*readings: Reading | None, start: int = 8) -> list[Decision]:
    state, decisions = POLICY.initial(start), list[Decision]()
    for seen in readings:
        decisions.append(POLICY.decide(seen, state, LIMITS))
        made = decisions[-1].state
        assert isinstance(made, type(state))
        state = made
    return decisions


def bulk(*, cv: float = 0.0, seed: int = 0, gain_check: bool = True) -> Run:
    jobs = Stream(name="bulk", cv=cv, arrivals=(Burst(at_s=10.5, count=100_000),))
    settings = PwqdSettings(gain_check=GainCheckSettings(enabled=gain_check))
    return simulate(Scenario(streams=(jobs,), until_s=300, seed=seed), PwqdPolicy(settings))


def test_the_reference_run_stays_within_93_percent_of_the_ideal() -> None:
    (partition,) = bulk().partitions

    makespan_s = partition.last_finish_s - 10.5
    print(f"makespan {makespan_s:.1f} s, ideal {IDEAL_S:.1f} s")  # noqa: T201 - the result
    assert partition.finished == 100_000
    assert makespan_s <= IDEAL_S / 0.93


@pytest.mark.thorough
@pytest.mark.parametrize("seed", one_in(2, range(4)))
def test_scattered_service_times_never_cause_a_false_alarm_in_the_reference_run(seed: int) -> None:
    checked, unchecked = (bulk(cv=1.0, seed=seed, gain_check=check) for check in (True, False))

    assert not [made for _, made in checked.changes if "no gain" in made.reason]
    ends_s = [run.partitions[0].last_finish_s for run in (checked, unchecked)]
    assert ends_s[0] <= ends_s[1] + 3


def test_the_first_cycle_of_a_leader_only_observes() -> None:
    (first,) = decide(reading(1, backlog=100_000))

    assert first.direction is Direction.HOLD
    assert "first observation" in first.reason


def test_a_moderate_backlog_must_last_three_cycles() -> None:
    decisions = decide(*[reading(s, backlog=60, finished=60 * s) for s in range(5)])

    assert [made.target for made in decisions] == [8, 8, 16, 16, 16]
    assert decisions[2].reason == "PWQD 7.5 above 4.0 for 3 consecutive cycles"


def test_a_single_cycle_below_the_threshold_starts_the_count_again() -> None:
    backlogs = [60, 60, 0, 60, 60]

    decisions = decide(*[reading(s, backlog=b, finished=60 * s) for s, b in enumerate(backlogs)])

    assert {made.target for made in decisions} == {8}


def test_a_missing_reading_does_not_break_consecutive_cycles() -> None:
    seen = [reading(s, backlog=60, finished=60 * s) for s in range(4)]

    decisions = decide(seen[0], seen[1], None, seen[3])

    assert [made.target for made in decisions] == [8, 8, 8, 16]


def test_a_deep_backlog_grows_at_once() -> None:
    decisions = decide(reading(0, backlog=0), reading(1, backlog=10_000))

    assert decisions[-1].target == 16
    assert "at once" in decisions[-1].reason


def test_a_backlog_that_is_gone_in_a_moment_does_not_grow_the_pool_at_once() -> None:
    decisions = decide(reading(0, backlog=0), reading(1, backlog=10_000, finished=9_000))

    assert decisions[-1].target == 8


def test_no_further_step_before_the_last_one_has_arrived() -> None:
    deep = [reading(s, backlog=10_000, workers=8) for s in range(4)]

    decisions = decide(*deep)

    assert decisions[-1].target == 16
    assert decisions[-1].clamps == ("starting",)
    assert "8 of 16 workers have started" in decisions[-1].reason


def test_the_maximum_is_named_when_it_binds() -> None:
    decisions = decide(*[reading(s, backlog=10**6, workers=48) for s in range(2)], start=48)

    assert decisions[-1].target == 64
    assert decisions[-1].clamps == ("max_workers",)


def test_it_holds_for_thirty_seconds_and_then_decays_with_its_time_constant() -> None:
    idle = decide(*[reading(s, backlog=0, workers=64) for s in range(200)], start=64)

    targets = [made.target for made in idle]
    assert set(targets[:31]) == {64}
    assert targets == sorted(targets, reverse=True)
    # A decay with tau 60 s from the end of the hold, in steps of a tenth of the pool.
    assert 64 / math.e <= targets[29 + 60] <= 64 / math.e * 1.12
    assert targets[-1] == 8
    assert all(a - b >= 0.1 * a or b in {a, 8} for a, b in pairwise(targets))


def test_a_backlog_starts_the_hold_again() -> None:
    quiet = [reading(s, backlog=0, workers=64) for s in range(29)]
    again = [reading(29, backlog=100, workers=64)]
    after = [reading(30 + s, backlog=0, workers=64) for s in range(29)]

    decisions = decide(*quiet, *again, *after, start=64)

    assert {made.target for made in decisions} == {64}


def test_busy_workers_are_kept() -> None:
    steady = [replace(reading(s, backlog=0, workers=64), busy=32) for s in range(600)]

    decisions = decide(*steady, start=64)

    assert 32 * 1.15 <= decisions[-1].target <= 32 * 1.15 / 0.9 + 1


def test_lowered_limits_bind_even_without_an_observation() -> None:
    decision = POLICY.decide(None, POLICY.initial(64), Limits(min_workers=4, max_workers=16))

    assert decision.target == 16
    assert decision.clamps == ("max_workers",)


def test_the_state_of_another_policy_starts_afresh_from_its_target() -> None:
    from coordinator.policy.aimd import AimdPolicy

    decision = POLICY.decide(reading(5, backlog=10_000), AimdPolicy().initial(24), LIMITS)

    assert decision.target == 24
    assert "first observation" in decision.reason


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cycle_s": 0}, "cycle_s=0 must be above 0"),
        ({"threshold_pwqd": 0.5}, "must exceed quiet_pwqd=1.0"),
        ({"step_factor": 1}, "step_factor=1 must exceed 1"),
        ({"cycles_above": 0}, "cycles_above=0 must be at least 1"),
        ({"shrink_share": 1}, "shrink_share=1 must be"),
        ({"hold_s": -1}, "hold_s=-1 must not be negative"),
    ],
)
def test_bad_settings_are_named_with_their_value(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PwqdSettings(**settings)  # type: ignore[arg-type]
