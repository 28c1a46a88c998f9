"""Durations, sparklines, log lines and exit codes: what people read and write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool.cli.display.output import clean
from queuepool.cli.display.view import sparkline
from queuepool.cli.local.child_logs import LineBudget, level_of
from queuepool.models.durations import format_duration, parse_duration
from queuepool.process.restarts import describe_exit, restart_pause_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400)],
)
def test_a_duration_reads_as_written(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10 m", "-5s", "1y", "5s3", "nan"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


@given(st.integers(10, 40 * 86400))
def test_a_printed_duration_is_at_most_one_lesser_unit_off(seconds: int) -> None:
    assert abs(parse_duration(format_duration(seconds)) - seconds) < max(1, seconds / 24)


@given(st.lists(st.floats(0, 1e6), max_size=100), st.integers(1, 30))
def test_a_sparkline_has_a_bar_a_value_and_fits(values: list[float], width: int) -> None:
    line = sparkline(values, width)

    assert len(line) == min(len(values), width)
    assert set(line) <= set("▁▂▃▄▅▆▇█")


def test_a_sparkline_spans_from_nothing_to_the_largest() -> None:
    assert sparkline([0, 32, 64], 10) == "▁▅█"
    assert sparkline([8, 8], 10, top=64) == "▂▂"


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_the_pause_before_a_restart_is_bounded_and_never_nothing(
    failures: int, entropy: float
) -> None:
    assert 0.25 <= restart_pause_s(failures, entropy) <= 30


def test_an_exit_is_told_in_words() -> None:
    assert describe_exit(-9) == "was killed by SIGKILL"
    assert describe_exit(3) == "exited with code 3 (replaced)"
    assert describe_exit(77) == "exited with code 77"


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2026-11-20 17:29:14,728 WARNING consumer: slow", "WARNING"),
        ("2026-11-20 17:29:14,728 INFO    consumer: fine", "INFO"),
        ('{"time": "2026", "level": "error", "message": "x"}', "ERROR"),
        ("Traceback (most recent call last):", None),
        ("ValueError: of a handler", None),
    ],
)
def test_the_level_of_a_log_line_is_found_in_both_styles(line: str, level: str | None) -> None:
    assert level_of(line) == level


def test_a_flood_of_lines_is_cut_and_counted() -> None:
    budget = LineBudget(most=3, window_s=5.0)

    assert budget.admit(["a"] * 5, 0.0) == (["a"] * 3, 0)
    assert budget.admit(["b"] * 7, 1.0) == ([], 0)
    assert budget.admit(["c"], 6.0) == (["c"], 9)


def test_text_of_strangers_cannot_steer_the_terminal() -> None:
    assert clean("a\n\x1b[2Jb\tc") == r"a \x1b[2Jb c"
    assert len(clean("x" * 999, 50)) == 50
