"""The policy that sizes the pool by its work, cycle by cycle and in short runs."""

import math
import random
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from coordinator.policy import Decision, Direction, Limits, Reading, make_policy
from coordinator.policy.sized import SizedPolicy, SizedSettings, SizedState
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.scenario import Burst, Flow, Hidden, Limit, Scenario, Stream
from coordinator.simulator.scorecard import Score, Scorecard

LIMITS = Limits(min_workers=8, max_workers=64)
POLICY = SizedPolicy()


def reading(second: float, **counts: int) -> Reading:
    values = {"backlog": 0, "workers": 8, "busy": 0, "finished_total": 0}
    return Reading(at_s=second, **(values | counts))  # type: ignore[arg-type]


def decide(*readings: Reading, start: int = 8, policy: SizedPolicy = POLICY) -> list[Decision]:
    state, decisions = policy.initial(start), list[Decision]()
    for seen in readings:
        decisions.append(policy.decide(seen, state, LIMITS))
        made = decisions[-1].state
        assert isinstance(made, SizedState)
        state = made
    return decisions


def loaded(seconds: int, *, workers: int = 16, busy: int = 10) -> list[Reading]:
    """Twenty jobs a second of half a second each."""
    return [reading(s, workers=workers, busy=busy, finished_total=20 * s) for s in range(seconds)]


def test_the_first_cycle_of_a_leader_only_observes() -> None:
    (first,) = decide(reading(1, backlog=100_000))

    assert first.direction is Direction.HOLD
    assert "first observation" in first.reason


def test_the_reference_run_is_within_seconds_of_the_most_workers() -> None:
    jobs = Stream(name="bulk", arrivals=(Burst(at_s=10.5, count=100_000),))
    run = simulate(Scenario(streams=(jobs,), until_s=260), POLICY)

    (pool,) = run.partitions
    assert pool.last_finish_s - 10.5 <= 100_000 * 0.12 / 64 + 2.0
    assert [made.target for _, made in run.changes] == [32, 64, 8]
    assert run.changes[-1][0] - pool.last_finish_s < 2.0


def test_a_steady_load_gets_its_workers_and_a_spare_root() -> None:
    decisions = decide(*loaded(200, workers=64), start=64)

    # 10 busy on average, and 3/4 of the square root of that; little was known at the first step.
    assert {made.target for made in decisions[2:]} == {math.ceil(10 + 0.75 * math.sqrt(10)) - 1}
    assert "20.0 jobs/s of 0.499 s keep 10.0 workers busy" in decisions[-1].reason


def test_a_backlog_is_worked_off_within_the_drain_time() -> None:
    readings = [*loaded(100), reading(100, workers=16, busy=16, backlog=100, finished_total=2_000)]

    target = decide(*readings, start=16)[-1].target

    # 10 for the load and 100 x 0.5 s of work in 2 s; the newest reading moves the rate a little.
    assert 10 + 25 - 1 <= target <= 10 + 25 + 4


def test_a_longer_drain_time_needs_fewer_workers() -> None:
    readings = [*loaded(100), reading(100, workers=16, busy=16, backlog=100, finished_total=2_000)]
    patient = SizedPolicy(SizedSettings(drain_s=10.0))

    assert decide(*readings, start=16, policy=patient)[-1].target < 25


def test_before_service_times_are_known_a_step_is_double_or_eight() -> None:
    assert decide(reading(0), reading(1, backlog=10_000))[-1].target == 16
    known = [
        *loaded(30, workers=8, busy=8),
        reading(30, backlog=10_000, busy=8, finished_total=600),
    ]
    assert decide(*known)[-1].target == 64


