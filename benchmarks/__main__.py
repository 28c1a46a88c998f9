"""Our own benchmark suite: `python -m benchmarks [--only drain,latency] [--runs 3] [--scale 1.0]`.

Prints a table of medians (min to max) and writes every run as JSON. Figures of one sitting on one
machine compare with each other; others do not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median

from benchmarks.machine import describe_machine
from benchmarks.measures import MEASURES


def main(argv: list[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--only", default=",".join(MEASURES), help="measures, separated by commas")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual job counts")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
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
    document = {"machine": describe_machine(), "runs": flags.runs, "figures": raw}
    (flags.out / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    print("| figure | median | min | max |\n|---|---|---|---|")
    for figure, values in raw.items():
        low, mid, high = min(values), median(values), max(values)
        print(f"| {figure} | {mid:,.4g} | {low:,.4g} | {high:,.4g} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
