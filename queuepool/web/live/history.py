"""Numbers of the last minutes, in bounded memory. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Sequence


class Ring:
    """The latest rows of numbers; all rows are as wide."""

    __slots__ = ("_begin", "_rows", "_values", "_width")

    def __init__(self, rows: int, width: int) -> None:
        self._rows, self._width, self._begin = rows, width, 0
        self._values = array("f")

    def append(self, row: Sequence[float]) -> None:
        """Add a row, in place of the oldest if there is no room."""
        if len(self._values) < self._rows * self._width:
            self._values.extend(row)
            return
        start = self._begin * self._width
        self._values[start : start + self._width] = array("f", row)
        self._begin = (self._begin + 1) % self._rows

    def columns(self) -> list[list[float]]:
        """Return the columns, each from the oldest row to the newest."""
        width, split = self._width, self._begin * self._width
        inline = self._values[split:] + self._values[:split]
        return [list(inline[column::width]) for column in range(width)]


def buckets(
    times: Sequence[float], values: Sequence[float], *, end_s: float, step_s: float, count: int
) -> list[float | None]:
    """Return the means in `count` equal times until `end_s`; None where nothing was seen."""
    sums, seen = [0.0] * count, [0] * count
    begin_s = end_s - step_s * count
    for at_s, value in zip(times, values, strict=True):
        place = int((at_s - begin_s) / step_s)
        if 0 <= place < count:
            sums[place] += value
            seen[place] += 1
    return [total / n if n else None for total, n in zip(sums, seen, strict=True)]