def test_long_jobs_of_which_few_have_finished_get_one_step_at_a_time() -> None:
    slow = [reading(s, busy=8, finished_total=s // 10) for s in range(60)]

    last = reading(60, busy=8, backlog=500, finished_total=6)

    assert decide(*slow, last)[-1].target == 16


def test_no_further_step_before_the_last_one_has_arrived() -> None:
    deep = [reading(s, backlog=10_000, busy=8, finished_total=10 * s) for s in range(4)]

    decisions = decide(*deep)

    assert decisions[-1].target == 16
    assert decisions[-1].clamps == ("starting",)


def test_small_steps_down_are_saved_up() -> None:
    targets = [made.target for made in decide(*loaded(120, workers=14), start=14)]

    assert set(targets) == {14}  # 12 would do, which is less than 15 % below
    assert decide(*loaded(120, workers=16), start=16)[-1].target == 12


def test_the_minimum_is_named_where_it_decides() -> None:
    *_, fallen = decide(*loaded(5), reading(6, workers=16, finished_total=80), start=64)
    idle = [reading(n, workers=8, finished_total=80) for n in range(60)]
    *_, resting = decide(*idle, start=8)

    assert (fallen.target, resting.target) == (8, 8)
    assert (fallen.clamps, resting.clamps) == (("min_workers",), ("min_workers",))
    assert max(fallen.wanted or 0, resting.wanted or 0) < 8


def test_the_hold_delays_shrinking_until_fewer_were_enough_for_so_long() -> None:
    calm = SizedPolicy(SizedSettings(hold_s=10.0))
    idle = [reading(s, workers=64) for s in range(30)]

    decisions = decide(*idle, start=64, policy=calm)

    assert [made.target for made in decisions] == [64] * 10 + [8] * 20
    assert decisions[5].clamps == ("hold",)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (reading(30, backlog=10**15, finished_total=600), "impossibly large"),
        (reading(30, backlog=500, finished_total=3), "fell from 580 to 3"),
        (reading(30, busy=5, workers=0, finished_total=600), "busy of no workers"),
        (reading(29, backlog=500, finished_total=600), "not newer"),
    ],
)
def test_a_reading_that_cannot_be_true_holds_and_says_so(wrong: Reading, why: str) -> None:
    decisions = decide(*loaded(30), wrong, start=16)

    assert decisions[-1].direction is Direction.HOLD
    assert why in decisions[-1].reason
    assert decisions[-1].reason.endswith("held")


def test_a_counter_that_fell_back_is_followed_from_there() -> None:
    after = [reading(30 + s, workers=16, busy=10, finished_total=3 + 20 * s) for s in range(30)]

    decisions = decide(*loaded(30), *after, start=16)

    assert {made.target for made in decisions[-20:]} <= {12, 13}


def hidden(gain_check: bool) -> Score:
    jobs = Stream(name="a", service_s=0.12, arrivals=(Burst(at_s=10.5, count=10_000),))
    card = Scorecard(Scenario(streams=(jobs,), hidden=Hidden(per_s=50), until_s=250))
    settings = SizedSettings()
    check = replace(settings.gain_check, enabled=gain_check)
    return card.score(SizedPolicy(replace(settings, gain_check=check)))[0]


def test_workers_that_do_not_help_against_a_hidden_limit_are_taken_back() -> None:
    checked, unchecked = hidden(gain_check=True), hidden(gain_check=False)

    assert checked.added_p99_s < 2.0
    assert checked.worker_s < unchecked.worker_s / 2


def test_the_ceiling_of_a_hidden_limit_comes_down_to_what_it_needs() -> None:
    jobs = Stream(name="a", service_s=0.5, cv=1.0, arrivals=(Burst(at_s=10.5, count=14_000),))
    scenario = Scenario(streams=(jobs,), hidden=Hidden(per_s=40), until_s=300, reports_s=1.0)
    score, run = Scorecard(scenario).score(POLICY)

    # 40 jobs a second of 0.5 s need 20 workers.
    held = list(run.samples.workers)[90:140]
    assert min(held) >= 20
    assert max(held) <= 32
    assert score.wait_p99_s <= 1.03 * score.static_p99_s


