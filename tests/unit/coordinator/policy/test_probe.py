"""Whether fewer workers finish as many, tried below a ceiling."""

from coordinator.policy.gain_check import Window
from coordinator.policy.probe import Probe


def counted(workers: int, per_s: float, cycles: int = 15) -> Window:
    return Window(workers=workers, cycles=cycles, seconds=float(cycles), finished=per_s * cycles)


def test_a_quarter_is_taken_away_once_enough_was_counted() -> None:
    assert Probe().observe(counted(32, 40.0, cycles=5), 32) == (Probe(), 32)

    probe, workers = Probe().observe(counted(32, 40.0), 32)

    assert (workers, probe.running) == (24, True)


def test_it_goes_on_while_fewer_finish_as_many() -> None:
    probe, workers = Probe().observe(counted(32, 40.0), 32)

    assert probe.observe(counted(24, 39.5), workers)[1] == 18


def test_the_count_before_is_restored_when_fewer_finish_less_and_tried_once_more() -> None:
    probe, workers = Probe().observe(counted(32, 40.0), 32)
    probe, workers = probe.observe(counted(24, 40.0), workers)

    probe, workers = probe.observe(counted(18, 36.0), workers)
    assert (workers, probe.running) == (24, True)
    probe, workers = probe.observe(counted(24, 40.0), workers)
    assert (workers, probe.running) == (18, True)

    over, restored = probe.observe(counted(18, 36.0), workers)
    assert (restored, over.running) == (24, False)
    assert over.observe(counted(24, 40.0), 24) == (over, 24)


def test_it_goes_on_after_a_moment_in_which_any_number_finished_less() -> None:
    probe, workers = Probe().observe(counted(32, 40.0), 32)
    probe, workers = probe.observe(counted(24, 36.0), workers)
    assert workers == 32

    # All is slower from now on.
    for per_s in (36.0, 36.0, 36.0):
        probe, workers = probe.observe(counted(workers, per_s), workers)
    assert (workers, probe.running) == (14, True)

    # What finished as many at the second attempt may fail once more.
    probe, workers = probe.observe(counted(14, 30.0), workers)
    assert (workers, probe.running) == (18, True)


def test_one_cycle_in_which_hardly_anything_finished_is_a_stall_and_no_sign_of_too_few() -> None:
    probe, workers = Probe().observe(counted(32, 100.0), 32)
    window = Window()
    for finished in (100, 100, 30, 100, 100):
        window = window.add(24, 1.0, finished, keep_s=20.0)
    assert window.per_s < 90

    assert probe.observe(window, workers)[1] == 18

    window = Window()
    for finished in (100, 60, 30, 100, 100):
        window = window.add(24, 1.0, finished, keep_s=20.0)
    assert probe.observe(window, workers)[1] == 32


def test_another_count_than_the_ceiling_says_nothing() -> None:
    probe, workers = Probe().observe(counted(32, 40.0), 32)

    assert probe.observe(counted(32, 10.0), workers) == (probe, workers)
