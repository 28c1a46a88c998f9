"""When sized takes workers back, and where its ceiling is."""

import pytest
from msgspec.structs import replace

from coordinator.policy import Reading
from coordinator.policy.ceiling import Ceiling
from coordinator.policy.demand import Demand
from coordinator.policy.gain_check import GainCheckSettings, Verdict
from coordinator.policy.probe import Probe
from coordinator.policy.sized import SizedSettings

CHECK = SizedSettings().gain_check
KNOWN = Demand(finished=1_000.0, worker_s=300.0)
LONG = Demand(finished=1_000.0, worker_s=2_500.0)


def saturated(state: Ceiling, cycles: int, *, workers: int, per_s: int) -> Ceiling:
    for _ in range(cycles):
        seen = Reading(at_s=0, backlog=9_000, workers=workers, busy=workers, finished_total=0)
        state = state.observe(seen, 1.0, per_s, CHECK)
    return state


def after_step(cycles: int, *, per_s: int) -> Ceiling:
    """Return what is known after 16 workers finished 50 a second for long, and 64 per_s."""
    before = saturated(Ceiling(), 20, workers=16, per_s=50)
    return saturated(before.step_up(KNOWN, CHECK), cycles, workers=64, per_s=per_s)


def test_clear_evidence_decides_within_a_few_cycles() -> None:
    assert after_step(2, per_s=50).judge(CHECK) is Verdict.UNDECIDED
    assert after_step(4, per_s=50).judge(CHECK) is Verdict.NO_GAIN


def test_counts_of_a_consumer_that_is_silent_give_no_verdict() -> None:
    state = after_step(2, per_s=50)
    old = Reading(at_s=0, backlog=9_000, workers=64, busy=64, finished_total=0, age_s=2.5)

    for _ in range(5):
        state = state.observe(old, 1.0, 50, CHECK)

    assert state.judge(CHECK) is Verdict.UNDECIDED
    assert saturated(state, 2, workers=64, per_s=50).judge(CHECK) is Verdict.NO_GAIN


@pytest.mark.parametrize(("shallow_s", "verdict"), [(19, Verdict.NO_GAIN), (20, Verdict.UNDECIDED)])
def test_a_trial_goes_on_after_a_while_without_a_deep_backlog(
    shallow_s: int, verdict: Verdict
) -> None:
    state = after_step(1, per_s=50)
    for _ in range(shallow_s):
        shallow = Reading(at_s=0, backlog=60, workers=64, busy=64, finished_total=0)
        state = state.observe(shallow, 1.0, 50, CHECK)
        assert state.judge(CHECK) is Verdict.UNDECIDED

    # The first deep reading only begins a cycle.
    assert saturated(state, 2, workers=64, per_s=50).judge(CHECK) is Verdict.UNDECIDED
    assert saturated(state, 6, workers=64, per_s=50).judge(CHECK) is verdict


def test_a_step_after_an_interrupted_trial_is_judged_by_what_was_before_that() -> None:
    state = after_step(1, per_s=50)
    shallow = Reading(at_s=0, backlog=60, workers=64, busy=64, finished_total=0)
    state = state.observe(shallow, 1.0, 50, CHECK).step_up(KNOWN, CHECK)

    assert state.before is not None
    assert (state.before.workers, state.before.per_s) == (16, 50)


def test_completions_that_rise_as_promised_end_the_trial() -> None:
    assert after_step(3, per_s=200).before is None
    assert after_step(3, per_s=200).judge(CHECK) is Verdict.UNDECIDED


def test_what_is_still_below_the_promise_in_the_end_is_no_gain() -> None:
    assert after_step(5, per_s=110).judge(CHECK) is Verdict.UNDECIDED
    assert after_step(CHECK.max_cycles, per_s=110).judge(CHECK) is Verdict.NO_GAIN


@pytest.mark.parametrize(("per_s", "workers"), [(50, 8), (100, 35), (40, 8)])
def test_the_ceiling_is_what_the_probe_tries_first(per_s: int, workers: int) -> None:
    assert after_step(8, per_s=per_s).close(CHECK).workers == workers


@pytest.mark.parametrize(("found_per_s", "workers"), [(100.0, 32), (80.0, 35)])
def test_workers_that_were_found_to_be_enough_are_the_ceiling_while_nothing_has_changed(
    found_per_s: float, workers: int
) -> None:
    probe = Probe(enough=20, per_s=found_per_s)

    assert replace(after_step(8, per_s=100), probe=probe).close(CHECK).workers == workers


