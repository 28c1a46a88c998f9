"""Measure what must not grow, and say which goals are met.

Run: `python -m benchmarks.scale [--only consumer,dead] [--scale 0.1] [--write]`.

`--write` puts the table into docs/performance.md, and what follows from it into docs/scale.md. Rows
are added in benchmarks.scale.measures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from benchmarks.machine import describe_machine
from benchmarks.scale import reach
from benchmarks.scale.measures import MEASURES
from tools.tables import markdown, write


def main(argv: list[str] | None = None) -> int:
    """Measure, print; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("--only", default=",".join(MEASURES), help="measures, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual sizes")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    flags = parser.parse_args(argv)
    unknown = set(flags.only.split(",")) - set(MEASURES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(MEASURES)}")
    rows = []
    for name in flags.only.split(","):
        for row in MEASURES[name](flags.scale):
            print(*row.cells(), sep=" | ", file=sys.stderr, flush=True)
            rows.append(row)
    table = markdown(["what", "measured", "goal", ""], [row.cells() for row in rows])
    print(table)
    if flags.write:
        load = os.getloadavg()[0]
        said = f"Machine: {json.dumps(describe_machine())}; load average at the end: {load:.1f}."
        write("scale", f"{table}\n\n{said}", "performance.md")
        reach.main(["--write"])
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
