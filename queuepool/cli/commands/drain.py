"""queuepool drain: the consumer that owns a partition ends what it runs, and leaves."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import add_json, add_reason, place
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool

DESCRIPTION = (
    "Ask the consumer that owns a partition to drain, as SIGTERM does: it claims no more, its "
    "running jobs end, a standby takes over at once, and the process exits with 0. Whoever "
    "supervises it decides whether it starts again."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool drain`."""
    parser.add_argument("partition", type=place, metavar="PARTITION", help="3, or 3/video")
    add_reason(parser, "drain", "partition")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Ask the owner of a partition to end."""
    number, name = arguments.partition
    with open_pool() as pool:
        partition = pool.partition(number, name)
        owner = partition.observe().owner
        if owner is None or owner.lease_ms <= 0:
            raise CommandError(
                f"no consumer owns partition {partition.name}: there is none to drain"
            )
        if not partition.drain(owner.epoch):
            raise CommandError(
                f"another consumer took partition {partition.name} meanwhile; nothing was changed"
            )
    arguments.outcome = f"{owner.host} was asked to end"
    if arguments.json:
        output.print_json({"partition": partition.name, "consumer": owner.host, "busy": owner.busy})
        return Exit.OK
    output.say(
        f"{output.clean(owner.host)} drains: its {owner.busy:,} running jobs end, and another "
        "consumer may take over at once; `queuepool status` shows it"
    )
    return Exit.OK
