"""queuepool group: list task groups; show, wait for, cancel or configure one."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from queuepool.cli.arguments import (
    Actions,
    add_grpc,
    add_json,
    add_reason,
    count,
    duration,
    positive,
)
from queuepool.cli.display import groups as loads
from queuepool.cli.display import output
from queuepool.cli.display.fields import print_fields, when
from queuepool.cli.display.finding import draw
from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.messages import group_of_message
from queuepool.cli.inspection.pools import open_pool
from queuepool.client import group as groups
from queuepool.client.grouping import check_limit
from queuepool.client.holding import OWN, check_settings
from queuepool.errors.escaping import typed
from queuepool.models import Eta, GroupStatus, Tier
from queuepool.models.durations import format_duration, range_of
from queuepool.models.groups import MOST_GROUPS, GroupOrder
from queuepool.routing.slots import key_bytes
from queuepool.rpc.acting import reason

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

_SETTINGS = ("max_running", "serial", "weight", "tier")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool group`."""
    actions = Actions(parser)
    listing = actions.add("list", list_groups, "show the largest or the oldest groups")
    listing.add_argument(
        "--order", choices=[str(one) for one in GroupOrder], default="size",
        help="size: most jobs left first (default); age: created first",
    )  # fmt: skip
    listing.add_argument(
        "--limit", type=positive, default=20, help="number of groups to show (default 20)"
    )
    listing.add_argument("--partition", type=count, metavar="N")
    listing.add_argument("--pool", metavar="NAME", help="only this worker pool")
    add_json(listing)
    showing = actions.add("show", show, "show a group")
    waiting = actions.add("wait", wait, "wait until a group has ended")
    cancelling = actions.add("cancel", cancel, "cancel a group")
    configuring = actions.add("configure", configure, "change the settings of a group")
    for action in (showing, waiting, cancelling, configuring):
        action.add_argument("key", metavar="KEY", help="the partition key")
        action.add_argument("--tenant", metavar="NAME", help="the tenant, if it has one")
    showing.add_argument(
        "--watch", type=duration, default=0.7, metavar="TIME",
        help="observe the group for this long to estimate its end; default 0.7s",
    )  # fmt: skip
    _add_settings(configuring)
    add_reason(cancelling, "group cancel", "=group key --tenant")
    waiting.add_argument("--timeout", type=duration, metavar="TIME")
    for action in (showing, waiting, cancelling, configuring):
        add_json(action)


def _add_settings(configuring: argparse.ArgumentParser) -> None:
    configuring.add_argument(
        "--max-running", type=count, metavar="N", help="maximum running jobs; 0: unlimited"
    )
    configuring.add_argument(
        "--serial", action=argparse.BooleanOptionalAction, help="one job at a time, in order"
    )
    configuring.add_argument(
        "--weight", type=count, metavar="N", help="turns per turn of other groups, 1 to 100"
    )
    tiers = [*(tier.name.lower() for tier in Tier), OWN]
    configuring.add_argument(
        "--tier", choices=tiers, help=f"the tier whose turns its jobs have; {OWN}: each its own"
    )
    configuring.add_argument(
        "--create",
        action="store_true",
        help="allow groups without jobs; idle settings are kept for 32 days",
    )
    add_reason(
        configuring,
        "group configure",
        "=group key --tenant --max-running --serial --weight --tier --create",
    )
    add_grpc(configuring)


def list_groups(arguments: argparse.Namespace) -> Exit:
    """Show the largest or the oldest groups of all partitions."""
    limit = check_limit(arguments.limit)
    with open_pool() as pool:
        found = pool.inspect.groups(
            order=arguments.order,
            limit=min(limit + 1, MOST_GROUPS),
            partition=arguments.partition,
            pool=arguments.pool,
        )
    if arguments.json:
        for one in found[:limit]:
            output.print_json(loads.describe(one))
        return Exit.OK
    if not found:
        output.say("no group has jobs left")
        return Exit.OK
    draw(loads.COLUMNS, [loads.cells(one) for one in found[:limit]])
    if len(found) > limit:
        output.remark(f"there are more; --limit {min(limit * 4, MOST_GROUPS)} shows more of them")
    return Exit.OK


def show(arguments: argparse.Namespace) -> Exit:
    """Show the totals of a task group."""
    with open_pool() as pool:
        group = pool.group(key_of(arguments.key), tenant=arguments.tenant)
        eta = group.eta(over_s=arguments.watch)
        print_group(group.status(), arguments, eta=eta)
    return Exit.OK


