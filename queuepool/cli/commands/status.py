"""queuepool status: every partition, once."""

from __future__ import annotations

import argparse
import threading
from dataclasses import asdict

from queuepool.cli.arguments import add_grpc, add_json
from queuepool.cli.display import output
from queuepool.cli.display.board import Board
from queuepool.cli.display.view import as_json
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.sources import open_source
from queuepool.models import TenantLoad

_RATE_OVER_S = 0.5


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool status`."""
    add_grpc(parser)
    add_json(parser)


def _of_tenant(one: TenantLoad) -> str:
    held = ", held" if one.held_ms else ""
    name = output.clean(one.name)
    return f"tenant {name} {one.ready:,} ({one.running:,} in flight{held})"


def run(arguments: argparse.Namespace) -> Exit:
    """Print the table; an unreadable partition, or jobs that nobody runs, set the exit code."""
    with open_source(arguments.grpc) as source:
        view = source.look()
        if all(row.per_s is None for row in view.rows):
            threading.Event().wait(_RATE_OVER_S)  # a rate needs two observations
            view = source.look()
        tenants = source.tenants()
    if arguments.json:
        output.print_json(as_json(view) | {"tenants": [asdict(one) for one in tenants]})
    else:
        console = output.console()
        console.print(Board().draw(view, sparks=False, width=console.width))
        if tenants:
            output.say("most ready jobs: " + "; ".join(map(_of_tenant, tenants)))
    if any(row.problem for row in view.rows):
        return Exit.UNAVAILABLE
    # Without a coordinator all jobs still run; those of a partition without an owner do not. An
    # idle one needs none, as long as a consumer is there that will come when it has work.
    is_run = any(row.owned for row in view.rows) and not any(row.unattended for row in view.rows)
    return Exit.OK if is_run else Exit.UNATTENDED
