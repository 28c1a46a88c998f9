"""The comparison of real runs with the simulator begins both at the same part of a cycle."""

import pytest

from benchmarks import agreement


@pytest.mark.parametrize(
    ("decided_ms", "looked_s"),
    [
        ([9_000, 10_300, 11_300], 0.3),
        ([9_000, 12_300], 0.3),  # the first look after the load changed nothing
        ([9_000], 0.5),
        ([], 0.5),
    ],
)
def test_the_next_look_is_found_by_the_first_decision_after_the_load(
    decided_ms: list[int], looked_s: float
) -> None:
    assert agreement._looked_s(decided_ms, 10_000) == pytest.approx(looked_s)


def test_a_simulated_bulk_comes_as_long_before_a_look_as_the_real_one() -> None:
    early, late = (
        agreement.run_simulated(agreement.TRIALS["bulk"], looked_s) for looked_s in (0.9, 0.1)
    )

    # Until the first look, 8 of 64 workers are there, whenever in the cycle that is.
    assert early.makespan_s - late.makespan_s == pytest.approx(0.8 * (1 - 8 / 64), abs=0.15)


def test_a_slow_database_gets_no_more_workers_than_its_trial_allows() -> None:
    trial = agreement.TRIALS["hidden"]

    assert all(
        agreement.run_simulated(trial, looked_s).peak <= trial.peak for looked_s in (0.1, 0.5, 0.9)
    )
