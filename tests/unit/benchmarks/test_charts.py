"""Figures that depend on a size become curves."""

from benchmarks.charts import curves


def test_figures_with_a_size_are_grouped_by_what_they_depend_on() -> None:
    figures = {
        "drain_per_s": [5.0],
        "claim_us[depth=1000]": [3.0, 1.0, 2.0],
        "claim_us[depth=1000000]": [4.0],
        "start_p50_ms[load=0.5]": [7.0],
    }

    assert curves(figures) == {
        "depth": {"claim_us": [(1000.0, 2.0), (1_000_000.0, 4.0)]},
        "load": {"start_p50_ms": [(0.5, 7.0)]},
    }
