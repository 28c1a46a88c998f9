"""queuepool hold: start no more jobs of a group, of a partition, or at all."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import add_json
from queuepool.cli.display import output
from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool

DESCRIPTION = (
    "Start no more jobs of a group, of a partition, or at all, until they are released. Running "
    "jobs continue; enqueued jobs wait, and do not count as backlog."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool hold`."""
    add = parser.add_argument
    add("what", choices=("group", "partition", "all"))
    add("name", nargs="?", metavar="KEY|N", help="the partition key, or the number")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Hold what the arguments name."""
    changed = switch(arguments, on=True)
    return told(arguments, changed, "held", "was held before")


def switch(arguments: argparse.Namespace, *, on: bool) -> int:
    """Hold or release what the arguments name; returns how many groups or partitions changed."""
    what, name = arguments.what, arguments.name
    if (what == "all") == (name is not None):
        raise CommandError(
            "say group and its key, partition and its number, or only all", Exit.USAGE
        )
    if what == "partition" and not (name.isascii() and name.isdigit()):
        raise CommandError(f"{name!r} is not the number of a partition", Exit.USAGE)
    with open_pool() as pool:
        if what == "group":
            group = pool.group(key_of(name))
            return int(group.hold() if on else group.release())
        number = int(name) if what == "partition" else None
        return pool.hold(partition=number) if on else pool.release(partition=number)


def told(arguments: argparse.Namespace, changed: int, done: str, before: str) -> Exit:
    """Print what a switch did."""
    if arguments.json:
        output.print_json({"what": arguments.what, "name": arguments.name, "changed": changed})
        return Exit.OK
    if arguments.what == "all":
        output.say(f"{changed:,} partitions {done}" if changed else "nothing changed")
    else:
        subject = f"{arguments.what} {arguments.name}"
        output.say(f"{subject} is {done} now" if changed else f"{subject} {before}")
    return Exit.OK
