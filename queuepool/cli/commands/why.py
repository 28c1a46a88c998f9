"""queuepool why: why a partition has its workers, in sentences."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from queuepool.cli.arguments import add_grpc, add_json, place
from queuepool.cli.display import output
from queuepool.cli.display.fields import LOCAL, when
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.decisions import Shown, explained_by, explained_from
from queuepool.cli.inspection.pools import open_pool
from queuepool.models.moments import parse_moment
from queuepool.models.places import place_text
from queuepool.routing.topology import MAX_PARTITIONS

_LONGEST = 1_000  # characters of a sentence
DESCRIPTION = (
    "Explain the worker count of a partition: the last decision about it and the last change "
    "before that, with the observations, what changed the count, what was rejected, and the "
    "outcome."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool why`."""
    parser.add_argument(
        "partition",
        type=place,
        metavar="PARTITION",
        help="a partition: 3, or 3/video for one of its pools",
    )
    parser.add_argument(
        "--at",
        type=_moment,
        metavar="TIME",
        help="a time: 02:10, 2026-11-23T02:10, or 10m for 10 minutes ago",
    )
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Explain the workers of a partition."""
    (number, name), at_ms = arguments.partition, arguments.at
    shown = place_text(number, name)
    if number >= MAX_PARTITIONS:  # a request has no room for any number
        raise CommandError(f"there is no partition {number}", Exit.USAGE)

    def directly() -> list[Shown]:
        with open_pool() as pool:
            pool.config.topology.server_of(number)  # raises for a partition that is not there
            return explained_from(pool, number, at_ms, name)

    found = act(arguments.grpc, lambda client: explained_by(client, number, at_ms, name), directly)
    if not found:
        raise CommandError(
            f"no decision about partition {shown} is recorded"
            + (" before that time" if at_ms is not None else "; is a coordinator running?")
        )
    if arguments.json:
        for decision in found:
            output.print_json(decision)
        return Exit.OK
    for decision in found:
        output.say(f"partition {shown}, {when(decision['at_ms'])}")
        for sentence in decision["sentences"]:
            output.say(f"  {output.clean(sentence, _LONGEST)}")
    return Exit.OK


def _moment(text: str) -> int:
    try:
        return round(parse_moment(text, datetime.now(UTC), LOCAL).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
