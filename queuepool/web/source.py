"""Where the pages ask: a coordinator over gRPC, and the servers through the library."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.settings.endpoints import Endpoint, files_for_tls, find_coordinator
from queuepool.settings.environment import load_pool_config

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient


class NoCoordinatorError(QueuePoolError):
    """Nobody said where a coordinator is."""

    def __init__(self) -> None:
        super().__init__(
            "no coordinator is known: set QUEUEPOOL_GRPC to its HOST:PORT, or run `queuepool up` "
            "in this directory"
        )


class Source:
    """Connections, opened when they are needed. Safe to share between threads."""

    def __init__(self, pool: QueuePool | None = None, coordinator: str | None = None) -> None:
        self._pool, self._own_pool = pool, pool is None
        self._given = coordinator
        self._client: tuple[Endpoint, QueuePoolClient] | None = None
        self._lock = threading.Lock()

    @property
    def pool(self) -> QueuePool:
        """Return the queue. Raises ConfigurationError."""
        with self._lock:
            if self._pool is None:
                self._pool = QueuePool(config=load_pool_config())
            return self._pool

    def connect(self) -> QueuePoolClient:
        """Return a client of the API of its own, to be closed. Raises NoCoordinatorError."""
        return _connect(self._endpoint())

    @property
    def client(self) -> QueuePoolClient:
        """Return the client that all calls share. Raises NoCoordinatorError."""
        endpoint = self._endpoint()
        with self._lock:
            if self._client is None or self._client[0] != endpoint:
                if self._client is not None:
                    self._client[1].close()
                self._client = (endpoint, _connect(endpoint))
            return self._client[1]

    def _endpoint(self) -> Endpoint:
        endpoint = find_coordinator(self._given)
        if endpoint is None:
            raise NoCoordinatorError
        return endpoint

    def close(self) -> None:
        """Close what was opened here. Idempotent."""
        with self._lock:
            if self._client is not None:
                self._client[1].close()
            if self._own_pool and self._pool is not None:
                self._pool.close()
            self._client, self._pool = None, None if self._own_pool else self._pool


def _connect(endpoint: Endpoint) -> QueuePoolClient:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our own line is clearer
    from queuepool.rpc import client

    authority, cert, key = files_for_tls()
    return client.connect(endpoint.address, endpoint.token, authority, tls_cert=cert, tls_key=key)
