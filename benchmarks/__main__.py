"""Our own benchmark suite: `python -m benchmarks [--only drain,latency] [--runs 3] [--scale 1.0]`.

Prints a table of medians (min to max), writes every run as JSON, and draws charts of what depends
on a size. `--write` puts the tables into docs/performance.md. Figures of one run on one machine
compare with each other; others do not. With `--only`, `--write` writes the tables whose measures
were all named, and leaves the others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks.charts import draw
from benchmarks.machine import describe_machine
from benchmarks.measures import MEASURES, TABLES
from tools.tables import markdown, write


def main(argv: list[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--only", default=",".join(MEASURES), help="measures, separated by commas")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual job counts")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    flags = parser.parse_args(argv)
    names = flags.only.split(",")
    if unknown := set(names) - set(MEASURES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(MEASURES)}")
    whole = [table for table, needed in TABLES.items() if set(needed) <= set(names)]
    if flags.write and not whole:
        needed = "; ".join(f"{table}: {','.join(names)}" for table, names in TABLES.items())
        parser.error(f"--write needs all measures of a table: {needed}")
    by_measure = {name: _measured(name, flags.runs, flags.scale) for name in names}
    raw = {figure: values for one in by_measure.values() for figure, values in one.items()}
    flags.out.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    document = {"machine": machine, "runs": flags.runs, "scale": flags.scale, "figures": raw}
    (flags.out / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    for path in draw(raw, flags.out):
        print(f"chart: {path.name}", file=sys.stderr)
    print(_table(raw))
    for table in whole if flags.write else ():
        figures = {figure: raw[figure] for name in TABLES[table] for figure in by_measure[name]}
        load = f"Load average at the end: {os.getloadavg()[0]:.1f}."
        scale = "" if flags.scale == 1 else f" Scale: {flags.scale:g}."
        said = f"Runs: {flags.runs}.{scale} {load} Machine: {json.dumps(machine)}."
        write(table, f"{_table(figures)}\n\n{said}", "performance.md")
    return 0


def _measured(name: str, runs: int, scale: float) -> dict[str, list[float]]:
    """Run a measure so often; return its figures, each with its values."""
    measure, jobs = MEASURES[name]
    raw: dict[str, list[float]] = {}
    for _ in range(runs):
        for figure, value in measure(max(20, int(jobs * scale))).items():
            raw.setdefault(figure, []).append(value)
        print(f"{name} done", file=sys.stderr)
    return raw


def _table(figures: Mapping[str, list[float]]) -> str:
    return markdown(["figure", "median", "min", "max"], [_row(*item) for item in figures.items()])


def _row(figure: str, values: list[float]) -> list[str]:
    return [figure, *(f"{v:,.4g}" for v in (median(values), min(values), max(values)))]


if __name__ == "__main__":
    sys.exit(main())
