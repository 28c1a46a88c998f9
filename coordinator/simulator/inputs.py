"""Files of users: what is wrong in them is told with its file and line. Pure: text in, data out."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_MOST_ROWS = 1_000_000


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
    """Return the counts in the last column of a CSV file. A first line without one is a heading.

    rows: at most so many are read. Raises BadFileError.
    """
    values: list[float] = []
    for number, line in enumerate(text.splitlines(), 1):
        cell = line.rpartition(",")[2].strip().strip('"')
        if not line.strip() or (not values and number == 1 and not _is_number(cell)):
            continue
        if not _is_number(cell):
            raise BadFileError(name, number, f"{cell[:40]!r} is not a count")
        value = float(cell)
        if not 0 <= value <= 1e12:
            raise BadFileError(name, number, f"{cell[:40]} is not a count from 0 to 1e12")
        values.append(value)
        if len(values) >= rows:
            break
    if not any(values):
        raise BadFileError(name, 1, "no row has a count above 0")
    return Trace(name, tuple(values))


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


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