def wait(arguments: argparse.Namespace) -> Exit:
    """Wait until every job of a group has ended."""
    with open_pool() as pool:
        show = False if arguments.json else None
        status = pool.group(key_of(arguments.key), tenant=arguments.tenant).wait(
            timeout_s=arguments.timeout, show=show
        )
    print_group(status, arguments)
    return Exit.DIED if status.died else Exit.OK


def cancel(arguments: argparse.Namespace) -> Exit:
    """Cancel the current jobs of a group."""
    with open_pool() as pool:
        group = pool.group(key_of(arguments.key), tenant=arguments.tenant)
        begins(arguments)
        begun_s = time.monotonic()
        cancelled, asked = group.cancel()
        if not cancelled + asked:  # the key may be misspelt, and its jobs run on
            _check_known(group.status(), arguments)
    done = f"{cancelled:,} cancelled; {asked:,} running ones were asked to stop"
    arguments.outcome = f"{done} in {format_duration(time.monotonic() - begun_s)}"
    if arguments.json:
        output.print_json({"key": arguments.key, "cancelled": cancelled, "asked": asked})
    else:
        output.say(done)
    return Exit.OK


def configure(arguments: argparse.Namespace) -> Exit:
    """Set how many jobs of a group may run at once."""
    settings = {name: getattr(arguments, name) for name in _SETTINGS}
    if all(value is None for value in settings.values()):
        raise CommandError(
            "give --max-running N, --weight N, --tier TIER, --serial or --no-serial", Exit.USAGE
        )
    check_settings(max_running=arguments.max_running, weight=arguments.weight)
    settings["create"] = arguments.create
    if arguments.tenant is not None:  # a coordinator takes keys alone
        changed, status = _configure_directly(arguments, settings)
    else:
        changed, status = act(
            arguments.grpc,
            lambda client: _configure_by_coordinator(arguments, settings, client),
            lambda: _configure_directly(arguments, settings),
        )
    if status is not None:
        print_group(status, arguments)
    else:
        output.say("configured" if changed else "unchanged: it had these settings already")
    return Exit.OK


def _configure_by_coordinator(
    arguments: argparse.Namespace, settings: dict[str, Any], client: QueuePoolClient
) -> tuple[bool, GroupStatus | None]:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    key = key_bytes(key_of(arguments.key))
    request = api.ConfigureGroupRequest(partition_key=key, reason=reason(), **settings)
    changed = client.ConfigureGroup(request).changed
    if not arguments.json:
        return changed, None
    group = client.GetGroup(api.GetGroupRequest(partition_key=key)).group
    return changed, group_of_message(group)


def _configure_directly(
    arguments: argparse.Namespace, settings: dict[str, Any]
) -> tuple[bool, GroupStatus | None]:
    with open_pool() as pool:
        group = pool.group(key_of(arguments.key), tenant=arguments.tenant)
        changed = group.configure(**settings)
        return changed, group.status() if arguments.json else None


def print_group(
    status: GroupStatus, arguments: argparse.Namespace, *, eta: Eta | None = None
) -> None:
    """Print the totals of a group. Raises CommandError when it has none."""
    _check_known(status, arguments)
    plain = {"key": arguments.key} | groups.describe(status)
    if arguments.json:
        output.print_json(plain | ({} if eta is None else {"eta": asdict(eta)}))
    else:
        if not plain.pop("serial") | bool(plain["max_running"]):
            del plain["max_running"]
        elif status.serial:
            plain["max_running"] = "1, serial"
        if status.weight == 1:
            del plain["weight"]
        if status.tier is None:
            del plain["tier"]
        if status.spread == 1:
            del plain["spread"]
        since_ms = plain.pop("held_ms")
        release = f"queuepool release group {typed(arguments.key)}"
        held = {"held": f"since {when(since_ms)}: {release}"} if since_ms else {}
        ends = {"ends": range_of(eta)} if eta is not None and status.left else {}
        print_fields(plain | {"progress": f"{status.progress:.1%}"} | ends | held)


def _check_known(status: GroupStatus, arguments: argparse.Namespace) -> None:
    if status.total == 0 and not status.has_settings:
        raise CommandError(
            f"there are no jobs with the key {arguments.key!r}: they ended some time ago, or "
            "were enqueued under another key"
        )
