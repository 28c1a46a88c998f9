"""queuepool shadow: run a policy beside the live one, and see how it compares."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from queuepool.cli.arguments import add_grpc, add_json, add_reason, duration, pool_name
from queuepool.cli.commands.policy import change
from queuepool.cli.display import output
from queuepool.cli.display.fields import when
from queuepool.cli.display.shadows import compared
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.coordinators import connect, translated
from queuepool.cli.inspection.pools import none_reached
from queuepool.models.places import DEFAULT_POOL
from queuepool.settings.endpoints import find_coordinator

_RULES = "coordinator.core.overlays.shadowing"  # by its name: the library imports no coordinator
DESCRIPTION = """\
Run a policy beside the live one without changing anything, and compare cost and waits. Without a
name, show the comparison so far. See docs/scaling.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool shadow`."""
    add = parser.add_argument
    add(
        "policy", nargs="?", metavar="POLICY", help="the candidate; without it, show the comparison"
    )
    add("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of the candidate; may be repeated")  # fmt: skip
    add("--for", dest="duration", type=duration, default=3600.0, metavar="TIME", help="default 1h")
    add("--stop", action="store_true", help="stop the shadow; its figures stay")
    add("--pool", type=pool_name, metavar="NAME", help="a worker pool other than the default one")
    shows = "policy --set:settings --for:duration --pool --stop"
    add_reason(parser, "shadow", shows, only="policy stop")
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Start, stop or show a shadow."""
    if arguments.policy is None and not arguments.stop:
        return _show(arguments)
    if arguments.policy is not None and arguments.stop:
        raise CommandError("give a policy or --stop", Exit.USAGE)
    value = "" if arguments.stop else _value(arguments)
    _, after = change(
        arguments.grpc, {"shadow": value}, reason=arguments.reason, pool=arguments.pool
    )
    if arguments.json:
        output.print_json({"shadow": after.values.get("shadow", ""), "version": after.version})
    elif arguments.stop:
        output.say("no shadow runs")
    else:
        of = "" if arguments.pool is None else f" --pool {arguments.pool}"
        told = f"shadow: {value}; `queuepool shadow{of}` shows how it compares"
        output.say(output.clean(told, 500))
    return Exit.OK


def _value(arguments: argparse.Namespace) -> str:
    settings: dict[str, str] = {}
    for word in arguments.settings:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise CommandError(f"--set {output.clean(word)}: write NAME=VALUE", Exit.USAGE)
        settings[name] = text
    try:
        made: str = import_module(_RULES).candidate_text(
            arguments.policy, settings, datetime.now(UTC), arguments.duration
        )
    except ValueError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    return made


def _show(arguments: argparse.Namespace) -> Exit:
    found = _asked(arguments.grpc, arguments.pool)
    if arguments.json:
        output.print_json({"shadow": found})
    elif found is None:
        output.say("no shadow has run since this coordinator leads; `queuepool shadow POLICY`")
    else:
        output.say(output.clean(f"{found['candidate_text']}, since {when(found['since_ms'])}", 500))
        for line in compared(found, output.console().width):
            output.say(line)
        if found["missed"]:
            output.say(f"It was too slow for {found['missed']:,} cycles.")
        if found["problem"]:
            output.say(output.clean(f"It failed and was stopped: {found['problem']}", 500))
    return Exit.OK


def _asked(given: str | None, pool: str | None) -> dict[str, Any] | None:
    from queuepool.rpc.shadows import plain
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    endpoint = find_coordinator(given)
    if endpoint is None:
        raise none_reached(
            "this needs the leading coordinator, which runs the shadow", pool or DEFAULT_POOL
        )
    with connect(endpoint) as client, translated(endpoint.address):
        cluster = client.GetCluster(api.GetClusterRequest(pool=pool or "")).cluster
    if cluster.HasField("shadow"):
        return plain(cluster.shadow)
    if cluster.leader.id and not cluster.leader.is_me:
        raise CommandError(
            f"the coordinator at {endpoint.address} does not lead: ask the leader, "
            f"{output.clean(cluster.leader.address or cluster.leader.id)}"
        )
    return None
