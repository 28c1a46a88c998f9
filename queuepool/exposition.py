"""The HTTP side of a process: /metrics for Prometheus, /healthz for whoever restarts it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

Health = Callable[[], str | None]


class Exposition:
    """A small HTTP server on its own threads. port 0 takes a free one.

    health returns None when all is well, else the reason, which makes /healthz answer 503.
    """

    def __init__(
        self, registry: CollectorRegistry, health: Health, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 10  # a client that sends nothing does not keep a thread

            def do_GET(self) -> None:
                if self.path.split("?")[0] == "/metrics":
                    self._answer(200, generate_latest(registry), CONTENT_TYPE_LATEST)
                elif self.path.split("?")[0] == "/healthz":
                    problem = health()
                    text = "ok\n" if problem is None else f"{problem}\n"
                    self._answer(200 if problem is None else 503, text.encode(), "text/plain")
                else:
                    self._answer(404, b"try /metrics or /healthz\n", "text/plain")

            def _answer(self, code: int, body: bytes, kind: str) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: a probe every second is no news."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="queuepool-http", daemon=True
        )

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering; legal before start, idempotent."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(timeout=5)
        self._server.server_close()
