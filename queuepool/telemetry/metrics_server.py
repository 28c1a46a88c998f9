"""The HTTP side of a process: /metrics for Prometheus, /healthz for its supervisor."""

from __future__ import annotations

import errno
import logging
import random
import threading
from collections.abc import Callable
from time import monotonic, thread_time

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from queuepool.errors import ConfigurationError
from queuepool.errors.hindrances import LACKING, HindranceError
from queuepool.telemetry.http.messages import Reply, Request
from queuepool.telemetry.http.server import DEADLINE_S, REST, HttpServer

Health = Callable[[], str | None]
_IN_USE_S = 5.0  # the previous process may still be exiting
_PAUSE_S = 0.2
_log = logging.getLogger("queuepool.telemetry.http")


class PortInUseError(HindranceError):
    """Another process listens on the port: it may end, so a later start can succeed."""

    def __init__(self, *, setting: str, host: str, port: int) -> None:
        super().__init__(
            f"{setting}={port}: another process has listened on {host}:{port} for {_IN_USE_S:g} "
            "s. Nothing was started. Stop it (ss -ltnp shows it), or set 0 for a free port."
        )


class MetricsServer:
    """Metrics and health on a separate address; one thread. port 0 selects a free one.

    health returns None, or the problem with which /healthz answers 503.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        health: Health,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._health, self._failing = health, False
        self._plain = Reused(lambda: generate_latest(registry))
        self._open = Reused(lambda: openmetrics.generate_latest(registry))  # type: ignore[no-untyped-call]  # it is untyped
        self._server = HttpServer(self._answer, host=host, port=port, deadline_s=deadline_s)
        self.port: int = self._server.port

    def start(self) -> None:
        """Start serving. Raises NoThreadError; then the port is free again."""
        self._server.start()

    def stop(self) -> None:
        """Stop serving; legal before start, idempotent."""
        self._server.stop()

    def _answer(self, request: Request) -> Reply:
        try:
            reply = self._reply(request)
        except Exception:  # of a collector, or of health
            if not self._failing:
                _log.exception("%s cannot be served", request.path)
            self._failing = True
            return Reply(status=500, body=b"this failed; the log has the reason\n")
        self._failing = False
        return reply

    def _reply(self, request: Request) -> Reply:
        if request.path == "/metrics" and request.open_metrics:
            return Reply(status=200, body=self._open.get(), kind=openmetrics.CONTENT_TYPE_LATEST)
        if request.path == "/metrics":
            return Reply(status=200, body=self._plain.get(), kind=CONTENT_TYPE_LATEST)
        if request.path == "/healthz":
            problem = self._health()
            text = "ok\n" if problem is None else f"{problem}\n"
            return Reply(
                status=200 if problem is None else 503, body=text.encode(errors="backslashreplace")
            )
        return Reply(status=404, body=b"try /metrics or /healthz\n")


class Reused:
    """Text whose creation takes at most a fifth of the time, however often it is requested.

    It is reused for REST times as long as it took to create, so a client that asks every few
    seconds gets a new one. That also bounds what slow clients have not read: creating 1 MB takes as
    long as 1,000 times 1 kB.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make, self._made, self._until_s = make, b"", 0.0

    def get(self) -> bytes:
        """Return the current text, or a slightly older one."""
        if monotonic() >= self._until_s:
            began_s = thread_time()
            self._made = self._make()
            self._until_s = monotonic() + REST * (thread_time() - began_s)
        return self._made


def expose(
    registry: CollectorRegistry, health: Health, *, host: str, port: int, setting: str
) -> MetricsServer:
    """Return a working endpoint; waits at most 5 s for a port in use.

    Raises HindranceError if it stays in use or this machine lacks resources, and
    ConfigurationError, naming the setting, if it can never work.
    """
    until = monotonic() + _IN_USE_S
    pause = threading.Event()  # never set
    while True:
        try:
            http = MetricsServer(registry, health, host=host, port=port)
            break
        except OSError as error:
            if error.errno in LACKING:
                raise HindranceError(
                    f"{setting}={port}: cannot create a socket ({error.strerror}). Nothing was "
                    "started. Raise the limit (ulimit -n, LimitNOFILE= of systemd), or free "
                    "some."
                ) from error
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f"{setting}={port} on {host}: {error.strerror or error}; 0 selects a free port"
                ) from error
            if monotonic() > until:
                raise PortInUseError(setting=setting, host=host, port=port) from error
        pause.wait(_PAUSE_S * (0.5 + random.random()))
    http.start()
    return http
