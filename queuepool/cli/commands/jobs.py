"""queuepool jobs: the jobs that run."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import Actions, add_json, count, positive
from queuepool.cli.commands.job import describe_job
from queuepool.cli.display import output
from queuepool.cli.display.finding import RUNNING, draw, running_cells
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.pools import open_pool


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool jobs`."""
    actions = Actions(parser)
    running = actions.add("running", run_running, "show running jobs, the longest-running first")
    running.add_argument("--partition", type=count, metavar="N")
    running.add_argument("--limit", type=positive, default=50, help="default 50")
    add_json(running)


def run_running(arguments: argparse.Namespace) -> Exit:
    """Show the jobs that run."""
    most = arguments.limit
    with open_pool() as pool:
        found = pool.inspect.running(partition=arguments.partition, most=most + 1)
    if arguments.json:
        for one in found[:most]:
            known = {"age_s": one.age_s, "usual_s": one.usual_s, "slow": one.slow}
            output.print_json(describe_job(one.job) | known)
        return Exit.OK
    if not found:
        output.say("no job runs")
        return Exit.OK
    draw(RUNNING, [running_cells(one) for one in found[:most]])
    if len(found) > most:
        output.remark(f"there are more; --limit {most * 4} shows more of them")
    return Exit.OK
