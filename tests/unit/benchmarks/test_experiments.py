"""docs/experiments.md has what `make experiments` gives, and says what its figures show."""

from __future__ import annotations

import pytest

from benchmarks import experiments as made
from coordinator.policy import make_policy

PAGE = made.PAGE.read_text()
pytestmark = [
    pytest.mark.xdist_group("experiments"),  # which are simulated once
    pytest.mark.thorough,
]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, made.Outcome]:
    return {one.experiment.policy.name: one for one in made.outcomes()}


@pytest.mark.slow
def test_the_tables_and_charts_are_those_of_the_code(outcomes: dict[str, made.Outcome]) -> None:
    found = list(outcomes.values())

    tables = {
        "reference": made.reference_table(made.references()),
        "experiments": made.outcome_table(found),
    }

    assert made.filled(PAGE, tables) == PAGE, "run `make experiments`"
    drawn = made.charts(found)
    kept = {path.name: path.read_text() for path in made.CHARTS.glob("*.svg")}
    assert drawn == kept, "run `make experiments`"


@pytest.mark.slow
def test_the_figures_teach_what_the_page_says(outcomes: dict[str, made.Outcome]) -> None:
    ratio, aimd, pwqd, sized = (outcomes[name] for name in ("ratio", "aimd", "pwqd", "sized"))

    assert ratio.score.changes_per_h > 5 * max(
        one.score.changes_per_h for one in (aimd, pwqd, sized)
    )
    assert pwqd.score.reversals_per_h == min(one.score.reversals_per_h for one in outcomes.values())
    assert pwqd.small_s < sized.small_s < ratio.small_s
    assert min(aimd.score.cost, pwqd.score.cost) > 1.3
    assert sized.score.cost < 1.1
    assert sized.idle_s < 0.2 * min(aimd.idle_s, pwqd.idle_s)


def test_one_item_takes_120_ms_by_every_result_of_the_article() -> None:
    told = {what: seconds for what, seconds, _ in made.references()}

    assert told["8 workers"] == pytest.approx(25 * 60, rel=0.01)
    assert told["16 workers above 10,000 waiting, else 8"] == pytest.approx(14 * 60, rel=0.03)
    assert told["`sized`, the default"] < 4 * 60
    assert made.makespan_s(make_policy("sized"), jobs=1_000) > 1_000 * made.JOB_S / made.MOST


@pytest.mark.parametrize(
    ("name", "row"),
    [("reference", "| 8 workers |"), ("experiments", "| today: sized |"), ("real", "| `sized` |")],
)
def test_no_table_of_the_page_is_empty(name: str, row: str) -> None:
    written = PAGE.partition(f"<!-- table: {name},")[2].partition("<!-- end of table -->")[0]

    assert row in written


@pytest.mark.parametrize("old", ["", "| old |\n"])
def test_a_place_is_filled_whether_it_is_empty_or_not(old: str) -> None:
    page = f"<!-- table: a, written by `make a` -->\n{old}<!-- end of table -->\n"

    assert made.filled(page, {"a": "| new |"}) == (
        "<!-- table: a, written by `make a` -->\n| new |\n<!-- end of table -->\n"
    )


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(LookupError, match="0 tables named 'x'"):
        made.filled(PAGE, {"x": "| a |"})
