"""Long lists in parts: which lines are shown, and how the others are reached."""

from urllib.parse import parse_qs

import pytest

from queuepool.web.drawing.paging import paged

LINES = range(1, 106)


@pytest.mark.parametrize(("page", "first", "last"), [
    ("", 1, 50), ("1", 1, 50), ("2", 51, 100), ("3", 101, 105), ("4", 101, 105),
    ("0", 1, 50), ("-1", 1, 50), ("x", 1, 50), ("²", 1, 50), ("9" * 5000, 1, 50),
])  # fmt: skip
def test_the_part_that_is_asked_for_is_shown(page: str, first: int, last: int) -> None:
    shown, where = paged(LINES, 50, {"page": page})

    assert list(shown) == list(range(first, last + 1))
    assert (where.first, where.last, where.total) == (first, last, 105)


def test_neighbours_keep_what_else_is_asked_for() -> None:
    _, where = paged(LINES, 50, {"page": "2", "name": "a&b=<c>", "empty": ""})

    assert parse_qs(where.before) == {"page": ["1"], "name": ["a&b=<c>"]}
    assert parse_qs(where.after) == {"page": ["3"], "name": ["a&b=<c>"]}


@pytest.mark.parametrize("count", [0, 1, 50])
def test_a_list_that_fits_has_no_parts(count: int) -> None:
    shown, where = paged(range(count), 50, {"page": "7"})

    assert len(shown) == count
    assert where.is_whole
    assert not paged(range(count), 50, {}, more=True)[1].is_whole
