"""Rows of a file as payloads: CSV or TSV with a header, or JSON lines. Nothing is silently dropped.

An invalid row is an error that names its line: a bulk action that silently loses a row is worse
than one that does not start.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.settings import strict_json

Payload = dict[str, Any]
Row = tuple[int, Payload]
_MAX_ROW = 32 * 1024**2  # characters, of all lines of a row
_MOST_COLUMNS = 16_384  # those of a spreadsheet
_DELIMITERS = {"csv": ",", "tsv": "\t"}
FORMATS = (*_DELIMITERS, "jsonl")
_MAX_FIELD = 16 * 1024**2  # the limit of a payload is far lower, with a clearer message


class RowError(InvalidInputError):
    """A row cannot become a job. line: its (first) line in the file, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(f"line {line}: {problem}")


def guess_format(name: str) -> str:
    """Return one of FORMATS from a file's name. Raises InvalidInputError."""
    suffix = Path(name).suffix.lower()
    if suffix[1:] in _DELIMITERS:
        return suffix[1:]
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "jsonl"
    raise InvalidInputError(
        f"{name}: cannot tell whether it is CSV, TSV or JSON Lines. Use --format csv, "
        "--format tsv or --format jsonl"
    )


def open_rows(name: str) -> TextIO:
    """Open a file of rows, - for standard input; a byte order mark is skipped."""
    if name == "-":
        sys.stdin.reconfigure(encoding="utf-8-sig", newline="")  # type: ignore[union-attr]
        return sys.stdin
    try:
        return Path(name).open(encoding="utf-8-sig", newline="")
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{shown(name)} cannot be read: {why}") from error


def read_rows(lines: Iterable[str], form: str, delimiter: str | None = None) -> Iterator[Row]:
    """Yield (line, payload) of each row. Raises RowError for a bad one.

    form: one of FORMATS. delimiter: of the fields; None for that of the format, whose header must
    then look as if it were the right one.
    """
    bounded = _Lines(lines)
    rows = _json_rows(bounded) if form == "jsonl" else _csv_rows(bounded, form, delimiter)
    line = 0
    try:
        for line, payload in rows:
            yield line, payload
    except UnicodeDecodeError as error:
        # Files are decoded in blocks, so the exact line is not known.
        raise RowError(
            line + 1,
            f"this line or a later one is not UTF-8 ({error.reason}); convert the file, for "
            "example with iconv -f LATIN1 -t UTF-8",
        ) from error


def value_of(column: str, option: str, what: str, line: int, payload: Payload) -> str:
    """Return a row's value in a column that an option names, as text.

    what: it is used as. Raises RowError for a value that is missing, empty or no text or number.
    """
    if column not in payload:
        known = ", ".join(map(str, payload))[:200]
        raise RowError(line, f"there is no column {shown(column)} for {option} (known: {known})")
    value = payload[column]
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        problem = f"column {shown(column)} has no usable {what}"
        raise RowError(line, f"{problem}: {option} needs a string or a whole number")
    return str(value)


class _Lines:
    """The lines of a file, with a limit on the length of a row: a file may be endless.

    begin_row: called when a row begins; number: of its first line, for the error.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        readline = getattr(lines, "readline", None)
        self._next = iter(lines).__next__ if readline is None else partial(readline, _MAX_ROW)
        self._taken, self._number = 0, 1

    def begin_row(self, number: int) -> None:
        self._taken, self._number = 0, number

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._next()
        if not line:
            raise StopIteration
        self._taken += len(line)
        if self._taken >= _MAX_ROW:
            raise RowError(
                self._number, f"the row is longer than {_MAX_ROW:,} characters; is a quote open?"
            )
        return line


def _csv_rows(lines: _Lines, form: str, delimiter: str | None) -> Iterator[Row]:
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(lines, delimiter=delimiter or _DELIMITERS[form], strict=True)
    header: list[str] | None = None
    line, first_empty = 1, 0
    try:
        for fields in reader:
            if header is None:
                header = _check_header(fields, None if delimiter else _DELIMITERS[form])
            elif not fields:  # an empty line; at the end of a file it is nothing
                first_empty = first_empty or line
            else:
                if first_empty and len(header) == 1:
                    problem = 'an empty line; write "" for an empty value, or remove it'
                    raise RowError(first_empty, problem)
                if len(fields) != len(header):
                    raise RowError(
                        line,
                        f"{len(fields)} fields, but the header has {len(header)} "
                        f"({', '.join(header)[:200]}). Quote fields that contain delimiters or "
                        "line breaks",
                    )
                yield line, dict(zip(header, fields, strict=True))
            line = reader.line_num + 1
            lines.begin_row(line)
    except csv.Error as error:
        raise RowError(line, f"not valid CSV: {error}") from error
    if header is None:
        raise RowError(1, "the file is empty; the first line must name the fields")


def _check_header(fields: list[str], guessed: str | None) -> list[str]:
    """Return the names of the fields. guessed: the delimiter, unless it was given."""
    if len(fields) > _MOST_COLUMNS:
        raise RowError(
            1, f"the header has {len(fields):,} columns; at most {_MOST_COLUMNS:,} are possible"
        )
    header = [field.strip() for field in fields]
    if not header or not all(header):
        raise RowError(1, "the header has a field without a name")
    if guessed is not None and len(header) == 1:
        other = next((one for one in ",;\t" if one != guessed and one in header[0]), None)
        if other is not None:
            raise RowError(
                1,
                f"the header {shown(header[0])} is one field. Use --delimiter {_named(other)} to "
                f"split it, or --delimiter {_named(guessed)} if this is the name of one column",
            )
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise RowError(1, f"the header names {', '.join(sorted(twice))[:200]} more than once")
    return header


def _named(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


def _json_rows(lines: _Lines) -> Iterator[Row]:
    for line, text in enumerate(lines, start=1):
        lines.begin_row(line + 1)
        if not text.strip():
            continue
        try:
            row = strict_json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RowError(line, f"{_no_json(error)}") from error
        if not isinstance(row, dict):
            raise RowError(line, f'a {type(row).__name__}, not an object such as {{"id": 7}}')
        yield line, row


def _no_json(error: Exception) -> str:
    is_json = isinstance(error, strict_json.DuplicateKeyError)
    return str(error) if is_json else f"not valid JSON: {error}. Each line must be a whole object"
