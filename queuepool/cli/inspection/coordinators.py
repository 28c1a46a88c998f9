"""Which coordinator to ask, and how: its address, its token, and what its refusals mean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.settings.endpoints import Endpoint, files_for_tls

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

_LONGEST = 2000  # characters of a refusal: its remedy comes last


def connect(endpoint: Endpoint) -> QueuePoolClient:
    """Return a client, with its files from QUEUEPOOL_GRPC_CA, _CERT and _KEY."""
    # grpc's own log lines would clutter our single, clearer line.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from queuepool.rpc import client

    authority, cert, key = files_for_tls()
    return client.connect(endpoint.address, endpoint.token, authority, tls_cert=cert, tls_key=key)


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn a failed call into a CommandError that names the remedy."""
    import grpc

    try:
        yield
    except grpc.RpcError as error:
        code, details = error.code(), output.clean(error.details() or "", _LONGEST)
        away = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        if away:
            raise CommandError(
                f"no coordinator responds at {address}. Start one (`queuepool up` or `queuepool "
                "coordinator`), or set another address with --grpc or QUEUEPOOL_GRPC",
                Exit.UNAVAILABLE,
            ) from error
        if code is grpc.StatusCode.UNAUTHENTICATED:
            details += (
                "; set QUEUEPOOL_GRPC_TOKEN, and give the address with --grpc or "
                "QUEUEPOOL_GRPC: the token is never sent to an address from a state file"
            )
        wrong = code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
        raise CommandError(
            f"the coordinator at {address} refused: {details}", Exit.USAGE if wrong else Exit.FAILED
        ) from error
