"""OpenTelemetry in a process, if the OTEL_* variables ask for it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from importlib.util import find_spec

from prometheus_client import CollectorRegistry

from queuepool.telemetry.otel.environment import wanted

_log = logging.getLogger("queuepool.telemetry.otel")


@contextlib.contextmanager
def exported(
    registry: CollectorRegistry | None, service: str, *, flush_s: float = 2.0
) -> Iterator[None]:
    """Export spans, and the metrics of a registry, until the end of the block.

    service: unless OTEL_SERVICE_NAME says otherwise. flush_s: how long the end may wait for what is
    left to be sent. Raises ConfigurationError.
    """
    traces, metrics = wanted("traces"), wanted("metrics") if registry is not None else []
    if not traces and not metrics:
        yield
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        _log.warning(
            "OTEL_* variables name an exporter, but OpenTelemetry is not installed: nothing is "
            'exported; pip install "queuepool[otel]"'
        )
        yield
        return
    from queuepool.telemetry.otel.export import Export

    export = Export(registry, service, traces=traces, metrics=metrics)
    export.start()
    try:
        yield
    finally:
        export.stop(flush_s)
