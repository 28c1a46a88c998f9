"""queuepool decisions: the scaling decisions of all partitions or of one."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import add_grpc, add_json, count, pool_name, positive
from queuepool.cli.display import output
from queuepool.cli.display.fields import when
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.decisions import Shown, listed_by, listed_from
from queuepool.cli.inspection.pools import check_known, open_pool
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.routing.topology import MAX_PARTITIONS

_LONGEST = 500  # characters of a line


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool decisions`."""
    parser.add_argument("--partition", type=count, metavar="N", help="only this partition")
    parser.add_argument(
        "--pool", type=pool_name, metavar="NAME", help="a worker pool other than the default one"
    )
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="default 20")
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """List decisions."""
    number, limit, name = arguments.partition, arguments.limit, arguments.pool or DEFAULT_POOL
    if number is not None and number >= MAX_PARTITIONS:
        raise CommandError(f"there is no partition {number}", Exit.USAGE)

    def directly() -> list[Shown]:
        with open_pool() as pool:
            if number is not None:
                pool.config.topology.server_of(number)  # raises for one that is not there
            if name != DEFAULT_POOL:
                check_known(pool, name)
            return listed_from(pool, number, limit, name)

    found = act(arguments.grpc, lambda client: listed_by(client, number, limit, name), directly)
    if arguments.json:
        for decision in found:
            output.print_json(decision)
        return Exit.OK
    if not found:
        output.say("no decisions have been recorded")
    for one in found:
        change = f"{one['previous']} -> {one['target']}"
        place = place_text(one["partition"], name)
        line = f"{when(one['at_ms'])}  partition {place}: {change}  {one['reason']}"
        output.say(output.clean(line, _LONGEST))
    return Exit.OK
