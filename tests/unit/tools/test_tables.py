"""Tables of the docs are replaced between their marks, and nowhere else."""

import pytest

from tools.tables import markdown, replaced

PAGE = """before
<!-- table: one, written by `make one` -->
old
<!-- end of table -->
between
<!-- table: two -->
<!-- end of table -->
after
"""


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = replaced(PAGE, "one", markdown(["a", "b"], [(1, "x|y")]))

    assert page == PAGE.replace("old", "| a | b |\n| --- | --- |\n| 1 | x\\|y |")
    assert replaced(page, "one", "old") == PAGE
    assert "new\n<!-- end of table -->\nafter" in replaced(page, "two", "new")


def test_a_table_that_is_not_there_is_named() -> None:
    with pytest.raises(LookupError, match="three"):
        replaced(PAGE, "three", "text")


def test_a_table_without_an_end_takes_nothing_of_the_next_one() -> None:
    page = PAGE.replace("old\n<!-- end of table -->\n", "old\n")

    with pytest.raises(LookupError, match="0 tables named 'one'"):
        replaced(page, "one", "new")


def test_a_table_that_occurs_twice_is_refused() -> None:
    with pytest.raises(LookupError, match="2 tables named 'two'"):
        replaced(PAGE + PAGE, "two", "new")
