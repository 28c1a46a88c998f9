"""Where the pages ask: a coordinator over gRPC, and the servers through the library."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.settings.endpoints import Endpoint, files_for_tls, find_coordinator
from queuepool.settings.environment import load_pool_config

_LONGEST_S = 2.0  # for an answer to a read
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
        self._reads: QueuePool | None = None
        self._given = coordinator
        self._client: tuple[Endpoint, QueuePoolClient] | None = None
        self._lock = threading.Lock()

    @property
    def pool(self) -> QueuePool:
        """Return the queue, for acts. Raises ConfigurationError."""
        with self._lock:
            return self._opened()

    @property
    def reads(self) -> QueuePool:
        """Return the queue for what pages show: a server that is away costs no page a long wait.

        Raises ConfigurationError.
        """
        with self._lock:
            if self._reads is None:
                pool = self._opened()
                config = replace(pool.config, retry_for_s=0.0)
                if self._own_pool:
                    config = replace(config, timeout_s=min(config.timeout_s, _LONGEST_S))
                    self._reads = QueuePool(config=config)
                else:  # its connections may be of a kind of their own
                    self._reads = QueuePool(config=config, servers=pool.servers)
            return self._reads

    def _opened(self) -> QueuePool:
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
            for pool in (self._pool, self._reads):
                if self._own_pool and pool is not None:
                    pool.close()
            self._client, self._reads = None, None
            self._pool = None if self._own_pool else self._pool


def _connect(endpoint: Endpoint) -> QueuePoolClient:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our own line is clearer
    from queuepool.rpc import client

    authority, cert, key = files_for_tls()
    return client.connect(endpoint.address, endpoint.token, authority, tls_cert=cert, tls_key=key)
