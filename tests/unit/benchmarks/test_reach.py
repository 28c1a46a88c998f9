"""docs/scale.md says what follows from the figures of docs/performance.md, and nothing else."""

from __future__ import annotations

import pytest

from benchmarks.scale import reach
from benchmarks.scale.reach import Row
from tests.paths import ROOT
from tools.tables import replaced

pytestmark = pytest.mark.thorough

DOCS = ROOT / "docs"


def test_the_page_is_what_the_measured_figures_give() -> None:
    page = (DOCS / "scale.md").read_text()
    made = reach.text(reach.figures((DOCS / "performance.md").read_text()))

    assert replaced(page, "reach", made) == page, "run `python -m benchmarks.scale.reach --write`"


def test_a_part_is_needed_so_often_that_its_share_suffices() -> None:
    row = Row("server", "job", cost_us=10.0, source="x", rate=1_000_000)

    assert row.most == 100_000
    assert row.needed == 17
    assert row.needed * row.most * reach.SHARE >= row.rate > 16 * row.most * reach.SHARE


def test_figures_are_the_first_numbers_of_rows() -> None:
    page = (
        "| figure | median |\n| --- | --- |\n| a_us | 1,234 | 7 |\n| b of c | 39.7 MB | 25 MB |\n"
    )

    assert reach.figures(page) == {"a_us": 1234.0, "b of c": 39.7}


def test_a_figure_that_was_not_measured_is_missed() -> None:
    with pytest.raises(KeyError, match="server_cpu_s_per_10k_jobs"):
        list(reach.rows({}))