def test_each_ceiling_lasts_twice_as_long_as_the_last_one() -> None:
    state, pauses = Ceiling(), list[float]()
    for _ in range(6):
        state = saturated(state, 510, workers=16, per_s=50)
        assert not state.workers
        state = saturated(state, 20, workers=16, per_s=50)
        state = saturated(state.step_up(KNOWN, CHECK), 9, workers=64, per_s=50).close(CHECK)
        pauses.append(state.pause_left_s)

    assert pauses == [30, 60, 120, 240, 480, 480]


def test_a_probe_that_cannot_be_made_ends_with_the_ceiling() -> None:
    state = saturated(after_step(9, per_s=50).close(CHECK), 20, workers=16, per_s=50)
    assert state.probe.running

    # The workers never become those of the probe.
    assert saturated(state, 25, workers=16, per_s=50).workers
    assert not saturated(state, 35, workers=16, per_s=50).workers


def test_without_a_backlog_nothing_is_judged() -> None:
    state = after_step(4, per_s=50)
    calm = Reading(at_s=0, backlog=3, workers=64, busy=20, finished_total=0)

    assert state.observe(calm, 1.0, 50, CHECK).before is None


def test_a_disabled_check_judges_nothing_and_steps_from_long_jobs_need_no_baseline() -> None:
    before = saturated(Ceiling(), 20, workers=16, per_s=50)
    off = GainCheckSettings(enabled=False)

    assert before.step_up(KNOWN, off).before is None
    assert Ceiling().can_judge(LONG, CHECK)
    assert not Ceiling().can_judge(KNOWN, CHECK)


def after_long_jobs(cycles: int, *, per_s: int) -> Ceiling:
    """Return what is known after 16 workers finished 4 a second, in 4 s each, and 64 per_s."""
    before = saturated(Ceiling(), 40, workers=16, per_s=4)
    return saturated(before.step_up(LONG, CHECK), cycles, workers=64, per_s=per_s)


def test_long_jobs_are_compared_once_each_worker_had_time_for_three() -> None:
    assert after_long_jobs(11, per_s=16).before is not None
    assert after_long_jobs(11, per_s=4).judge(CHECK) is Verdict.UNDECIDED

    assert after_long_jobs(12, per_s=16).before is None
    assert after_long_jobs(12, per_s=4).judge(CHECK) is Verdict.NO_GAIN


def in_waves(state: Ceiling, cycles: int, *, workers: int, every: int) -> Ceiling:
    for cycle in range(cycles):
        ended = 0 if cycle % every else workers
        state = saturated(state, 1, workers=workers, per_s=ended)
    return state


def test_jobs_that_end_in_waves_are_counted_from_wave_to_wave() -> None:
    state = in_waves(saturated(Ceiling(), 1, workers=16, per_s=0), 31, workers=16, every=10)

    assert state.window.lasting_per_s == pytest.approx(1.6)
    assert state.window.steady_per_s == pytest.approx(1.6)
    assert state.window.per_s > 2


def test_far_fewer_completions_are_of_other_jobs_and_no_verdict_on_the_step() -> None:
    assert after_step(4, per_s=48).judge(CHECK) is Verdict.NO_GAIN
    assert after_step(4, per_s=10).judge(CHECK) is Verdict.CHANGED


def measured_again(state: Ceiling, after_s: int) -> Ceiling:
    """Return what follows a step after so long, when far fewer finish once more."""
    state = saturated(state, after_s, workers=16, per_s=50)
    state = saturated(state.step_up(KNOWN, CHECK), 4, workers=64, per_s=5)
    assert state.judge(CHECK) is Verdict.CHANGED
    return state.measure_anew(CHECK)


def test_other_jobs_are_measured_for_some_seconds_and_longer_if_that_happens_soon_again() -> None:
    once = after_step(4, per_s=10).measure_anew(CHECK)
    twice = measured_again(once, 5)
    thrice = measured_again(twice, 8)
    later = measured_again(thrice, 40)

    assert [one.pause_left_s for one in (once, twice, thrice, later)] == [3, 6, 12, 3]
    assert {one.workers for one in (once, twice, thrice, later)} == {16}


@pytest.mark.parametrize(("cycles", "finished", "unsure"), [(1, 100, True), (3, 100, False)])
def test_a_baseline_of_one_cycle_says_little_until_many_jobs_are_known(
    cycles: int, finished: int, unsure: bool
) -> None:
    few = Demand(finished=100.0, worker_s=30.0)
    state = saturated(Ceiling(), cycles + 1, workers=16, per_s=finished)

    assert state.is_unsure(few, CHECK) is unsure
    assert not state.is_unsure(KNOWN, CHECK)
    assert not state.is_unsure(LONG, CHECK)
    assert state.step_up(few, CHECK).is_unsure(KNOWN, CHECK) is unsure


