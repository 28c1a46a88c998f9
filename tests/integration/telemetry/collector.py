"""A collector of OTLP over HTTP in this process."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Seen:
    """A span that arrived. service: of the process that sent it."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    events: list[str]
    failed: bool


class Collector:
    """Keeps what it is sent. url: its endpoint."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []
        self.metrics: dict[str, Any] = {}  # the latest of each name and service
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.receive(self.path, body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def receive(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            for each in ExportTraceServiceRequest.FromString(body).resource_spans:
                service = _plain(each.resource.attributes)["service.name"]
                for scope in each.scope_spans:
                    self.spans += [_seen(service, span) for span in scope.spans]
        else:
            for of in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                service = _plain(of.resource.attributes)["service.name"]
                for part in of.scope_metrics:
                    for metric in part.metrics:
                        self.metrics[f"{service} {metric.name}"] = metric

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]

    def tree(self, root: str, depth: int = 0) -> list[str]:
        """Return the names of a span and of those below it, indented, sorted by name."""
        (span,) = [each for each in self.spans if each.span_id == root]
        lines = ["  " * depth + span.name]
        below = sorted((s for s in self.spans if s.parent_id == root), key=lambda s: s.name)
        return lines + [line for each in below for line in self.tree(each.span_id, depth + 1)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _seen(service: str, span: Any) -> Seen:
    return Seen(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        _plain(span.attributes),
        [event.name for event in span.events],
        span.status.code == span.status.STATUS_CODE_ERROR,
    )


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
