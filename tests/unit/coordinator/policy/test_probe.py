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

    probe, workers = probe.observe(counted(18, 36.0), workers)
    assert (workers, probe.running) == (21, True)


def test_the_search_ends_when_too_few_and_enough_are_a_tenth_apart() -> None:
    probe = Probe(enough=24, per_s=40.0, tried=18, missed=True)
    probe, workers = probe.observe(counted(18, 36.0), 18)

    for per_s, ending in ((40.0, 21), (36.0, 24)):
        over, last = probe.observe(counted(21, per_s), workers)
        assert (last, over.running) == (ending, False)
        assert over.observe(counted(ending, 40.0), ending) == (over, ending)


def test_fewer_than_a_tenth_less_are_not_tried() -> None:
    for too_few, tried in ((16, 18), (18, 20)):
        probe = Probe(enough=20, per_s=40.0, tried=too_few, missed=True)
        _, workers = probe.observe(counted(too_few, 36.0), too_few)
        assert workers == tried


def test_of_three_workers_none_can_be_taken_away() -> None:
    probe, workers = Probe().observe(counted(3, 40.0), 3)
    assert (workers, probe.running) == (3, False)


def test_what_was_enough_still_is_when_more_finish_no_more() -> None:
    probe = Probe(enough=20, per_s=40.0, tried=15, too_few=10)

    for per_s in (36.5, 41.0):
        kept = probe.after_no_gain(per_s)
        assert kept == Probe(enough=20, per_s=40.0, too_few=10)
        assert kept.observe(counted(20, 40.0), 20)[1] == 15

    for per_s in (35.5, 41.5):
        assert probe.after_no_gain(per_s) == Probe()


def test_a_first_attempt_that_missed_is_remembered_over_a_step_up() -> None:
    missed = Probe(enough=20, per_s=40.0, missed=True)

    probe, workers = missed.after_no_gain(40.0).observe(counted(20, 40.0), 20)
    assert workers == 15
    assert probe.observe(counted(15, 36.0), workers)[1] == 17


def test_a_probe_that_was_ruled_out_remains_so_and_one_that_was_made_is_made_anew() -> None:
    assert Probe(over=True).after_no_gain(40.0) == Probe(over=True)
    assert Probe(enough=20, per_s=10.0, over=True).after_no_gain(40.0) == Probe()


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
