"""queuepool tenant: what a tenant has; hold, release or configure it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from queuepool.cli.arguments import Actions, add_grpc, add_json, add_reason, count
from queuepool.cli.display import output
from queuepool.cli.display.fields import print_fields, when
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.messages import tenant_of_message
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.holding import check_settings
from queuepool.client.tenant import Tenant
from queuepool.errors.escaping import typed
from queuepool.models import TenantStatus
from queuepool.rpc.acting import reason

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

T = TypeVar("T")
DESCRIPTION = (
    "Turns go to tenants first, then to the groups of each. Settings apply per partition until "
    "they are reset."
)

_TOTALS = ("ready", "running", "groups", "done", "died", "cancelled", "expired")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool tenant`."""
    actions = Actions(parser)
    configuring = actions.add("configure", configure, "change the settings of a tenant")
    holding = actions.add("hold", hold, "start no more jobs of a tenant")
    releasing = actions.add("release", release, "end the hold of a tenant")
    add_reason(configuring, "tenant configure", "=tenant name --max-running --weight")
    add_reason(holding, "tenant hold", "=tenant name")
    add_reason(releasing, "tenant release", "=tenant name")
    for action in (actions.add("show", show, "show a tenant"), configuring, holding, releasing):
        action.add_argument("name", metavar="NAME", help="the tenant")
        add_grpc(action)
        add_json(action)
    configuring.add_argument(
        "--max-running",
        type=count,
        metavar="N",
        help="maximum running jobs per partition; 0: unlimited",
    )
    configuring.add_argument(
        "--weight", type=count, metavar="N", help="turns per turn of other tenants, 1 to 100"
    )


def show(arguments: argparse.Namespace) -> Exit:
    """Show what a tenant has, and how it may run."""
    status = act(
        arguments.grpc,
        lambda client: _status_by_coordinator(client, arguments.name),
        lambda: _directly(arguments, lambda tenant: tenant.status()),
    )
    if arguments.json:
        output.print_json({"tenant": arguments.name} | asdict(status))
        return Exit.OK
    held = {}
    if status.held_ms:
        back = f"queuepool tenant release {typed(arguments.name)}"
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
    changed = act(
        arguments.grpc,
        lambda client: _configure_by_coordinator(client, arguments.name, settings),
        lambda: _directly(arguments, lambda tenant: tenant.configure(**settings)),
    )
    return _told(arguments, "configured now", changed)


def hold(arguments: argparse.Namespace) -> Exit:
    """Start no more jobs of a tenant."""
    return _told(arguments, "held now", _switch(arguments, on=True))


def release(arguments: argparse.Namespace) -> Exit:
    """End the hold of a tenant."""
    return _told(arguments, "released now", _switch(arguments, on=False))


def _switch(arguments: argparse.Namespace, *, on: bool) -> bool:
    return act(
        arguments.grpc,
        lambda client: _switch_by_coordinator(client, arguments.name, on=on),
        lambda: _directly(arguments, lambda t: t.hold() if on else t.release()),
    )


def _directly(arguments: argparse.Namespace, ask: Callable[[Tenant], T]) -> T:
    with open_pool() as pool:
        return ask(pool.tenant(arguments.name))


def _status_by_coordinator(client: QueuePoolClient, name: str) -> TenantStatus:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    return tenant_of_message(client.GetTenant(api.GetTenantRequest(tenant=name)).tenant)


def _configure_by_coordinator(client: QueuePoolClient, name: str, settings: dict[str, Any]) -> bool:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.ConfigureTenantRequest(tenant=name, reason=reason(), **settings)
    return client.ConfigureTenant(request).changed


def _switch_by_coordinator(client: QueuePoolClient, name: str, *, on: bool) -> bool:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    if on:
        hold = api.HoldRequest(tenant=name, reason=reason())
        return client.Hold(hold).changed > 0
    release = api.ReleaseRequest(tenant=name, reason=reason())
    return client.Release(release).changed > 0


def _told(arguments: argparse.Namespace, done: str, changed: bool) -> Exit:
    if arguments.json:
        output.print_json({"tenant": arguments.name, "changed": changed})
    else:
        what = f"tenant {arguments.name} is {done}"
        output.say(what if changed else "nothing changed")
    return Exit.OK
