"""queuepool move: have partitions on another server, or slots in another partition."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress

from queuepool.cli.arguments import add_json, add_reason, count
from queuepool.cli.commands.moves import follow, tell
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.moving import Line, Moves
from queuepool.cli.inspection.pools import open_pool
from queuepool.errors import ConfigurationError
from queuepool.models.places import new_place
from queuepool.routing.progress import Facts
from queuepool.routing.ranges import read_slots
from queuepool.routing.slots import SLOTS

DESCRIPTION = (
    "Move partitions to another server, or slots to another partition, with their jobs and without "
    "downtime. Every process of the queue needs that server in its QUEUEPOOL_SERVERS first. "
    "`queuepool advise` shows which slots make a partition hot. See docs/moves.md."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool move`."""
    parser.add_argument(
        "partitions",
        type=numbers,
        nargs="?",
        metavar="PARTITION",
        help="a partition, such as 3, or several: 3,7",
    )
    parser.add_argument("--to", metavar="SERVER", help="a server named in QUEUEPOOL_SERVERS")
    parser.add_argument(
        "--slot",
        type=slots,
        metavar="SLOT",
        help="instead of partitions: 17, or several: 17,99,120-135",
    )
    parser.add_argument(
        "--to-partition", type=count, metavar="PARTITION", help="destination of these slots"
    )
    parser.add_argument("--wait", action="store_true", help="wait until the move has ended")
    add_reason(parser, "move", "partitions --to --slot --to-partition")
    add_json(parser)
    parser.set_defaults(run=run)


def numbers(text: str) -> list[int]:
    """Return typed numbers of partitions, such as 3,7."""
    return [count(part) for part in text.split(",")]


def slots(text: str) -> list[int]:
    """Return typed slots, such as 17,99,120-135. Raises argparse.ArgumentTypeError."""
    found = set[int]()
    for part in text.split(","):
        some = frozenset[int]()
        with suppress(ConfigurationError):
            some = read_slots(part)
        if not some:  # such as 8-5
            raise argparse.ArgumentTypeError(
                f"{part[:40]!r}: use numbers from 0 to {SLOTS - 1}, or ranges: 17,99,120-135"
            )
        found |= some
    return sorted(found)


def run(arguments: argparse.Namespace) -> Exit:
    """Ask for a move, and tell how it began, or how it ended."""
    with open_pool() as pool:
        moves = Moves(pool)
        facts = _asked(moves, arguments)
        if arguments.wait:
            begins(arguments)  # it is asked for, and may take hours
            facts = follow(moves, None if arguments.json else output.say)
        tell(arguments, facts)
        if facts.under_way is not None and not arguments.json:
            _remark(arguments.partitions or (), moves.lines(facts))
        return Exit.OK


def _asked(moves: Moves, arguments: argparse.Namespace) -> Facts:
    """Ask for the move that was typed. Raises CommandError."""
    partitions, server, slots = arguments.partitions, arguments.to, arguments.slot
    given = (partitions is not None, server is not None)
    of_slots = (slots is not None, arguments.to_partition is not None)
    if all(given) and not any(of_slots):
        return moves.move_to(partitions, server)
    if all(of_slots) and not any(given):
        return moves.move_slots(slots, arguments.to_partition)
    raise CommandError(
        "type which partitions go to which server (`queuepool move 3 --to big`), or which slots to "
        "which partition (`queuepool move --slot 17 --to-partition 5`)",
        Exit.USAGE,
    )


def _remark(partitions: Sequence[int], lines: Sequence[Line]) -> None:
    places = set(map(new_place, partitions))
    owners = {line.number: line.state.owner for line in lines if line.state is not None}
    if any(owner is None or owner.lease_ms <= 0 for n, owner in owners.items() if n in places):
        output.remark(
            "no consumer owns the new place yet, so jobs there wait: a standby or idle consumer "
            "with CONSUMER_PARTITION=auto takes it within ten seconds; without one, they wait "
            "until the move ends"
        )
    output.say("`queuepool moves watch` follows it, `queuepool moves abort` reverts it")
