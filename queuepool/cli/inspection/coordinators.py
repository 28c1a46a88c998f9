"""Which coordinator to ask, and how: its address, its token, and what its refusals mean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.errors import ConfigurationError
from queuepool.settings import local_cluster as local

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A coordinator: its HOST:PORT, and the token that is meant only for it."""

    address: str
    token: str | None = field(repr=False)


def find_coordinator(given: str | None) -> Endpoint | None:
    """Return the coordinator: the given one, that of QUEUEPOOL_GRPC, or of the local cluster.

    The local cluster is ignored if QUEUEPOOL_URL or _SERVERS name another one. The token of
    QUEUEPOOL_GRPC_TOKEN goes only to an address that the user named: the state file has its own.
    """
    address = given or os.environ.get("QUEUEPOOL_GRPC")
    if not address:
        if os.environ.get("QUEUEPOOL_URL") or os.environ.get("QUEUEPOOL_SERVERS"):
            return None
        return _here(local.read())
    here = None
    with suppress(ConfigurationError):  # of a different cluster than the named one
        here = _here(local.read())
    if here is not None and here.address == address:
        return here
    return Endpoint(address, os.environ.get("QUEUEPOOL_GRPC_TOKEN") or None)


def _here(cluster: local.LocalCluster | None) -> Endpoint | None:
    if cluster is None or not cluster.grpc_address:
        return None
    return Endpoint(cluster.grpc_address, cluster.grpc_token)


def connect(endpoint: Endpoint) -> QueuePoolClient:
    """Return a client, with its files from QUEUEPOOL_GRPC_CA, _CERT and _KEY."""
    # grpc's own log lines would clutter our single, clearer line.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from queuepool.rpc import client

    authority, cert, key = (
        os.environ.get(f"QUEUEPOOL_GRPC_{name}") or None for name in ("CA", "CERT", "KEY")
    )
    return client.connect(endpoint.address, endpoint.token, authority, tls_cert=cert, tls_key=key)


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn a failed call into a CommandError that names the remedy."""
    import grpc

    try:
        yield
    except grpc.RpcError as error:
        code, details = error.code(), output.clean(error.details() or "")
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
