"""The HTTP side of a process: /metrics for Prometheus, /healthz for whoever restarts it."""

from __future__ import annotations

import errno
import random
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from queuepool import forking
from queuepool.errors import ConfigurationError
from queuepool.hindrances import HindranceError, start_thread

Health = Callable[[], str | None]
_IN_USE_S = 5.0  # the process before us may still be ending
_PAUSE_S = 0.2
_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)


class PortInUseError(HindranceError):
    """Another process listens on the port: it may end, so a later start can succeed."""

    def __init__(self, *, setting: str, host: str, port: int) -> None:
        super().__init__(
            f"{setting}={port}: another process has listened on {host}:{port} for {_IN_USE_S:g} s. "
            "Nothing was started. End it (ss -ltnp names it), or set 0 to take a free port."
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def process_request(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the machine gives no more threads: health can still be asked
            self.process_request_thread(request, client_address)


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

        self._server = _Server((host, port), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="queuepool-http", daemon=True
        )

        forking.keep(self)

    def after_fork(self) -> None:
        """Close the port's copy in a forked child, which would keep it from the next process."""
        forking.close_inherited(self._server.socket)

    def start(self) -> None:
        """Begin to answer. Raises NoThreadError; then the port is free again."""
        try:
            start_thread(self._thread, "to answer for metrics and health")
        except HindranceError:
            self._server.server_close()
            raise

    def stop(self) -> None:
        """Stop answering; legal before start, idempotent."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(timeout=5)
        self._server.server_close()


def expose(
    registry: CollectorRegistry, health: Health, *, host: str, port: int, setting: str
) -> Exposition:
    """Return an endpoint that answers; a port in use is waited for, 5 s at most.

    Raises HindranceError when it stays in use, or this machine has nothing left for it, and
    ConfigurationError, naming the setting, when it can never be had.
    """
    until = monotonic() + _IN_USE_S
    pause = threading.Event()  # never set
    while True:
        try:
            http = Exposition(registry, health, host=host, port=port)
            break
        except OSError as error:
            if error.errno in _LACKING:
                raise HindranceError(
                    f"{setting}={port}: no socket can be made ({error.strerror}). Nothing was "
                    "started. Raise the limit (ulimit -n, LimitNOFILE= of systemd), or free some."
                ) from error
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f"{setting}={port} on {host}: {error.strerror or error}; 0 takes a free port"
                ) from error
            if monotonic() > until:
                raise PortInUseError(setting=setting, host=host, port=port) from error
        pause.wait(_PAUSE_S * (0.5 + random.random()))
    http.start()
    return http
