"""queuepool move: have partitions, with all their jobs, on another server."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from queuepool.cli.arguments import add_json, add_reason, count
from queuepool.cli.commands.moves import follow, tell
from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.moving import Line, Moves
from queuepool.cli.inspection.pools import open_pool
from queuepool.models.places import new_place

DESCRIPTION = (
    "Move partitions to another server while jobs come and run: the leading coordinator moves "
    "their slots, with their jobs. Every process of the queue needs that server in its "
    "QUEUEPOOL_SERVERS first. See docs/moves.md."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool move`."""
    parser.add_argument(
        "partitions", type=numbers, metavar="PARTITION", help="which: 3, or several: 3,7"
    )
    parser.add_argument(
        "--to", required=True, metavar="SERVER", help="a server, by its name in QUEUEPOOL_SERVERS"
    )
    parser.add_argument("--wait", action="store_true", help="until the move has ended")
    add_reason(parser, "move", "partitions --to")
    add_json(parser)
    parser.set_defaults(run=run)


def numbers(text: str) -> list[int]:
    """Return typed numbers of partitions, such as 3,7."""
    return [count(part) for part in text.split(",")]


def run(arguments: argparse.Namespace) -> Exit:
    """Ask for a move, and tell how it began, or how it ended."""
    with open_pool() as pool:
        moves = Moves(pool)
        facts = moves.move_to(arguments.partitions, arguments.to)
        if arguments.wait:
            facts = follow(moves, None if arguments.json else output.say)
        tell(arguments, facts)
        if facts.under_way is not None and not arguments.json:
            _remark(arguments.partitions, moves.lines(facts))
        return Exit.OK


def _remark(partitions: Sequence[int], lines: Sequence[Line]) -> None:
    places = set(map(new_place, partitions))
    owners = {line.number: line.state.owner for line in lines if line.state is not None}
    if any(owner is None or owner.lease_ms <= 0 for n, owner in owners.items() if n in places):
        output.remark(
            "no consumer has the new place yet, so jobs that are there wait: one with "
            "CONSUMER_PARTITION=auto that stands by, or is idle, takes it within ten seconds; if "
            "there is none, they wait for the end of the move"
        )
    output.say("`queuepool moves watch` follows it, `queuepool moves abort` takes it back")
