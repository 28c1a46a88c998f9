"""Which workers a hidden limit keeps busy, found by what fewer of them finish."""

import pytest

from coordinator.policy.baseline import Baseline
from coordinator.policy.gain_check import Window
from coordinator.policy.probe import Probe

ENOUGH = Probe(enough=20, per_s=40.0)


def counted(workers: int, per_s: float, cycles: int = 15) -> Window:
    return Window(workers=workers, cycles=cycles, seconds=float(cycles), finished=per_s * cycles)


def before(workers: float, per_s: float) -> Baseline:
    return Baseline(workers=workers, cycles=10, finished=10 * per_s, per_s=per_s)


def begun() -> tuple[Probe, int]:
    """Return what is tried when 64 workers finished no more than 32 did."""
    return Probe().after_no_gain(before(32, 39.0), counted(64, 40.0))


def test_half_of_the_workers_before_a_step_without_gain_are_tried() -> None:
    probe, workers = begun()

    assert (workers, probe.running, probe.enough, probe.per_s) == (16, True, 64, 40.0)


def test_halves_are_tried_until_clearly_fewer_jobs_finish() -> None:
    probe, workers = begun()

    probe, workers = probe.observe(counted(16, 39.0), workers)
    assert (workers, probe.running, probe.enough) == (8, True, 16)
    probe, workers = probe.observe(counted(8, 33.0), workers)
    assert (workers, probe.running, probe.enough) == (4, True, 16)


def test_clearly_fewer_jobs_tell_their_length_and_so_how_many_workers_are_needed() -> None:
    probe, workers = begun()

    # 16 workers finish 30 a second, so a job takes 0.53 s, and 40 a second are a load of 21.3.
    found, workers = probe.observe(counted(16, 30.0), workers)

    assert workers == 24  # half of the square root of the load more
    assert found == Probe(enough=24, per_s=40.0)
    assert not found.running
    assert found.observe(counted(24, 40.0), workers) == (found, 24)


def test_no_more_than_are_known_to_be_enough_are_found() -> None:
    probe = Probe(enough=24, per_s=40.0, tried=12)

    assert probe.observe(counted(12, 18.0), 12) == (Probe(enough=24, per_s=40.0), 24)


def test_a_step_from_clearly_too_few_tells_how_many_to_try() -> None:
    # 11 workers finished 20 a second, so 40 a second are a load of 22.
    probe, workers = Probe().after_no_gain(before(11, 20.0), counted(64, 40.0))

    assert (workers, probe.running) == (25, True)
    probe, workers = probe.observe(counted(25, 40.0), workers)
    assert (workers, probe.enough) == (13, 25)


def test_a_step_that_finished_far_more_than_fewer_would_have_keeps_its_workers() -> None:
    # At 10 a second by 8, 64 workers have a load of 62 and hardly wait at all.
    probe, workers = Probe().after_no_gain(before(8, 10.0), counted(64, 78.0))

    assert (workers, probe.running, probe.enough) == (64, False, 64)


def test_nothing_is_compared_before_enough_was_counted_or_with_other_counts() -> None:
    probe, workers = begun()

    assert probe.observe(counted(16, 30.0, cycles=5), workers) == (probe, workers)
    assert probe.observe(counted(17, 10.0), workers) == (probe, workers)


def test_a_stall_ends_the_probe() -> None:
    probe, workers = begun()

    assert probe.observe(counted(16, 0.0), workers) == (Probe(enough=64, per_s=40.0), 64)


def test_no_fewer_are_tried_or_found_than_may_run() -> None:
    probe, workers = Probe().after_no_gain(before(12, 39.0), counted(24, 40.0), 8)
    assert (workers, probe.running) == (8, True)

    assert probe.observe(counted(8, 39.0), workers, 8) == (Probe(enough=8, per_s=40.0), 8)
    slow = Probe(enough=24, per_s=4.0, tried=10)
    assert slow.observe(counted(10, 3.0), 10, 20) == (Probe(enough=20, per_s=4.0), 20)


def test_a_single_worker_is_the_last_that_is_tried() -> None:
    probe = Probe(enough=2, per_s=40.0, tried=1)

    assert probe.observe(counted(1, 40.0), 1) == (Probe(enough=1, per_s=40.0), 1)


