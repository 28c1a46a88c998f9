"""queuepool faults: an application's handlers under faults, in memory."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from queuepool.cli.arguments import add_json, count, positive
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.process.startup import import_app

DESCRIPTION = """\
Run a scenario once for each fault that a line of its handlers can meet (a kill, a second
delivery, a late cancel, a timeout, a clock that jumps), and print what was lost, done twice, out
of order or not idempotent. Needs no server. See docs/testing.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool faults`."""
    add = parser.add_argument
    add(
        "scenario",
        metavar="MODULE:FUNCTION",
        help="a function that takes a pool and returns one that reads the effects",
    )
    add("--kind", dest="kinds", action="append", default=[], metavar="KIND",
        help="kill, twice, cancel, timeout, forward or back; may be repeated")  # fmt: skip
    add(
        "--most",
        type=positive,
        default=500,
        metavar="N",
        help="maximum number of runs; default 500",
    )
    add("--seed", type=count, default=0, metavar="N", help="seed of the choice if there are more")
    add("--partitions", type=positive, default=1, metavar="N", help="default 1")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Try the faults, and print the ledger; FAILED if they show anything."""
    faults = import_module("queuepool.testing.faults")  # not with each command
    kinds = arguments.kinds or [*faults.FaultKind]
    if unknown := [kind for kind in kinds if kind not in [*faults.FaultKind]]:
        known = ", ".join(faults.FaultKind)
        raise CommandError(f"--kind {unknown[0]!a}: use one of {known}", Exit.USAGE)
    ledger = faults.try_faults(
        _scenario(arguments.scenario),
        kinds=kinds,
        most=arguments.most,
        seed=arguments.seed,
        partitions=arguments.partitions,
    )
    if arguments.json:
        output.print_json(_described(ledger))
    else:
        for line in str(ledger).splitlines():
            output.say(line)
    return Exit.OK if ledger.ok else Exit.FAILED


def _scenario(named: str) -> Any:
    module, _, name = named.partition(":")
    if not module or not name:
        raise CommandError(f"{named!a}: name it as MODULE:FUNCTION", Exit.USAGE)
    import_app(module, given="module ")
    found = getattr(import_module(module), name, None)
    if not callable(found):
        raise CommandError(f"module {module!a} has no function {name!a}", Exit.USAGE)
    return found


def _described(ledger: Any) -> dict[str, Any]:
    findings = [
        {
            "verdict": str(each.verdict),
            "detail": each.detail,
            "fault": str(each.fault.kind),
            "task": each.fault.place.task,
            "line": each.fault.place.line,
            "execution": each.fault.place.execution,
        }
        for each in ledger.findings
    ]
    tried = {str(kind): n for kind, n in ledger.tried.items()}
    return {
        "jobs": ledger.jobs,
        "tried": tried,
        "left_out": ledger.left_out,
        "findings": findings,
    }
