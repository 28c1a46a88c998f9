"""Which coordinator to ask: its address, and the token that is meant only for it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field

from queuepool.errors import ConfigurationError
from queuepool.settings import local_cluster as local


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


def files_for_tls() -> tuple[str | None, str | None, str | None]:
    """Return the files for connections to coordinators: authority, certificate, key."""
    authority, cert, key = (
        os.environ.get(f"QUEUEPOOL_GRPC_{name}") or None for name in ("CA", "CERT", "KEY")
    )
    return authority, cert, key
