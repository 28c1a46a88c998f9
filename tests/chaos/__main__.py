"""Run the faults with real processes, and print the table.

python -m tests.chaos                       all, as often as each one says
python -m tests.chaos --only F1,F7 --runs 20
python -m tests.chaos --quick --runs 1      the small form of `make test`
python -m tests.chaos --write               put the table into docs/reliability.md, too

Exit code 1 when anything was violated; then the files of that run are kept, and named.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from time import monotonic

from tests.chaos.registry import Fault, Row, Trial, chosen, faults, table
from tools import tables


def main() -> int:
    """Run what the command line asks for; returns 0 when nothing was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--only", default="", help="faults by number, separated by commas")
    parser.add_argument("--runs", type=int, help="how often each one runs")
    parser.add_argument("--first", type=int, default=0, help="number of the first run (0)")
    parser.add_argument("--quick", action="store_true", help="the small form")
    parser.add_argument("--write", action="store_true", help="write the table into the docs")
    options = parser.parse_args()
    if options.write and (options.only or options.quick):
        parser.error("--write writes the whole table: leave --only and --quick out")
    rows = []
    for fault in chosen(faults(), options.only):
        runs = range(options.first, options.first + (options.runs or fault.runs))
        rows.append(_repeat(fault, runs, quick=options.quick))
    _say(f"\n{table(rows)}")
    violated = [f"{row.fault.number} {text}" for row in rows for text in row.violations]
    for text in violated:
        _say(f"VIOLATION  {text}")
    if options.write and not violated:
        tables.write("faults", table(rows))
        for row in rows:
            for name, text_of in row.fault.tables.items():
                tables.write(name, text_of(row.results))
    return 1 if violated else 0


def _repeat(fault: Fault, runs: range, *, quick: bool) -> Row:
    results = []
    for number in runs:
        directory = Path(tempfile.mkdtemp(prefix=f"queuepool-{fault.number}-{number}-"))
        began_s = monotonic()
        result = fault.run(Trial(number, quick, directory))
        results.append(result)
        told = "; ".join(result.verdict.violations) or "nothing violated"
        _say(f"{fault.number} run {number}: {monotonic() - began_s:.1f} s, {told}")
        if result.verdict.violations:
            _say(f"  its files are in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    return Row(fault, results)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
