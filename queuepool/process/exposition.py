"""Metrics and health of a process over HTTP, while it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry

from queuepool.telemetry.metrics_server import expose


class MetricsSettings(Protocol):
    """Where a process serves metrics. metrics_port: 0 for a free one, below 0 for none."""

    @property
    def metrics_host(self) -> str:
        """Return the address."""

    @property
    def metrics_port(self) -> int:
        """Return the port."""


@contextlib.contextmanager
def exposed(
    registry: CollectorRegistry,
    problem: Callable[[], str | None],
    settings: MetricsSettings,
    *,
    setting: str,
) -> Iterator[str | None]:
    """Serve until the end of the block; yields the URL, or None without a port.

    problem: what makes /healthz answer 503, or None. setting: the variable that names the port.
    """
    if settings.metrics_port < 0:
        yield None
        return
    host = settings.metrics_host
    http = expose(registry, problem, host=host, port=settings.metrics_port, setting=setting)
    try:
        yield f"http://{host}:{http.port}"
    finally:
        http.stop()
