"""Curves, the past they show, hidden fields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool.web.drawing.charts import Line, chart, curve, nice
from queuepool.web.drawing.masking import DOTS, masked, unmasked
from queuepool.web.drawing.words import short
from queuepool.web.live.history import Ring, buckets

WORDS = ("password", "token")


def test_a_ring_keeps_the_latest_rows_in_order() -> None:
    ring = Ring(3, 2)
    for n in range(5):
        ring.append((n, 10 * n))

    assert ring.columns() == [[2, 3, 4], [20, 30, 40]]


def test_times_without_observations_are_gaps() -> None:
    assert buckets([0, 1, 2, 7], [1, 2, 3, 9], end_s=9, step_s=3, count=3) == [2, None, 9]


def test_a_curve_is_interrupted_where_nothing_was_seen() -> None:
    path, area = curve([0, 5, None, 10], 10, closed=True)

    assert path == "M0 100l100-50M300 0"
    assert area == "M0 100l100-50V100H0ZM300 0"


@given(st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=80))
def test_no_curve_leaves_its_frame(values: list[float | None]) -> None:
    top = nice(max((v for v in values if v is not None), default=0))

    path, _ = curve(values, top)

    assert all(v is None or v <= top * 1.001 for v in values)
    assert path.count("M") + path.count("l") == sum(v is not None for v in values)


def test_the_table_behind_a_chart_has_its_values() -> None:
    past = {"at": [1.0, 6.0], "n": [3.0, 5.0]}

    one = chart("c", "Jobs", [Line("jobs", "n", "a")], past, end_s=10, step_s=5, points=4)

    assert one.rows == (("0.0s", "5"), ("5.0s", "3"))
    assert one.lines[0].now == "5"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (9950, "10k"), (999_950, "1.0M"), (1.5, "1.5")],
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert short(number) == text


def test_hidden_fields_are_dots_at_every_depth_and_come_back_after_an_edit() -> None:
    payload = {"to": "ada", "Password": "x", "inner": [{"access-token": 1, "n": 2}]}

    shown = masked(payload, WORDS)
    edited = {"to": "bob", "Password": DOTS, "inner": [{"access-token": DOTS, "n": 3}]}

    assert shown == {"to": "ada", "Password": DOTS, "inner": [{"access-token": DOTS, "n": 2}]}
    assert unmasked(edited, payload, WORDS) == {
        "to": "bob", "Password": "x", "inner": [{"access-token": 1, "n": 3}],
    }  # fmt: skip
    assert unmasked({"to": DOTS}, payload, WORDS) == {"to": DOTS}


@pytest.mark.parametrize(
    "edited",
    [
        {"users": [{"n": 2, "token": DOTS}]},  # the first was removed: its token is not this one's
        {"users": [{"n": 2, "token": DOTS}, {"n": 1, "token": DOTS}]},
        {"users": [{"n": 1, "token": DOTS}, {"n": 2, "token": DOTS}, {"n": 3, "token": DOTS}]},
        {"users": [], "old_token": DOTS},
    ],
)
def test_dots_whose_value_is_not_known_are_refused_and_not_guessed(edited: dict[str, Any]) -> None:
    payload = {"users": [{"n": 1, "token": "a"}, {"n": 2, "token": "b"}]}

    with pytest.raises(ValueError, match="not known what ••• stands for"):
        unmasked(edited, payload, WORDS)


def test_a_list_without_hidden_values_may_get_another_length() -> None:
    payload = {"to": ["ada"], "users": [{"n": 1, "token": "a"}]}
    edited = {"to": ["ada", "bob"], "users": [{"n": 9, "token": DOTS}]}

    assert unmasked(edited, payload, WORDS) == {
        "to": ["ada", "bob"], "users": [{"n": 9, "token": "a"}],
    }  # fmt: skip
    assert unmasked({"users": [{"n": 5, "token": "new"}] * 2}, payload, WORDS) == {
        "users": [{"n": 5, "token": "new"}] * 2,
    }
