"""Sends the spans and metrics of a process to where the OTEL_* variables say."""

from __future__ import annotations

import logging
import threading
import time
from time import monotonic
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from prometheus_client import CollectorRegistry

from queuepool.telemetry.otel.environment import exporter, milliseconds
from queuepool.telemetry.otel.metrics import converted
from queuepool.telemetry.spans import in_use

_log = logging.getLogger("queuepool.telemetry.otel")


class Export:
    """The exporters of one process, from `start` to `stop`.

    traces, metrics: names of exporters. service: unless OTEL_SERVICE_NAME says otherwise. A tracer
    provider that the application has set is kept. Raises ConfigurationError.
    """

    def __init__(
        self,
        registry: CollectorRegistry | None,
        service: str,
        *,
        traces: list[str],
        metrics: list[str],
    ) -> None:
        resource = Resource.create()
        if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": service}))
        self._provider: TracerProvider | None = None
        if traces and not in_use():
            # Its own exit hook would wait as long as a collector that is down lets it.
            self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
            for name in traces:
                self._provider.add_span_processor(BatchSpanProcessor(exporter("traces", name)))
        self._metrics = None
        if registry is not None and metrics:
            self._metrics = _Metrics(registry, resource, metrics)

    def start(self) -> None:
        """Begin to export."""
        if self._provider is not None:
            trace.set_tracer_provider(self._provider)
        if self._metrics is not None:
            self._metrics.start()

    def stop(self, timeout_s: float) -> None:
        """Send what is left, for at most this long: a collector that is down delays nothing."""
        until_s = monotonic() + timeout_s
        provider = self._provider or trace.get_tracer_provider()
        if isinstance(provider, TracerProvider):
            flush = threading.Thread(
                target=provider.force_flush, args=(int(timeout_s * 1000),), daemon=True
            )
            flush.start()
            flush.join(timeout_s)
        if self._metrics is not None:
            self._metrics.stop(max(0.1, until_s - monotonic()))


class _Metrics:
    """A thread that sends the metrics of a registry every OTEL_METRIC_EXPORT_INTERVAL."""

    def __init__(self, registry: CollectorRegistry, resource: Resource, names: list[str]) -> None:
        self._registry, self._resource = registry, resource
        self._exporters: list[Any] = [exporter("metrics", name) for name in names]
        self._pause_s = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", 60_000)
        self._timeout_s = milliseconds("OTEL_METRIC_EXPORT_TIMEOUT", 30_000)
        self._began_ns = time.time_ns()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queuepool-otel", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        self._timeout_s = min(self._timeout_s, timeout_s)
        self._stopping.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_s):
            self._send()
        self._send()

    def _send(self) -> None:
        try:
            families = self._registry.collect()
            data = converted(families, self._resource, self._began_ns, time.time_ns())
            for each in self._exporters:
                each.export(data, timeout_millis=self._timeout_s * 1000)
        except Exception:
            _log.exception("the metrics could not be exported; the next try follows")
