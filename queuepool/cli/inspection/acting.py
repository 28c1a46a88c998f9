"""Who does what an operator asks for: a coordinator over gRPC, or this command on the servers.

The coordinator audits who asked. Without one it works, too: all that is set lies on the servers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.coordinators import connect, translated
from queuepool.settings.endpoints import find_coordinator

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

T = TypeVar("T")


def act(given: str | None, ask: Callable[[QueuePoolClient], T], directly: Callable[[], T]) -> T:
    """Return what a coordinator answers, or what `directly` returns if none is known or responds.

    given: the address that the user named, which must respond.
    """
    endpoint = find_coordinator(given)
    if endpoint is None:
        return directly()
    try:
        with connect(endpoint) as client, translated(endpoint.address):
            return ask(client)
    except CommandError as error:
        if given is not None or error.code is not Exit.UNAVAILABLE:
            raise
    return directly()
