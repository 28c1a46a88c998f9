"""Arguments shared by several commands: types of values, options, actions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from queuepool.cli.exits import Exit
from queuepool.errors.escaping import shown
from queuepool.models.durations import parse_duration
from queuepool.models.moments import parse_moment
from queuepool.models.places import DEFAULT_POOL, is_pool

Run = Callable[[argparse.Namespace], Exit]

_RATE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(?:/(s|min|h))?")
_LONGEST_NUMBER = 18  # digits
_MOST = 2**62
_LONGEST_S = 36_500 * 86400  # a thread cannot wait longer than 292 years


class Actions:
    """The actions of a command with several, such as `dead list` and `dead replay`."""

    def __init__(self, parser: argparse.ArgumentParser, *, required: bool = True) -> None:
        self._parsers = parser.add_subparsers(metavar="ACTION", required=required)

    def add(self, name: str, run: Run, what: str) -> argparse.ArgumentParser:
        """Return the parser of a new action. what: its line of help."""
        parser: argparse.ArgumentParser = self._parsers.add_parser(
            name,
            help=what,
            description=sentence(what),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(run=run)
        return parser


def sentence(text: str) -> str:
    """Return a line of help as the opening sentence of its command's help."""
    return f"{text[0].upper()}{text[1:]}."


def add_json(parser: argparse.ArgumentParser, what: str = "print JSON for scripts") -> None:
    """Add --json, which prints output for scripts."""
    parser.add_argument("--json", action="store_true", help=what)


def add_grpc(parser: argparse.ArgumentParser) -> None:
    """Add --grpc, which names the coordinator to ask."""
    parser.add_argument(
        "--grpc",
        metavar="HOST:PORT",
        help="the coordinator (default: QUEUEPOOL_GRPC); without one, the servers are used "
        "directly",
    )


@dataclass(frozen=True, slots=True)
class Logged:
    """An action that is recorded in the log. what: in its command's words.

    shows: the arguments that say on what; --name, or --name:attribute, are shown with their names,
    =word is shown as it is. only: it acts with one of these arguments; unless: without this one.
    """

    what: str
    shows: tuple[str, ...]
    only: str = ""
    unless: str = ""


def add_reason(
    parser: argparse.ArgumentParser, what: str, shows: str = "", *, only: str = "", unless: str = ""
) -> None:
    """Add --reason, and record what the command does in the log; see Logged."""
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="reason, recorded in the log (`queuepool log`)"
    )
    parser.set_defaults(logged=Logged(what, tuple(shows.split()), only, unless))


def positive(text: str) -> int:
    """Return a typed whole number of at least 1."""
    number = count(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def count(text: str) -> int:
    """Return a typed whole number of at least 0."""
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number") from None
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    if number > _MOST:
        raise argparse.ArgumentTypeError(f"must be at most {_MOST:,}")
    return number


def place(text: str) -> tuple[int, str]:
    """Return the number and the pool of a typed partition: 3, or 3/video."""
    number, slash, pool = text.partition("/")
    if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is not a partition: use a number, such as 3, or 3/video for a pool"
        )
    if slash and not is_pool(pool):
        raise argparse.ArgumentTypeError(f"{shown(pool)} is not the name of a pool")
    return int(number), pool or DEFAULT_POOL


def pool_name(text: str) -> str:
    """Return the typed name of a pool of workers."""
    if not is_pool(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not the name of a pool")
    return text


def words(text: str) -> str:
    """Return a typed text that is not empty, as that of a shell variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def duration(text: str) -> float:
    """Return the seconds of a typed duration, such as 90s or 5m."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds > _LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be at most {_LONGEST_S // 86400}d")
    return seconds


def moment(text: str) -> datetime:
    """Return a typed moment in the past, such as 02:10, or 10m for ten minutes ago."""
    try:
        return parse_moment(text, datetime.now(UTC))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def rate(text: str) -> float:
    """Return jobs a second of a typed rate, such as 50/s or 100/min."""
    match = _RATE.fullmatch(text)
    found = float(match[1]) / {"s": 1, "min": 60, "h": 3600}[match[2] or "s"] if match else 0.0
    if found <= 0:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a rate: use 50/s, 100/min or 500/h")
    return found
