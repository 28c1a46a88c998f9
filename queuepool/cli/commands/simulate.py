"""queuepool simulate: scaling policies on a recorded or described load, in virtual time.

Needs no server and no coordinator: their simulator is loaded by its name, since the library
imports no coordinator.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from queuepool.cli.arguments import add_json, count, duration, positive
from queuepool.cli.display import output, tables
from queuepool.cli.exits import CommandError, Exit
from queuepool.errors.escaping import shown

_SIMULATOR = "coordinator.simulator.request"
_COLUMNS = (
    tables.Column("load", left=True),
    tables.Column("policy", left=True),
    tables.Column("p50"),
    tables.Column("p99"),
    tables.Column("max", goes=3),
    tables.Column("added p99"),
    tables.Column("x oracle"),
    tables.Column("changes/h", goes=2),
    tables.Column("reversals/h", goes=1),
    tables.Column("left"),
    tables.Column("goal"),
)
_LARGEST_BYTES = 64 * 1024 * 1024

DESCRIPTION = """\
Run scaling policies on a load in virtual time, and compare their waits and costs with the maximum
of workers and with an oracle that knows every job. Needs no server. See docs/simulation.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool simulate`."""
    add = parser.add_argument
    add("--policy", required=True, metavar="NAME", help="the policy")
    add("--compare", default="", metavar="NAMES", help="other policies, separated by commas")
    add("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of the policy; may be repeated")  # fmt: skip
    add("--trace", action="append", default=[], metavar="FILE",
        help="CSV file with one row per time step; the last column is a count")  # fmt: skip
    add("--scenario", action="append", default=[], metavar="FILE", help="TOML file")
    traces = parser.add_argument_group("of traces")
    add = traces.add_argument
    add("--rows", type=positive, default=1_000_000, metavar="N", help="use only the first rows")
    add("--row", type=duration, default=10.0, metavar="TIME", help="duration of a row; default 10s")
    add("--load", type=_share, default=0.2, metavar="SHARE",
        help="mean load as a share of --max; default 0.2")  # fmt: skip
    add(
        "--service",
        type=duration,
        default=0.5,
        metavar="TIME",
        help="mean job duration; default 500ms",
    )
    add(
        "--cv",
        type=_scatter,
        default=1.0,
        metavar="X",
        help="coefficient of variation of job durations; default 1",
    )
    add("--min", type=positive, default=8, metavar="N", help="minimum workers; default 8")
    add("--max", type=positive, default=64, metavar="N", help="maximum workers; default 64")
    add("--reports", type=duration, default=1.0, metavar="TIME",
        help="interval of consumer reports; default 1s; 0s: always current")  # fmt: skip
    add("--seed", type=count, default=0, metavar="N", help="seed of the random arrivals; default 0")
    parser.add_argument("--chart", metavar="FILE", help="write an SVG picture")
    add_json(parser)


def _check_writable(chart: str | None) -> None:
    """Open the file of a chart before the work, which may take minutes. Raises OSError."""
    if chart is not None:
        with Path(chart).open("a", encoding="utf-8"):
            pass


def run(arguments: argparse.Namespace) -> Exit:
    """Simulate, and print a table or one line of JSON."""
    loads = len(arguments.trace) + len(arguments.scenario)
    if not loads:
        raise CommandError("give a load: --trace FILE or --scenario FILE", Exit.USAGE)
    if arguments.chart is not None and loads > 1:
        raise CommandError("--chart draws one load: give one file", Exit.USAGE)
    if arguments.row <= 0 or arguments.service <= 0:
        raise CommandError("--row and --service must be above 0", Exit.USAGE)
    _check_writable(arguments.chart)
    simulator = import_module(_SIMULATOR)
    try:
        results = simulator.answer(_request(simulator, arguments), _read)["results"]
    except ValueError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    if arguments.chart is not None:
        Path(arguments.chart).write_text(results[0]["chart"], encoding="utf-8")
    for result in results:
        del result["chart"]
    if arguments.json:
        output.print_json({"results": results})
    else:
        print_results(results)
    return Exit.OK


def _request(simulator: Any, arguments: argparse.Namespace) -> Any:
    compared = [name.strip() for name in arguments.compare.split(",") if name.strip()]
    return simulator.Request(
        policies=list(dict.fromkeys([arguments.policy, *compared])),
        traces=arguments.trace,
        scenarios=arguments.scenario,
        settings=arguments.settings,
        rows=arguments.rows,
        row_s=arguments.row,
        load=arguments.load,
        service_s=arguments.service,
        cv=arguments.cv,
        min_workers=arguments.min,
        max_workers=arguments.max,
        reports_s=arguments.reports,
        seed=arguments.seed,
        chart=arguments.chart is not None,
    )


def _read(name: str) -> str:
    path = Path(name)
    if path.stat().st_size > _LARGEST_BYTES:
        raise CommandError(f"{name}: larger than {_LARGEST_BYTES >> 20} MiB", Exit.USAGE)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise CommandError(f"{name}:{line}: not UTF-8 text", Exit.USAGE) from error


def print_results(results: list[dict[str, Any]]) -> None:
    """Print the scores of each load."""
    console = output.console()
    rows = [
        [result["scenario"] if not index else "", *_cells(score)]
        for result in results
        for index, score in enumerate(result["scores"])
    ]
    for line in tables.draw(_COLUMNS, rows, console.width):
        console.print(line, soft_wrap=True)


def _cells(score: dict[str, Any]) -> list[str]:
    return [
        score["policy"],
        *(f"{score[name]:,.2f}" for name in ("wait_p50_s", "wait_p99_s", "wait_max_s")),
        f"{score['added_p99_s']:,.2f}",
        f"{score['cost']:.2f}",
        f"{score['changes_per_h']:,.0f}",
        f"{score['reversals_per_h']:,.0f}",
        f"{score['left']:,}",
        "met" if score["meets_goal"] else "missed",
    ]


def _share(text: str) -> float:
    return _number(text, 0.001, 10.0)


def _scatter(text: str) -> float:
    return _number(text, 0.0, 100.0)


def _number(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is not a number from {least:g} to {most:g}"
        )
    return value
