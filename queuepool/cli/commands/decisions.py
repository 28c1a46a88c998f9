"""queuepool decisions: the scaling decisions of all partitions or of one."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import add_grpc, add_json, count, positive
from queuepool.cli.display import output
from queuepool.cli.display.fields import when
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.decisions import Shown, listed_by, listed_from
from queuepool.cli.inspection.pools import open_pool
from queuepool.routing.topology import MAX_PARTITIONS

_LONGEST = 500  # characters of a line


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool decisions`."""
    parser.add_argument("--partition", type=count, metavar="N", help="only of this one")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="default 20")
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """List decisions."""
    number, limit = arguments.partition, arguments.limit
    if number is not None and number >= MAX_PARTITIONS:
        raise CommandError(f"there is no partition {number}", Exit.USAGE)

    def directly() -> list[Shown]:
        with open_pool() as pool:
            if number is not None:
                pool.config.topology.server_of(number)  # raises for one that is not there
            return listed_from(pool, number, limit)

    found = act(arguments.grpc, lambda client: listed_by(client, number, limit), directly)
    if arguments.json:
        for decision in found:
            output.print_json(decision)
        return Exit.OK
    if not found:
        output.say("no decisions are recorded")
    for one in found:
        change = f"{one['previous']} -> {one['target']}"
        line = f"{when(one['at_ms'])}  partition {one['partition']}: {change}  {one['reason']}"
        output.say(output.clean(line, _LONGEST))
    return Exit.OK
