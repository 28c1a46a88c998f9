"""From a URL to the right kind of server."""

from __future__ import annotations

from queuepool.servers import AsyncPort, Port
from queuepool.servers.aio import AsyncServer
from queuepool.servers.cluster.sync import AsyncClusterServer, ClusterServer
from queuepool.servers.sync import Server
from queuepool.servers.wire import check_url


def connect(url: str, *, timeout_s: float) -> Port:
    """Return a sync server; it connects with its first call. Raises ConfigurationError."""
    _, cluster = check_url(url)
    return ClusterServer(url, timeout_s=timeout_s) if cluster else Server(url, timeout_s=timeout_s)


def connect_async(url: str, *, timeout_s: float) -> AsyncPort:
    """Return an asyncio server; it connects with its first call. Raises ConfigurationError."""
    _, cluster = check_url(url)
    if cluster:
        return AsyncClusterServer(url, timeout_s=timeout_s)
    return AsyncServer(url, timeout_s=timeout_s)