def test_a_gain_ends_an_unsure_trial_after_one_cycle_and_a_sure_one_after_three() -> None:
    few = Demand(finished=100.0, worker_s=30.0)
    known, state = (saturated(Ceiling(), 2, workers=8, per_s=70) for _ in range(2))
    known, state = known.step_up(KNOWN, CHECK), state.step_up(few, CHECK)

    assert saturated(state, 1, workers=32, per_s=400).before is None
    assert saturated(state, 1, workers=32, per_s=80).before is not None
    assert saturated(known, 2, workers=32, per_s=400).before is not None
    assert saturated(known, 3, workers=32, per_s=400).before is None


def after_part_of_a_cycle(finished: int, cycles: int, *, per_s: int) -> Ceiling:
    """Return what is known of a step from 8 to 32 workers, a part of a cycle after the backlog."""
    first = Reading(at_s=0, backlog=9_000, workers=8, busy=8, finished_total=0)
    state = Ceiling(calm=8).observe(first, 1.0, finished, CHECK)
    return saturated(state.step_up(Demand(finished=float(finished)), CHECK), cycles, workers=32,
                     per_s=per_s)  # fmt: skip


def test_a_part_of_a_cycle_is_no_baseline_for_a_gain_of_half_the_promise() -> None:
    # 80 a second, whoever asks: 8 workers finished 36 in less than half a second.
    assert after_part_of_a_cycle(36, 1, per_s=90).before is not None
    assert after_part_of_a_cycle(36, 1, per_s=140).before is None

    capped = after_part_of_a_cycle(36, CHECK.max_cycles, per_s=90)
    assert capped.judge(CHECK) is Verdict.NO_GAIN
    assert capped.close(CHECK).workers == 23


@pytest.mark.parametrize(("finished", "verdict"), [(79, Verdict.NO_GAIN), (40, Verdict.UNDECIDED)])
def test_a_baseline_of_one_cycle_counts_without_what_was_begun_before_it(
    finished: int, verdict: Verdict
) -> None:
    state = saturated(saturated(Ceiling(), 1, workers=16, per_s=0), 1, workers=16, per_s=finished)
    known = Demand(finished=1_000.0, worker_s=16_000 / finished)
    trial = saturated(state.step_up(known, CHECK), 5, workers=32, per_s=finished)
    assert trial.judge(CHECK) is Verdict.UNDECIDED

    last = saturated(trial, CHECK.max_cycles - 5, workers=32, per_s=finished)

    assert last.judge(CHECK) is verdict
    assert (last.before is None) is (verdict is Verdict.UNDECIDED)


@pytest.mark.parametrize(
    ("finished", "finished_before", "per_s"),
    [(44, 100.0, 32), (25, 100.0, 25), (90, 100.0, 90), (44, 10.0, 44)],
    ids=["high by chance", "slower jobs", "shorter jobs", "nothing known before"],
)
def test_a_short_baseline_that_is_high_by_chance_is_what_the_jobs_before_allow(
    finished: int, finished_before: float, per_s: float
) -> None:
    state = saturated(Ceiling(), 2, workers=16, per_s=finished)
    demand = Demand(
        finished=finished + finished_before, worker_s=0.5 * (finished + finished_before)
    )

    before = state.step_up(demand, CHECK).before

    assert before is not None
    assert before.per_s == pytest.approx(per_s, rel=0.02)


def test_a_step_whose_promise_is_within_the_noise_gets_no_verdict() -> None:
    known = Demand(finished=1_000.0, worker_s=500.0)
    state = saturated(Ceiling(), 4, workers=22, per_s=44).step_up(known, CHECK)

    small, large = (saturated(state, CHECK.max_cycles, workers=n, per_s=44) for n in (24, 44))

    assert small.before is None
    assert large.judge(CHECK) is Verdict.NO_GAIN


@pytest.mark.parametrize(("workers", "cycles"), [(64, 6), (40, 6), (39, CHECK.max_cycles)])
def test_less_proof_is_enough_after_six_cycles_of_a_step_by_a_quarter_or_more(
    workers: int, cycles: int
) -> None:
    before = saturated(Ceiling(), 4, workers=32, per_s=100).step_up(KNOWN, CHECK)

    trial = saturated(before, cycles - 1, workers=workers, per_s=100)
    assert trial.judge(CHECK) is Verdict.UNDECIDED
    assert saturated(trial, 1, workers=workers, per_s=100).judge(CHECK) is Verdict.NO_GAIN


def test_the_calm_count_is_that_before_the_backlog() -> None:
    calm = Reading(at_s=0, backlog=3, workers=8, busy=8, finished_total=0)
    state = Ceiling().observe(calm, 1.0, 50, CHECK)

    assert saturated(state, 4, workers=32, per_s=50).calm == 8
    assert saturated(Ceiling(), 4, workers=32, per_s=50).calm == 32
