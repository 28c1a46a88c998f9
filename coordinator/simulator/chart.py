"""Runs as a picture: workers and backlog over time, as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from coordinator.simulator.engine import Run

_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf")
_WIDTH, _LEFT, _PLOT = 960, 64, 880
_WORKERS, _BACKLOG = (40, 240), (330, 160)  # top, height
_POINTS = 440


def draw(title: str, runs: Sequence[tuple[str, Run]]) -> str:
    """Return a picture of runs of one scenario: workers above, backlog below."""
    until_s = runs[0][1].scenario.until_s
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 540" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="540" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="15">{escape(title)}</text>',
        *_legend([name for name, _ in runs]),
    ]
    for label, (top, height), name in (
        ("workers", _WORKERS, "workers"),
        ("backlog", _BACKLOG, "backlog"),
    ):
        series = [list(getattr(run.samples, name)) for _, run in runs]
        most = max((max(values, default=0) for values in series), default=0) or 1
        parts += _axes(label, top, height, most, until_s)
        for index, values in enumerate(series):
            points = _points(values, most, top, height)
            colour = _COLOURS[index % len(_COLOURS)]
            parts.append(
                f'<polyline fill="none" stroke="{colour}" stroke-width="1.3" points="{points}"/>'
            )
    return "\n".join([*parts, "</svg>", ""])


def _points(values: Sequence[int], most: int, top: int, height: int) -> str:
    """Return the highest value of each stretch, as points of a line."""
    stretch = max(-(-len(values) // _POINTS), 1)
    highest = [max(values[i : i + stretch]) for i in range(0, len(values), stretch)]
    step = _PLOT / max(len(highest) - 1, 1)
    return " ".join(
        f"{_LEFT + index * step:.1f},{top + height * (1 - value / most):.1f}"
        for index, value in enumerate(highest)
    )


def _axes(label: str, top: int, height: int, most: int, until_s: float) -> list[str]:
    bottom, right = top + height, _LEFT + _PLOT
    return [
        f'<path d="M{_LEFT} {top}V{bottom}H{right}" fill="none" stroke="#888"/>',
        f'<text x="{_LEFT - 6}" y="{top + 10}" text-anchor="end">{most:,}</text>',
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>',
        f'<text x="{_LEFT + 6}" y="{top + 10}" fill="#555">{label}</text>',
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end">{until_s:,.0f} s</text>',
    ]


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for index, name in enumerate(names):
        x, colour = _LEFT + index * 110, _COLOURS[index % len(_COLOURS)]
        parts.append(f'<rect x="{x}" y="522" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20}" y="528">{escape(name)}</text>')
    return parts
