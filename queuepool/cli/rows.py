"""Rows of a file as payloads: CSV with a header, or JSON lines. Nothing is silently dropped.

A row that does not fit is an error that names its line: a bulk action that loses a row
without a word is worse than one that does not begin.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from queuepool.errors import InvalidInputError, shown

Payload = dict[str, Any]
Row = tuple[int, Payload]
_MAX_FIELD = 16 * 1024**2  # the limit of a payload is far below, and says so more clearly


class RowError(InvalidInputError):
    """A row cannot become a job. line: its (first) line in the file, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(f"line {line}: {problem}")


def guess_format(name: str) -> str:
    """Return csv or jsonl by the name of a file. Raises InvalidInputError."""
    suffix = Path(name).suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "jsonl"
    raise InvalidInputError(f"{name}: is it CSV or JSON lines? Say --format csv or --format jsonl")


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


def read_rows(lines: Iterable[str], form: str) -> Iterator[Row]:
    """Yield (line, payload) of each row; form is csv or jsonl. Raises RowError at a bad one."""
    rows = _csv_rows(lines) if form == "csv" else _json_rows(lines)
    line = 0
    try:
        for line, payload in rows:
            yield line, payload
    except UnicodeDecodeError as error:
        # Files are decoded in blocks, so the line is only known to be a later one.
        raise RowError(
            line + 1,
            f"here or below is a byte that is not UTF-8 ({error.reason}); convert the file, for "
            "example with iconv -f LATIN1 -t UTF-8",
        ) from error


def _csv_rows(lines: Iterable[str]) -> Iterator[Row]:
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(lines, strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for fields in reader:
            if header is None:
                header = _check_header(fields)
            elif fields:  # the reader gives [] for a line without anything
                if len(fields) != len(header):
                    raise RowError(
                        line,
                        f"{len(fields)} fields, but the header has {len(header)} "
                        f"({', '.join(header)[:200]}). Quote fields that hold commas or breaks",
                    )
                yield line, dict(zip(header, fields, strict=True))
            elif len(header) == 1:
                raise RowError(line, 'an empty line; write "" for an empty value, or remove it')
            line = reader.line_num + 1
    except csv.Error as error:
        raise RowError(line, f"not valid CSV: {error}") from error
    if header is None:
        raise RowError(1, "the file is empty; the first line must name the fields")


def _check_header(fields: list[str]) -> list[str]:
    header = [field.strip() for field in fields]
    if not header or not all(header):
        raise RowError(1, "the header has a field without a name; every column needs one")
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise RowError(1, f"the header names {', '.join(sorted(twice))[:200]} more than once")
    return header


def _json_rows(lines: Iterable[str]) -> Iterator[Row]:
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RowError(line, f"not valid JSON: {error}") from error
        if not isinstance(row, dict):
            raise RowError(line, f'a {type(row).__name__}, not an object such as {{"id": 7}}')
        yield line, row
