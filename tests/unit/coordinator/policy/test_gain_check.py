"""When a step up counts as help."""

import pytest

from coordinator.policy.gain_check import GainCheckSettings, StepTrial, Verdict, Window

SETTINGS = GainCheckSettings()
BEFORE = Window(workers=8, cycles=3, seconds=3.0, finished=3_000.0)


def after_step(per_cycle: int, cycles: int, *, before: Window = BEFORE) -> StepTrial:
    state = StepTrial(window=before).step_up(8, 1.0, SETTINGS)
    for _ in range(cycles):
        state = observe(state, per_cycle)
    return state


def observe(state: StepTrial, finished: int, *, saturated: bool = True) -> StepTrial:
    return state.observe(
        workers=16,
        seconds=1.0,
        finished=finished,
        saturated=saturated,
        elapsed_s=1.0,
        settings=SETTINGS,
    )


def test_twice_the_completions_end_the_trial_at_once() -> None:
    state = after_step(2_000, cycles=1)

    assert state.before is None


def test_unchanged_completions_convict_the_step_after_two_cycles() -> None:
    assert after_step(1_000, cycles=1).judge(SETTINGS) is Verdict.UNDECIDED
    assert after_step(1_000, cycles=2).judge(SETTINGS) is Verdict.NO_GAIN


def test_few_completions_decide_nothing() -> None:
    few = Window(workers=8, cycles=3, seconds=3.0, finished=60.0)

    state = after_step(20, cycles=4, before=few)

    assert state.before is not None
    assert state.judge(SETTINGS) is Verdict.UNDECIDED


def test_an_undecided_step_stands_in_the_end() -> None:
    few = Window(workers=8, cycles=3, seconds=3.0, finished=60.0)

    assert after_step(20, cycles=SETTINGS.max_cycles, before=few).before is None


def test_a_baseline_of_one_cycle_never_takes_a_step_back_and_waits_less() -> None:
    short = Window(workers=8, cycles=1, seconds=1.0, finished=1_000.0)

    assert after_step(1_000, cycles=3, before=short).judge(SETTINGS) is Verdict.UNDECIDED
    assert after_step(1_000, cycles=4, before=short).before is None


def test_jobs_longer_than_the_compared_cycles_cannot_be_judged() -> None:
    long = Window(workers=800, cycles=3, seconds=3.0, finished=300.0)  # 8 s each

    assert StepTrial(window=long).step_up(800, 1.0, SETTINGS).before is None


def test_a_backlog_that_runs_dry_ends_the_trial() -> None:
    state = observe(after_step(1_000, cycles=1), 1_000, saturated=False)

    assert state.before is None
    assert state.window == Window()


def test_pauses_double_up_to_eight_minutes_and_a_step_that_helps_resets_them() -> None:
    state, pauses = StepTrial(), []
    for _ in range(6):
        state = state.take_back(SETTINGS)
        pauses.append(state.pause_left_s)

    helped = observe(StepTrial(before=BEFORE, pause_next_s=state.pause_next_s), 2_000)

    assert pauses == [30, 60, 120, 240, 480, 480]
    assert helped.pause_next_s == 0


def test_an_old_rate_fades_from_the_window() -> None:
    window = Window()
    for _ in range(100):
        window = window.add(8, 1.0, 100, keep_s=20.0)
    for _ in range(40):
        window = window.add(8, 1.0, 50, keep_s=20.0)

    assert window.seconds == pytest.approx(20.0)
    assert 50 <= window.per_s <= 60


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gain": 0}, "gain=0 must lie between"),
        ({"min_cycles": 20}, "min_cycles=20 must lie between 1 and max_cycles=10"),
        ({"retry_s": 0}, "retry_s=0 must lie between"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GainCheckSettings(**settings)  # type: ignore[arg-type]


def test_the_steady_rate_leaves_out_the_slowest_cycle() -> None:
    window = Window()
    for seconds, finished in ((1.0, 50), (2.0, 40), (1.0, 30), (1.0, 50)):
        window = window.add(8, seconds, finished, keep_s=20.0)

    assert window.per_s == pytest.approx(170 / 5)
    assert window.steady_per_s == pytest.approx(130 / 3)


def test_the_steady_rate_of_a_single_cycle_is_its_own() -> None:
    assert Window().steady_per_s == 0
    assert Window().add(8, 2.0, 50, keep_s=20.0).steady_per_s == 25
