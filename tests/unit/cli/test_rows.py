"""Rows of a file become payloads, all of them or none."""

import csv
import io
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool.cli.rows.rows import RowError, guess_format, open_rows, read_rows
from queuepool.errors import InvalidInputError

CELLS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)


def payloads(text: str, form: str = "csv", delimiter: str | None = None) -> list[dict[str, object]]:
    lines = io.StringIO(text, newline="")
    return [payload for _, payload in read_rows(lines, form, delimiter)]


@given(st.lists(st.tuples(CELLS, CELLS), max_size=20))
def test_every_cell_that_a_csv_writer_writes_comes_back(rows: list[tuple[str, str]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([("a", "b"), *rows])

    assert payloads(file.getvalue()) == [{"a": a, "b": b} for a, b in rows]


@given(st.lists(st.dictionaries(CELLS, st.integers() | CELLS | st.none()), max_size=10))
def test_every_object_of_json_lines_comes_back(rows: list[dict[str, object]]) -> None:
    assert payloads("".join(json.dumps(row) + "\n" for row in rows), "jsonl") == rows


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "empty"),
        ("a,b\n1\n", 2, "1 fields, but the header has 2"),
        ("a,b\n1,2,3\n", 2, "3 fields"),
        ('a,b\n"x\ny",2\n1\n', 4, "1 fields"),
        ("a,a\n1,2\n", 1, "more than once"),
        ("a,\n1,2\n", 1, "without a name"),
        ('a\n"open\n', 2, "not valid CSV"),
        ("a\n1\n\n2\n", 3, "empty line"),
        ("a\n1\n\n\n2\n\n\n", 3, "empty line"),
    ],
)
def test_a_bad_csv_row_is_named_by_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(RowError, match=problem) as raised:
        payloads(text)

    assert raised.value.line == line


@pytest.mark.parametrize("end", ["\n", "\n\n\n", "\r\n\r\n\r\n"])
@pytest.mark.parametrize("text", ["a\n1", "a,b\n1,2"])
def test_blank_lines_at_the_end_of_a_csv_are_no_rows(text: str, end: str) -> None:
    assert payloads(text + end) == payloads(text)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"a": 1}\n{"a":\n', 2, "not valid JSON"),
        ("{}\n\n[1]\n", 3, "a list, not an object"),
        ('{\n  "a": 1\n}\n', 1, "Each line must be a whole object"),
    ],
)
def test_a_bad_json_line_is_named(text: str, line: int, problem: str) -> None:
    with pytest.raises(RowError, match=problem) as raised:
        payloads(text, "jsonl")

    assert raised.value.line == line


def test_fields_are_separated_by_the_delimiter_of_the_format_or_the_one_given() -> None:
    assert payloads("a\tb\n1,5\t2\n", "tsv") == [{"a": "1,5", "b": "2"}]
    assert payloads("a;b\n1,5;2\n", delimiter=";") == [{"a": "1,5", "b": "2"}]
    assert payloads("a|b\n1|2\n", "tsv", "|") == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("text", "form", "remedy"),
    [
        ("a;b\n1;2\n", "csv", "--delimiter ';' to split it"),
        ("a\tb\n1\t2\n", "csv", "--delimiter tab to split it"),
        ("a,b\n1,2\n", "tsv", "--delimiter ',' to split it"),
    ],
)
def test_a_header_with_another_delimiter_than_the_guessed_one_is_refused(
    text: str, form: str, remedy: str
) -> None:
    with pytest.raises(RowError, match=remedy) as raised:
        payloads(text, form)

    assert raised.value.line == 1


def test_a_column_may_be_named_like_several_if_the_delimiter_is_given() -> None:
    assert payloads("a;b\n1\n", delimiter=",") == [{"a;b": "1"}]
    assert payloads("a;b,c\n1,2\n") == [{"a;b": "1", "c": "2"}]


def test_a_header_with_too_many_columns_is_refused() -> None:
    with pytest.raises(RowError, match="16,385 columns; at most 16,384"):
        payloads(",".join(map(str, range(16_385))) + "\n")


@pytest.mark.serial
def test_a_header_takes_time_in_proportion_to_its_columns() -> None:
    names = [str(number) for number in range(16_384)]
    started = time.process_time()

    rows = payloads(",".join(names) + "\n" + ",".join(names) + "\n")

    assert time.process_time() - started < 0.5  # each name compared with each: 3 s
    assert rows == [{name: name for name in names}]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\xef\xbb\xbfname\r\nAda\r\n")

    with open_rows(str(path)) as lines:
        assert [p for _, p in read_rows(lines, "csv")] == [{"name": "Ada"}]


def test_bytes_that_are_not_utf8_are_an_error_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"name\nJos\xe9\n")

    with open_rows(str(path)) as lines, pytest.raises(RowError, match="iconv"):
        list(read_rows(lines, "csv"))


def test_the_format_is_guessed_by_the_name_or_asked_for() -> None:
    assert guess_format("a/b.CSV") == "csv"
    assert guess_format("x.TSV") == "tsv"
    assert guess_format("x.ndjson") == "jsonl"
    with pytest.raises(InvalidInputError, match="--format"):
        guess_format("-")
