"""queuepool tenant: what a tenant has; hold, release or configure it."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict

from queuepool.cli.arguments import Actions, add_json, count
from queuepool.cli.display import output
from queuepool.cli.display.fields import print_fields, when
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.holding import check_settings
from queuepool.client.tenant import Tenant

DESCRIPTION = (
    "Turns go between tenants first, then between the groups of each. Settings hold in each "
    "partition until they are taken back."
)

_TOTALS = ("ready", "running", "groups", "done", "died", "cancelled", "expired")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool tenant`."""
    actions = Actions(parser)
    configuring = actions.add("configure", configure, "say how a tenant may run")
    for action in (
        actions.add("show", show, "show a tenant"),
        configuring,
        actions.add("hold", hold, "start no more jobs of a tenant"),
        actions.add("release", release, "end the hold of a tenant"),
    ):
        action.add_argument("name", metavar="NAME", help="the tenant")
        add_json(action)
    configuring.add_argument(
        "--max-running",
        type=count,
        metavar="N",
        help="jobs at once in each partition; 0: any number",
    )
    configuring.add_argument(
        "--weight", type=count, metavar="N", help="its share of turns, 1 to 100; 1: as others"
    )


def show(arguments: argparse.Namespace) -> Exit:
    """Show what a tenant has, and how it may run."""
    with open_pool() as pool:
        status = pool.tenant(arguments.name).status()
    if arguments.json:
        output.print_json({"tenant": arguments.name} | asdict(status))
        return Exit.OK
    held = {}
    if status.held_ms:
        back = f"queuepool tenant release {shlex.quote(arguments.name)}"
        held = {"held": f"since {when(status.held_ms)}: {back}"}
    fields: dict[str, object] = {"tenant": arguments.name}
    fields |= {name: getattr(status, name) for name in _TOTALS}
    if status.max_running is not None:
        fields["max_running"] = f"{status.max_running:,} in each partition"
    print_fields(fields | {"weight": status.weight} | held)
    return Exit.OK


def configure(arguments: argparse.Namespace) -> Exit:
    """Set how a tenant may run."""
    settings = {name: getattr(arguments, name) for name in ("max_running", "weight")}
    if all(value is None for value in settings.values()):
        raise CommandError("give --max-running N or --weight N", Exit.USAGE)
    check_settings(**settings)
    with open_pool() as pool:
        changed = pool.tenant(arguments.name).configure(**settings)
    return _told(arguments, "configured", changed)


def hold(arguments: argparse.Namespace) -> Exit:
    """Start no more jobs of a tenant."""
    with open_pool() as pool:
        tenant: Tenant = pool.tenant(arguments.name)
        return _told(arguments, "held now", tenant.hold())


def release(arguments: argparse.Namespace) -> Exit:
    """End the hold of a tenant."""
    with open_pool() as pool:
        return _told(arguments, "released now", pool.tenant(arguments.name).release())


def _told(arguments: argparse.Namespace, done: str, changed: bool) -> Exit:
    if arguments.json:
        output.print_json({"tenant": arguments.name, "changed": changed})
    else:
        what = f"tenant {arguments.name} is {done}"
        output.say(what if changed else "it was so before; nothing changed")
    return Exit.OK