def test_no_fewer_than_the_minimum_are_tried_behind_a_hidden_limit() -> None:
    jobs = Stream(
        name="a",
        arrivals=(Flow(from_s=0, until_s=40, per_s=30), Burst(at_s=20.5, count=3_000)),
    )
    bounds = Limits(min_workers=12, max_workers=64)
    _, run = Scorecard(
        Scenario(streams=(jobs,), hidden=Hidden(per_s=50), bounds=bounds, until_s=60)
    ).score(POLICY)

    taken = next(made for _, made in run.changes if "no gain" in made.reason)
    assert taken.target == 12
    assert taken.reason.endswith("whether 12 finish as many is being tried")


@pytest.mark.parametrize("bulk_at_s", [10.1, 10.3, 10.5, 10.56, 10.7, 10.9, 10.97])
def test_four_times_the_workers_are_the_most_before_the_first_verdict(bulk_at_s: float) -> None:
    bulk = Stream(name="bulk", service_s=0.05, arrivals=(Burst(at_s=bulk_at_s, count=4_400),))
    run = simulate(
        Scenario(streams=(bulk,), hidden=Hidden(per_s=80), until_s=80, reports_s=1.0), POLICY
    )

    assert run.peak == 32
    assert "no gain" in next(made.reason for _, made in run.changes if made.target < made.previous)
    assert run.partitions[0].last_finish_s - bulk_at_s == pytest.approx(4_400 / 80, rel=0.02)


def test_long_jobs_that_come_between_short_ones_are_no_hidden_limit() -> None:
    short = Stream(
        name="short", cv=1.0, lanes=10, arrivals=(Flow(from_s=0, until_s=300, per_s=60),)
    )
    long = Stream(name="long", service_s=5, arrivals=(Burst(at_s=60.5, count=100),))

    score, run = run_of(short, long)

    assert not [made for _, made in run.changes if "no gain" in made.reason]
    assert score.added_p99_s < 2
    assert score.wait_max_s < 12


@pytest.mark.parametrize("seed", range(3))
def test_a_steady_mix_of_tasks_is_no_hidden_limit(seed: int) -> None:
    # Fair lanes serve all that is short at once, so more workers finish hardly more jobs
    short = Stream(
        name="short", service_s=0.02, cv=1.0, lanes=5,
        arrivals=(Flow(from_s=0, until_s=300, per_s=100),),
    )  # fmt: skip
    long = Stream(
        name="long", service_s=1.0, cv=0.5, arrivals=(Flow(from_s=30, until_s=300, per_s=20),)
    )

    score, run = run_of(short, long, seed=seed)

    assert not [made for _, made in run.changes if "no gain" in made.reason]
    assert score.wait_p99_s < 4
    assert score.cost < 1.3


def test_long_jobs_after_many_short_ones_have_their_workers_before_any_has_ended() -> None:
    short = Stream(name="short", service_s=0.02, arrivals=(Burst(at_s=10, count=20_000),))
    long = Stream(name="long", service_s=30.0, arrivals=(Burst(at_s=40, count=64),))

    score, _ = run_of(short, long)

    assert score.wait_max_s < 31  # the first 8 of them may have to end: no worker is taken away


@pytest.mark.parametrize("permits", [4, 20, 60])
def test_while_jobs_wait_for_permits_every_permit_has_a_worker(permits: int) -> None:
    limit = Limit(name="mail", concurrency=permits)
    bulk = Stream(
        name="bulk", service_s=1.0, limit="mail", arrivals=(Burst(at_s=10, count=200 * permits),)
    )

    score, _ = run_of(bulk, limits=(limit,))

    assert score.last_finish_s < 10 + 1.05 * 200
    assert score.cost < 1.1


def test_before_a_step_can_be_judged_it_is_double_or_eight() -> None:
    slow = [reading(s, busy=8, workers=8, finished_total=8 * s) for s in range(5)]
    state = decide(*slow)[-1].state
    assert isinstance(state, SizedState)
    assert state.demand.finished > 20

    after = POLICY.decide(reading(5, backlog=5_000, busy=8, finished_total=40), state, LIMITS)

    assert after.target == 16


