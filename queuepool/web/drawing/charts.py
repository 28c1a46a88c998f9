"""Curves as SVG paths, and the tables behind them. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from queuepool.web.drawing import words
from queuepool.web.live.history import buckets

WIDTH, HEIGHT = 300, 100
_ROWS = 20  # of the table


@dataclass(frozen=True, slots=True)
class Line:
    """One curve. style: a class of the style sheet; filled: the area below it is tinted."""

    name: str
    column: str
    style: str
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A curve as it is drawn. area: empty unless it is filled; now: its newest value."""

    line: Line
    path: str
    area: str
    now: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over the last minutes. rows: of the table behind: time ago, and a value per curve."""

    id: str
    title: str
    unit: str
    top: str
    span: str
    lines: tuple[Drawn, ...]
    rows: tuple[tuple[str, ...], ...]

    def patch(self) -> dict[str, str]:
        """Return what an update changes, by the ids of elements."""
        found = {f"{self.id}-top": self.top}
        for n, drawn in enumerate(self.lines):
            found[f"{self.id}-{n}@d"] = drawn.path
            found[f"{self.id}-{n}n"] = drawn.now
            if drawn.area:
                found[f"{self.id}-{n}a@d"] = drawn.area
        return found


def chart(
    id: str,
    title: str,
    lines: Sequence[Line],
    past: Mapping[str, Sequence[float]],
    *,
    end_s: float,
    step_s: float,
    points: int,
    unit: str = "",
    shown: Callable[[float], str] = words.short,
) -> Chart:
    """Return the chart of some columns of the past until `end_s`, by the clock of the column at."""
    series = [
        buckets(past["at"], past[line.column], end_s=end_s, step_s=step_s, count=points)
        for line in lines
    ]
    top = nice(max((v for values in series for v in values if v is not None), default=0.0))
    drawn = []
    for line, values in zip(lines, series, strict=True):
        path, area = curve(values, top, closed=line.filled)
        latest = next((v for v in reversed(values) if v is not None), 0.0)
        drawn.append(Drawn(line, path, area, shown(latest)))
    return Chart(
        id=id,
        title=title,
        unit=unit,
        top=shown(top),
        span=words.seconds(step_s * points),
        lines=tuple(drawn),
        rows=tuple(_rows(series, step_s, shown)),
    )


def _rows(
    series: Sequence[Sequence[float | None]], step_s: float, shown: Callable[[float], str]
) -> list[tuple[str, ...]]:
    count = len(series[0]) if series else 0
    every = max(1, count // _ROWS)
    found = []
    for place in range(count - 1, -1, -every):
        values = [values[place] for values in series]
        if any(value is not None for value in values):
            ago = words.seconds((count - 1 - place) * step_s)
            found.append((ago, *("" if v is None else shown(v) for v in values)))
    return found


def nice(value: float) -> float:
    """Return a round number not below a value: 1, 2 or 5 times a power of ten."""
    if value <= 1:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(n * size for n in (1, 2, 5, 10) if value <= n * size * 1.0001)


def curve(values: Sequence[float | None], top: float, *, closed: bool = False) -> tuple[str, str]:
    """Return the path of a curve, and that of the area below it if asked for.

    Relative coordinates, as they are shorter: an update has many.
    """
    step = WIDTH / max(len(values) - 1, 1)
    path, area, x, y, is_open, began = "", "", 0, 0, False, 0
    for place, value in enumerate(values):
        if value is None:
            area += _closing(x, began) if is_open and closed else ""
            is_open = False
            continue
        to_x, to_y = round(place * step), HEIGHT - round(HEIGHT * min(value / top, 1.0))
        if is_open:
            piece = f"l{to_x - x}{' ' if to_y >= y else ''}{to_y - y}"
        else:
            piece, began = f"M{to_x} {to_y}", to_x
        path += piece
        area += piece if closed else ""
        x, y, is_open = to_x, to_y, True
    return path, area + (_closing(x, began) if is_open and closed else "")


def _closing(x: int, began: int) -> str:
    return f"V{HEIGHT}H{began}Z" if x != began else ""
