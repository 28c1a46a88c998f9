"""The page as a process: `queuepool web`, and the child of `queuepool up`."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing

from queuepool.errors import ConfigurationError
from queuepool.web.settings import USUAL_PORT, WebSettings

_GRACE_S = 2  # for answers under way at the end
_BACKLOG = 128


def serve(settings: WebSettings, said: Callable[[str], None]) -> None:
    """Serve the page until SIGTERM or SIGINT. said: called with its address once it listens.

    Raises ConfigurationError.
    """
    import uvicorn

    from queuepool.web.assembly import assemble
    from queuepool.web.source import Source

    page = assemble(settings, Source())
    with closing(_listening(settings)) as listener:
        config = uvicorn.Config(
            page,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
            limit_concurrency=1500,
            h11_max_incomplete_event_size=64 * 1024,
        )
        said(address_of(settings, listener.getsockname()[1]))
        uvicorn.Server(config).run(sockets=[listener])


def address_of(settings: WebSettings, port: int) -> str:
    """Return the address for a browser."""
    scheme = "http" if settings.tls_cert is None else "https"
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{name}:{port}/"


def _listening(settings: WebSettings) -> socket.socket:
    ports = [USUAL_PORT, 0] if settings.port is None else [settings.port]
    kind = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    for port in ports:
        listener = socket.socket(kind, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            if port == ports[-1]:
                raise ConfigurationError(
                    f"QUEUEPOOL_WEB_HOST, _PORT: cannot listen at {settings.host}:{port}: "
                    f"{error.strerror or error}"
                ) from error
            continue
        return listener
    raise AssertionError  # the last port was taken, or refused
