"""Charts of figures that depend on a size: one line a family, the size on a logarithmic axis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

Curves = dict[str, dict[str, list[tuple[float, float]]]]


def curves(figures: Mapping[str, Sequence[float]]) -> Curves:
    """Return medians by what they depend on: {"depth": {"claim_us": [(1000, 5.1), ...]}}."""
    found: Curves = {}
    for name, values in figures.items():
        parts = re.fullmatch(r"(\w+)\[(\w+)=([\d.]+)\]", name)
        if parts:
            family = found.setdefault(parts[2], {}).setdefault(parts[1], [])
            family.append((float(parts[3]), median(values)))
    return found


def draw(figures: Mapping[str, Sequence[float]], folder: Path) -> list[Path]:
    """Write a picture for each size there is; nothing where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for size, families in curves(figures).items():
        figure, axis = pyplot.subplots(figsize=(7, 4))
        for name, points in families.items():
            axis.plot([x for x, _ in points], [y for _, y in points], marker="o", label=name)
        axis.set_xlabel(size)
        if size != "load":
            axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.legend()
        figure.tight_layout()
        drawn.append(folder / f"{size}.png")
        figure.savefig(drawn[-1], dpi=120)
        pyplot.close(figure)
    return drawn