@pytest.mark.parametrize(("attempt_per_s", "known"), [(36.5, True), (44.0, True), (35.5, False),
                                                      (45.0, False)])  # fmt: skip
def test_what_was_found_outlasts_an_attempt_unless_the_limit_has_changed(
    attempt_per_s: float, known: bool
) -> None:
    probe, workers = ENOUGH.after_no_gain(before(20, attempt_per_s), counted(28, attempt_per_s))

    assert (probe == ENOUGH) is known
    assert workers == (20 if known else 10)
    assert probe.running is not known


def test_an_attempt_that_finished_a_little_more_raises_what_was_found() -> None:
    probe, workers = ENOUGH.after_no_gain(before(20, 36.0), counted(28, 40.0))

    assert (workers, probe) == (23, Probe(enough=23, per_s=40.0))


def test_a_probe_that_an_attempt_cut_off_is_made_anew() -> None:
    probe, workers = Probe(enough=20, per_s=40.0, tried=10).after_no_gain(
        before(16, 39.0), counted(24, 40.0)
    )

    assert (workers, probe.enough) == (8, 24)


@pytest.mark.parametrize(("before_per_s", "workers"), [(39.0, 16), (20.0, 35)])
def test_of_other_jobs_than_before_no_fewer_workers_are_tried(
    before_per_s: float, workers: int
) -> None:
    ruled_out = Probe(ruled_out=True)

    assert ruled_out.after_no_gain(before(16, before_per_s), counted(64, 40.0)) == (
        ruled_out,
        workers,
    )


def test_one_cycle_in_which_hardly_anything_finished_is_a_stall_and_no_sign_of_too_few() -> None:
    probe = Probe(enough=32, per_s=100.0, tried=24)
    window = Window()
    for finished in (100, 100, 30, 100, 100):
        window = window.add(24, 1.0, finished, keep_s=20.0)
    assert window.per_s < 90

    assert probe.observe(window, 24)[0].enough == 24

    window = Window()
    for finished in (100, 60, 30, 100, 100):
        window = window.add(24, 1.0, finished, keep_s=20.0)
    assert probe.observe(window, 24)[0].enough == 32


def test_a_doubt_ends_where_fewer_workers_finish_clearly_fewer_jobs() -> None:
    probe = Probe().doubt(counted(64, 20.0, cycles=40), 32)
    assert (probe.tried, probe.enough) == (32, 64)
    assert probe.per_s == pytest.approx(20.0)

    needed, _ = probe.observe(counted(32, 15.5, cycles=40), 32)
    assert needed.needs_all

    fewer, workers = probe.observe(counted(32, 20.0, cycles=40), 32)
    assert (fewer.running, workers) == (True, 16)
    found, workers = fewer.observe(counted(16, 15.0, cycles=40), 16)
    assert (found.needs_all, found.doubted, workers) == (False, 0, 24)


@pytest.mark.parametrize(
    ("finished", "all_needed"),
    [
        ((92, 70), True),  # those that have just left end their jobs in the first cycle
        ((92,), False),
        ((92, 85), False),
        ((131, 131), False),
        ((92, 10), False),  # a stall
        ((92, 10, 70), True),
        ((10, 131, 131), False),
    ],
)
def test_a_doubt_is_refuted_within_two_cycles_that_finish_half_of_the_jobs(
    finished: tuple[int, ...], all_needed: bool
) -> None:
    probe, window = Probe().doubt(counted(64, 131.0, cycles=20), 32), Window()
    for count in finished:
        window = window.add(32, 1.0, count, keep_s=20)

    found, workers = probe.observe(window, 32)

    assert found.needs_all == all_needed
    assert workers == (64 if all_needed else 32)


def test_what_a_limit_may_keep_busy_is_counted_longer() -> None:
    """After a step without gain, it is known that fewer are enough: the count must be exact."""
    probe, window = Probe(enough=64, per_s=131.0, tried=32), Window()
    for count in (92, 70):
        window = window.add(32, 1.0, count, keep_s=20)

    assert probe.observe(window, 32) == (probe, 32)


def test_a_comparison_waits_until_each_worker_has_finished_three_jobs() -> None:
    probe = Probe(enough=64, per_s=4.0, tried=32)

    assert probe.observe(counted(32, 4.0, cycles=23), 32) == (probe, 32)
    assert probe.observe(counted(32, 4.0, cycles=24), 32) != (probe, 32)
