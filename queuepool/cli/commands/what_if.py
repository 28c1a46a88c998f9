"""queuepool what-if: when the present jobs would have ended otherwise."""

from __future__ import annotations

import argparse
import re
import threading

from queuepool.cli.arguments import add_grpc, add_json, count, duration, pool_name, positive
from queuepool.cli.display import output
from queuepool.cli.display.view import ClusterView
from queuepool.cli.display.what_if import Answer, with_most, with_rate
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.cli.inspection.sources import open_source
from queuepool.errors.escaping import shown

_RATE = re.compile(r"([A-Za-z0-9_.:@/-]{1,64})=(\d{1,9}(?:\.\d{1,6})?)/(s|m|h)")
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
DESCRIPTION = """\
Predict when the current jobs will have ended, and when they would with another maximum of
workers or another rate of a limit. Changes nothing. See docs/scaling.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool what-if`."""
    add = parser.add_argument
    add("--max", type=positive, metavar="N", help="maximum workers of each partition")
    add("--limit", type=_rate, metavar="NAME=RATE",
        help="rate of a limit, such as mail=40/s")  # fmt: skip
    add("--partition", type=count, metavar="N", help="only this partition, with all of its pools")
    add("--pool", type=pool_name, metavar="NAME", help="only this worker pool")
    add("--watch", type=duration, default=2.0, metavar="TIME",
        help="observation time without a coordinator; default 2s")  # fmt: skip
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Print when it ends now, and otherwise; an unreadable partition sets the exit code."""
    view = _view(arguments)
    rows = [row for row in view.rows if arguments.partition in (None, row.partition)]
    if not rows:
        raise CommandError(f"there is no partition {arguments.partition}", Exit.USAGE)
    rows = [row for row in rows if arguments.pool in (None, row.pool)]
    if not rows:
        raise CommandError(_nowhere(arguments), Exit.USAGE)
    answers = [with_most(rows, None)]
    if arguments.max is not None:
        answers.append(with_most(rows, arguments.max))
    if arguments.limit is not None:
        name, per_s, text = arguments.limit
        pace, waiting = _limit(name)
        if arguments.partition is not None or arguments.pool is not None:
            waiting = None  # a limit is counted over all of them
        answers.append(with_rate(rows, name, pace, "at the current rate", waiting))
        answers.append(with_rate(rows, name, per_s, f"at {text}", waiting))
    _print(answers, as_json=arguments.json)
    return Exit.UNAVAILABLE if any(row.problem for row in rows) else Exit.OK


def _nowhere(arguments: argparse.Namespace) -> str:
    where = "" if arguments.partition is None else f" in partition {arguments.partition}"
    return f"there is no pool {arguments.pool}{where}: `queuepool status` lists them"


def _view(arguments: argparse.Namespace) -> ClusterView:
    with open_source(arguments.grpc) as source:
        view = source.look()
        if all(row.per_s is None for row in view.rows):
            threading.Event().wait(arguments.watch)  # a pace needs two observations
            view = source.look()
    return view


def _limit(name: str) -> tuple[float | None, int | None]:
    """Return the rate of a limit, and how many jobs wait for it; None for what is unknown."""
    with open_pool() as pool:
        found = pool.limits.get(name)
    if found is None:
        raise CommandError(f"there is no limit {name}: `queuepool limit list` shows all")
    known = found.effective
    pace = None if known is None or found.pace is None else found.pace / known.per_s
    return pace, found.parked if found.parked_known else None


def _print(answers: list[Answer], *, as_json: bool) -> None:
    if as_json:
        output.print_json({"answers": [answer.plain() for answer in answers]})
        return
    for answer in answers:
        output.say(output.clean(answer.line(), 500))


def _rate(text: str) -> tuple[str, float, str]:
    found = _RATE.fullmatch(text)
    if found is None or not float(found[2]):
        raise argparse.ArgumentTypeError(f"{shown(text)}: write NAME=RATE, such as mail=40/s")
    return found[1], float(found[2]) / _UNIT_S[found[3]], f"{found[2]}/{found[3]}"