def test_jobs_that_are_claimed_ahead_wait_like_the_others() -> None:
    ahead = reading(30, workers=16, busy=16, backlog=0, finished_total=600)

    few, many = (
        decide(*loaded(30), changed(ahead, in_flight=in_flight), start=16)[-1].target
        for in_flight in (16, 216)
    )

    assert few <= 16
    assert many == 64


def run_of(*streams: Stream, limits: tuple[Limit, ...] = (), seed: int = 0) -> tuple[Score, Run]:
    scenario = Scenario(streams=streams, limits=limits, until_s=300, seed=seed, reports_s=1.0)
    return Scorecard(scenario).score(POLICY)


@pytest.mark.thorough
@pytest.mark.parametrize("min_workers", [1, 8])
def test_bursts_after_quiet_minutes_never_cause_a_false_alarm(min_workers: int) -> None:
    heights = random.Random(1)
    flows = [Flow(from_s=0, until_s=5_000, per_s=5)]
    for second in range(100, 5_000, 100):
        per_s = heights.lognormvariate(4.7, 0.5)
        flows.append(Flow(from_s=second, until_s=second + 10, per_s=per_s))
    jobs = Stream(name="jobs", service_s=0.5, cv=1.0, arrivals=tuple(flows))
    bounds = Limits(min_workers=min_workers, max_workers=64)
    card = Scorecard(Scenario(streams=(jobs,), bounds=bounds, until_s=5_000, reports_s=1.0))

    score, run = card.score(POLICY)

    assert not [made for _, made in run.changes if "no gain" in made.reason]
    assert score.added_p99_s < 3.0
    assert score.cost < 1.3


@pytest.mark.thorough
def test_scattered_service_times_never_cause_a_false_alarm() -> None:
    for seed in range(4):
        bulk = Stream(name="bulk", cv=1.0, arrivals=(Burst(at_s=10.5, count=20_000),))
        score, run = run_of(bulk, seed=seed)

        assert not [made for _, made in run.changes if "no gain" in made.reason]
        assert score.meets_goal


def test_a_limit_gets_workers_for_what_it_grants_and_not_for_what_is_parked() -> None:
    mail = Limit(name="mail", per_s=40, burst=40)
    jobs = Stream(name="a", service_s=0.5, limit="mail", arrivals=(Burst(at_s=5, count=20_000),))

    score, run = run_of(jobs, limits=(mail,))

    assert score.meets_goal
    assert score.cost <= 1.1
    assert run.partitions[0].finished >= 0.97 * 40 * 295
    steady = list(run.samples.workers)[30:]
    assert max(steady) <= 40 * 0.5 + math.ceil(math.sqrt(20))


def test_a_random_load_meets_the_goal_where_pwqd_is_too_dear() -> None:
    waves = tuple(Flow(from_s=s, until_s=s + 10, per_s=10 + s % 50) for s in range(0, 300, 10))
    load = Stream(name="load", service_s=0.5, cv=1.0, arrivals=waves)
    card = Scorecard(Scenario(streams=(load,), until_s=300, reports_s=1.0))

    sized, pwqd = (card.score(make_policy(name))[0] for name in ("sized", "pwqd"))

    assert sized.meets_goal
    assert sized.added_p99_s < 2.0
    assert sized.worker_s < pwqd.worker_s


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drain_s": 0}, "drain_s=0 must be above 0"),
        ({"hold_s": -1}, "hold_s=-1 must not be negative"),
        ({"step_factor": 1}, "step_factor=1 must exceed 1"),
        ({"shrink_share": 1}, "shrink_share=1 must be"),
    ],
)
def test_bad_settings_are_named_with_their_value(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SizedSettings(**settings)  # type: ignore[arg-type]
