"""queuepool advise: what makes partitions and servers hot, and what to move."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from queuepool.cli.arguments import add_grpc, add_json
from queuepool.cli.display import advice as display
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.pools import none_reached
from queuepool.models.advice import Advised

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

DESCRIPTION = (
    "Say which partition has far more to do than others, which group or slots make it so, which "
    "server is nearly full, and the command that helps, each with its figures. A coordinator "
    "watches for minutes; nothing is changed. See docs/moves.md."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool advise`."""
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Print the advice, and what there is to do; a server that is silent sets the exit code."""
    advised = act(arguments.grpc, _asked, _without)
    if arguments.json:
        output.print_json(display.describe(advised))
    else:
        display.show(advised)
    return Exit.UNAVAILABLE if advised.loads.silent else Exit.OK


def _without() -> Advised:
    raise none_reached("advice needs a coordinator, which watches the queue for minutes")


def _asked(client: QueuePoolClient) -> Advised:
    import grpc

    from queuepool.rpc.advice import advised_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    try:
        return advised_of(client.Advise(api.AdviseRequest()))
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            raise CommandError(
                "this coordinator is of an earlier release, which gives no advice: upgrade it"
            ) from None
        raise
