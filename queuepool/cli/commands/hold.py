"""queuepool hold: start no more jobs of a group, a task, a pool, a partition, or at all."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from queuepool.cli.arguments import add_grpc, add_json, add_reason, place
from queuepool.cli.display import output
from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.pools import open_pool
from queuepool.errors import InvalidInputError
from queuepool.models.places import check_pool
from queuepool.routing.slots import key_bytes
from queuepool.routing.topology import MAX_PARTITIONS
from queuepool.rpc.acting import reason

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

DESCRIPTION = (
    "Start no more jobs of a group, a task, a partition, a pool, or at all, until they are "
    "released. Running jobs continue; enqueued jobs wait and do not count as backlog."
)


def declare(parser: argparse.ArgumentParser, what: str = "hold") -> None:
    """Add the arguments of `queuepool hold`."""
    add = parser.add_argument
    add_reason(parser, what, "what name --tenant")
    add("what", choices=("group", "task", "partition", "pool", "all"))
    add(
        "name",
        nargs="?",
        metavar="KEY|TASK|N|POOL",
        help="the partition key; the task; the partition (3 or 3/video); or the pool",
    )
    add("--tenant", metavar="NAME", help="tenant of the group, if it has one")
    add_grpc(parser)
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
            "give group and its key, task or pool and its name, partition and its number, or just "
            "all",
            Exit.USAGE,
        )
    if arguments.tenant is not None:  # a coordinator takes keys alone
        if what != "group":
            raise CommandError("--tenant is for groups; see `queuepool tenant hold`", Exit.USAGE)
        return _directly(what, name, arguments.tenant, on=on)
    if what in ("partition", "pool"):
        _place(what, name)
    return act(
        arguments.grpc,
        lambda client: _by_coordinator(client, what, name, on=on),
        lambda: _directly(what, name, None, on=on),
    )


def _by_coordinator(client: QueuePoolClient, what: str, name: str, *, on: bool) -> int:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    named: dict[str, Any] = {"all": True}
    if what == "group":
        named = {"partition_key": key_bytes(key_of(name))}
    elif what == "task":
        named = {"task": name}
    elif what != "all":
        number, pool = _place(what, name)
        named = {"all": True} if number is None else {"partition": number}
        named |= {} if pool is None else {"pool": pool}
    if on:
        return client.Hold(api.HoldRequest(**named, reason=reason())).changed
    return client.Release(api.ReleaseRequest(**named, reason=reason())).changed


def _directly(what: str, name: str, tenant: str | None, *, on: bool) -> int:
    with open_pool() as pool:
        if what == "group":
            group = pool.group(key_of(name), tenant=tenant)
            return int(group.hold() if on else group.release())
        switch = pool.hold if on else pool.release
        if what == "task":
            return switch(task=name)
        number, its = (None, None) if what == "all" else _place(what, name)
        return switch(partition=number, pool=its)


def _place(what: str, name: str) -> tuple[int | None, str | None]:
    """Return the partition and the pool that are meant; None: all."""
    try:
        if what == "pool":
            return None, check_pool(name)
        number, pool = place(name)
        if number >= MAX_PARTITIONS:  # a request has no room for any number
            raise InvalidInputError(f"there is no partition {number}")
        return number, pool if "/" in name else None
    except (argparse.ArgumentTypeError, InvalidInputError) as error:
        raise CommandError(str(error), Exit.USAGE) from None


def told(arguments: argparse.Namespace, changed: int, done: str, before: str) -> Exit:
    """Print what a switch did, and say it for the log."""
    arguments.outcome = f"{changed:,} changed" if changed else "nothing changed"
    if arguments.json:
        output.print_json({"what": arguments.what, "name": arguments.name, "changed": changed})
        return Exit.OK
    if arguments.what == "all":
        output.say(f"{changed:,} partitions {done}" if changed else "nothing changed")
    else:
        subject = f"{arguments.what} {arguments.name}"
        output.say(f"{subject} is {done} now" if changed else f"{subject} {before}")
    return Exit.OK
