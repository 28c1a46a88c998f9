"""queuepool errors: why jobs fail, errors of one cause together, the commonest first."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import add_json, count, positive
from queuepool.cli.display import output
from queuepool.cli.display.finding import ERRORS, draw, error_cells
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.finding import SAMPLE

DESCRIPTION = (
    "Count the errors of dead and retrying jobs. Errors of one task and type whose messages differ "
    "only in numbers and quoted text share a fingerprint, which `queuepool dead replay "
    "--error` and other commands take."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool errors`."""
    parser.add_argument("--partition", type=count, metavar="N")
    parser.add_argument(
        "--limit", type=positive, default=30, help="number of errors to show (default 30)"
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help=f"read all jobs instead of an even sample of {SAMPLE:,}",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Show why jobs fail."""
    sample = 2**62 if arguments.exact else SAMPLE
    with open_pool() as pool:
        found = pool.inspect.errors(partition=arguments.partition, sample=sample)
    shown = found[: arguments.limit]
    if arguments.json:
        for one in shown:
            output.print_json(one)
        return Exit.OK
    if not found:
        output.say("no dead or retrying jobs")
        return Exit.OK
    draw(ERRORS, [error_cells(one) for one in shown])
    if len(found) > len(shown):
        output.remark(f"there are {len(found) - len(shown):,} more; --limit shows more of them")
    if not all(one.is_exact for one in found):
        output.remark(f"~: estimated from about {SAMPLE:,} jobs; --exact reads all")
    return Exit.OK
