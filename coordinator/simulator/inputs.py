"""Files of users: what is wrong in them is told with its file and line. Pure: text in, data out."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

_MOST_ROWS, _MOST = 1_000_000, 1e12
_DIGIT = re.compile(r"[-+.]*[0-9]")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class BadFileError(ValueError):
    """A file says something that cannot be simulated: "FILE:LINE: what"."""

    def __init__(self, name: str, line: int, problem: str) -> None:
        super().__init__(f"{name}:{line}: {problem}")


@dataclass(frozen=True, slots=True)
class Trace:
    """Counts per row of a recorded load."""

    name: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Return the mean count of a row."""
        return sum(self.values) / len(self.values)


def parse_trace(text: str, name: str, *, rows: int = _MOST_ROWS) -> Trace:
    """Return the counts in the last column of a CSV file. A first row without one is a heading.

    rows: at most so many are read. Raises BadFileError.
    """
    values: list[float] = []
    width = 0
    for line, row in _rows(text, name):
        cell = row[-1].strip()
        if not width and cell and not _DIGIT.match(cell):
            width = len(row)
            continue
        width = width or len(row)
        if len(row) != width:
            raise BadFileError(name, line, f"{_columns(len(row))}, and the first row has {width}")
        values.append(_count(cell, name, line))
        if len(values) >= rows:
            break
    if not any(values):
        raise BadFileError(name, 1, "no row has a count above 0")
    return Trace(name, tuple(values))


def _rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row begins, and its cells; blank lines are left out."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadFileError(name, line, f"this is not CSV: {error}") from None


def _columns(count: int) -> str:
    return f"{count} column{'s' if count != 1 else ''}"


def _count(cell: str, name: str, line: int) -> float:
    if not cell:
        raise BadFileError(name, line, "the last column has no count")
    if not _NUMBER.fullmatch(cell):
        raise BadFileError(name, line, f"{cell[:40]!r} is not a count, such as 1000 or 1.5")
    value = float(cell)
    if not 0 <= value <= _MOST:
        raise BadFileError(name, line, f"{cell[:40]} is not a count from 0 to {_MOST:g}")
    return value


def line_of(text: str, path: str) -> int:
    """Return the line of what a path like `$.streams[0].service_s` names in a TOML file.

    Where the last part is missing, it is the line of the innermost part that is there.
    """
    at = 0
    for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        found = _key(text, key, at) if key else _element(text, int(index), at)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _key(text: str, key: str, at: int) -> int | None:
    found = re.compile(rf"^\s*\[+(?:\w+\.)*{key}\]|(?:^|[{{,\s]){key}\s*=", re.MULTILINE).search(
        text, at
    )
    if found is None:
        return None
    return found.start() + len(found[0]) - len(found[0].lstrip("{, \t\n"))


def _element(text: str, index: int, at: int) -> int | None:
    """Return where element `index` of the array at a place begins: a table, or braces."""
    header = re.match(r"\s*(\[\[.+?\]\])", text[at:])
    pattern = re.escape(header[1]) if header else r"\{"
    places = [each.start() for each in re.finditer(pattern, text[at:])]
    return at + places[index] if index < len(places) else None
