"""queuepool flow: batches of jobs with a continuation, and graphs of steps: list, show, cancel."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from queuepool.cli.arguments import Actions, add_json, add_reason, positive
from queuepool.cli.display import output, tables
from queuepool.cli.display.flows import (
    COLUMNS,
    STEPS,
    cells,
    flow_line,
    step_cells,
    tree_lines,
)
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.batch import Batch
from queuepool.client.flows.listing import listed
from queuepool.client.pool import QueuePool
from queuepool.models.flows import BatchState, BatchTree, FlowStatus

DESCRIPTION = (
    "Batches: jobs with a continuation, which runs when they have ended. Flows: graphs of steps. "
    "`enqueue_many(...).batch` and `enqueue_flow(...)` return their names."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool flow`."""
    actions = Actions(parser)
    listing = actions.add("list", run_list, "list batches and flows, the earliest deadline first")
    showing = actions.add("show", run_show, "show a batch as a tree, or the steps of a flow")
    cancelling = actions.add("cancel", run_cancel, "cancel what has not run yet")
    listing.add_argument(
        "--limit",
        type=positive,
        default=50,
        metavar="N",
        help="maximum number of batches; default 50",
    )
    add_reason(cancelling, "flow cancel", "=batch name")
    for action in (showing, cancelling):
        action.add_argument(
            "name", metavar="BATCH", help="name of a batch or a flow, or the id of the continuation"
        )
    for action in (listing, showing, cancelling):
        add_json(action)


def run_list(arguments: argparse.Namespace) -> Exit:
    """List the batches of all partitions, without the parts of flows."""
    with open_pool() as pool:
        found, more = pool.carry_out(listed(pool.config, arguments.limit))
    if arguments.json:
        for line in found:
            output.print_json(asdict(line))
        return Exit.OK
    if not found:
        output.say("no batches")
        return Exit.OK
    console = output.console()
    rows = [cells(line) for line in found]
    output.print_lines(tables.draw(COLUMNS, rows, console.width), console)
    if more:
        output.say(f"{more:,} more; see --limit")
    return Exit.OK


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show a batch as a tree."""
    with open_pool() as pool:
        batch = _known(pool, arguments.name)
        if batch.status().part:
            return _show_flow(pool.flow(batch.name).status(), arguments.json)
        tree = batch.tree()
    if arguments.json:
        output.print_json(_plain(tree))
        return Exit.OK
    for line in tree_lines(tree):
        output.say(line)
    return Exit.OK


def _show_flow(status: FlowStatus, as_json: bool) -> Exit:
    if as_json:
        output.print_json(asdict(status))
        return Exit.OK
    console = output.console()
    output.say(flow_line(status))
    rows = [step_cells(step) for step in status.steps]
    output.print_lines(tables.draw(STEPS, rows, console.width), console)
    return Exit.OK


def run_cancel(arguments: argparse.Namespace) -> Exit:
    """Cancel a batch."""
    with open_pool() as pool:
        batch = _known(pool, arguments.name)
        begins(arguments)
        jobs = batch.cancel()
        arguments.outcome = f"{jobs:,} jobs were cancelled or asked to stop"
        state = batch.status().state
    if arguments.json:
        output.print_json({"batch": batch.name, "state": state, "jobs": jobs})
        return Exit.OK
    output.say(f"batch {batch.name} is {state}; {arguments.outcome}")
    return Exit.OK


def _known(pool: QueuePool, name: str) -> Batch:
    batch = pool.batch(name)
    if batch.status().state is BatchState.UNKNOWN:
        raise CommandError(
            f"there is no batch {batch.name}: it has expired or never existed", Exit.FAILED
        )
    return batch


def _plain(tree: BatchTree) -> dict[str, object]:
    inner = [_plain(each) for each in tree.inner]
    status = asdict(tree.status) | {"left": tree.status.left, "inner": inner}
    del status["graph"]
    return status
