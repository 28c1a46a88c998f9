"""queuepool audit: search for inconsistencies that should be impossible."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from queuepool.cli.arguments import add_json, add_reason, count
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.pools import open_pool


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool audit`."""
    parser.add_argument("--partition", type=count, metavar="N", help="default: all")
    parser.add_argument("--repair", action="store_true", help="and fix it")
    add_reason(parser, "audit", "--partition --repair", only="repair")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Check whole partitions for inconsistencies."""
    with open_pool() as pool:
        one = arguments.partition
        chosen = pool.places(one)
        begins(arguments)
        reports = {p: p.audit(repair=arguments.repair) for p in chosen}
    unclean = sum(not report.clean for report in reports.values())
    if arguments.json:
        output.print_json(
            [
                {"partition": p.number, "pool": p.pool, **asdict(r), "clean": r.clean}
                for p, r in reports.items()
            ]
        )
    else:
        for place, report in reports.items():
            found = ", ".join(
                f"{count:,} {name}" for name, count in asdict(report).items() if count
            )
            output.say(f"partition {place.name}: {found or 'clean'}")
    if unclean and arguments.repair:
        output.remark("fixed what could be fixed; run the command again to verify")
    elif unclean:
        raise CommandError(
            f"{unclean} partitions are not clean; `queuepool audit --repair` fixes what it can. "
            "Please report how it happened."
        )
    return Exit.OK
