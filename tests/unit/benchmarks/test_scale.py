"""The rows of `make bench-scale`, and the table that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from benchmarks.scale import __main__ as scale
from benchmarks.scale.measures import MEASURES
from benchmarks.scale.processes import lost_decisions
from benchmarks.scale.rows import Row
from coordinator.core.events import RecordsLost
from coordinator.telemetry.event_log import EventLog
from tests.paths import ROOT


def test_a_goal_is_met_by_at_most_its_figure() -> None:
    assert Row("a scrape", 0.3, 0.3, "MB").cells() == ["a scrape", "0.3 MB", "0.3 MB", "met"]
    assert Row("decisions lost", 1, 0, "").cells() == ["decisions lost", "1", "0", "**missed**"]


def test_a_run_in_which_a_goal_is_missed_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"good": [Row("a", 1, 2, "s")], "bad": [Row("b", 3, 2, "s")]}

    def measure(name: str) -> Callable[[float], Iterator[Row]]:
        return lambda _scale: iter(rows[name])

    for name in rows:
        monkeypatch.setitem(MEASURES, name, measure(name))

    assert scale.main(["--only", "good"]) == 0
    assert scale.main(["--only", "good,bad"]) == 1
    assert "| b | 3 s | 2 s | **missed** |" in capsys.readouterr().out


def test_decisions_that_a_coordinator_lost_are_found_in_its_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for count in (3_000, 7):
        EventLog()(RecordsLost(count))

    assert lost_decisions(caplog.text) == 3_007


def test_the_page_has_a_row_of_each_measure() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    table = page.partition("<!-- table: scale")[2].partition("<!-- end of table -->")[0]

    for word in (
        "/metrics",
        "a cycle",
        "idle consumer",
        "`up",
        "producer",
        "dead",
        "due together",
        "that die",
        "cancel of",
        "with `sized`",
        "groups of a job",
        "groups in turn",
        "rounds until",
        "payloads of",
        "a small job's start",
        "80 % load",
    ):
        assert word in table
