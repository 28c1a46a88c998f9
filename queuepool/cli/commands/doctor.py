"""queuepool doctor: one verdict on the whole queue."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from queuepool.cli.arguments import add_grpc, add_json
from queuepool.cli.display import output
from queuepool.cli.display.fields import when
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.pools import open_pool
from queuepool.models.doctor import Finding, Verdict

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

DESCRIPTION = (
    "Diagnose problems of the queue: since when, what they mean, and how to fix them. A "
    "coordinator checks every few seconds and keeps a history; without one, the servers are "
    "inspected once, and checks that need a history are listed as skipped. Exit code 0: no "
    "problems; 1: problems found."
)
_LONGEST = 1000  # characters of a line


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool doctor`."""
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Print the verdict; anything that was found sets the exit code."""
    verdict = act(arguments.grpc, _asked, _looked)
    if arguments.json:
        output.print_json({"well": verdict.well} | asdict(verdict))
    else:
        print_verdict(verdict)
    return Exit.OK if verdict.well else Exit.FAILED


def _looked() -> Verdict:
    with open_pool() as pool:
        return pool.doctor()


def _asked(client: QueuePoolClient) -> Verdict:
    import grpc

    from queuepool.rpc.doctor import verdict_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    try:
        return verdict_of(client.Doctor(api.DoctorRequest()).verdict)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:  # of an earlier release
            return _looked()
        raise


def print_verdict(verdict: Verdict) -> None:
    """Print what was found, the worst first."""
    if verdict.well:
        output.say("no problems found" + ("" if verdict.all_read else " in what could be read"))
    for one in verdict.findings:
        _print_finding(one)
    for why in dict.fromkeys(one.why for one in verdict.unjudged):
        kinds = ", ".join(one.kind for one in verdict.unjudged if one.why == why)
        output.remark(f"skipped, {why}: {kinds}")


def _print_finding(one: Finding) -> None:
    output.say(f"{one.severity:<9} {output.clean(one.subject, _LONGEST)}: {one.kind}")
    since = "since an unknown time" if one.since_ms is None else f"since {when(one.since_ms)}"
    for label, text in (("", one.what), ("", since), ("", one.meaning), ("run: ", one.remedy)):
        output.say(f"          {label}{output.clean(text, _LONGEST)}")
