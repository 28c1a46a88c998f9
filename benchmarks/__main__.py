"""Our own benchmark suite: `python -m benchmarks [--only drain,latency] [--runs 3] [--scale 1.0]`.

Prints a table of medians (min to max), writes every run as JSON, and draws charts of what depends
on a size. `--write` puts the table into docs/performance.md. Figures of one run on one machine
compare with each other; others do not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median

from benchmarks.charts import draw
from benchmarks.machine import describe_machine
from benchmarks.measures import MEASURES
from tools.tables import markdown, write


def main(argv: list[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--only", default=",".join(MEASURES), help="measures, separated by commas")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual job counts")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    flags = parser.parse_args(argv)
    unknown = set(flags.only.split(",")) - set(MEASURES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(MEASURES)}")
    raw: dict[str, list[float]] = {}
    for name in flags.only.split(","):
        measure, jobs = MEASURES[name]
        for _ in range(flags.runs):
            for figure, value in measure(max(20, int(jobs * flags.scale))).items():
                raw.setdefault(figure, []).append(value)
            print(f"{name} done", file=sys.stderr)
    flags.out.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    document = {"machine": machine, "runs": flags.runs, "scale": flags.scale, "figures": raw}
    (flags.out / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    for path in draw(raw, flags.out):
        print(f"chart: {path.name}", file=sys.stderr)
    table = markdown(["figure", "median", "min", "max"], [_row(*item) for item in raw.items()])
    print(table)
    if flags.write:
        said = f"Runs: {flags.runs}. Machine: {json.dumps(machine)}."
        write("bench", f"{table}\n\n{said}", "performance.md")
    return 0


def _row(figure: str, values: list[float]) -> list[str]:
    return [figure, *(f"{v:,.4g}" for v in (median(values), min(values), max(values)))]


if __name__ == "__main__":
    sys.exit(main())
