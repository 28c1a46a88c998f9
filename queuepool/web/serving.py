"""The page as a process: `queuepool web`, and the child of `queuepool up`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing

from queuepool.errors import ConfigurationError
from queuepool.telemetry.few_lines import FewLines
from queuepool.web.doors import BACKLOG, Doors
from queuepool.web.settings import USUAL_PORT, WebSettings

_GRACE_S = 2  # for answers under way at the end


def serve(settings: WebSettings, said: Callable[[str], None]) -> None:
    """Serve the page until SIGTERM or SIGINT. said: called with its address once it listens.

    Raises ConfigurationError.
    """
    import uvicorn

    from queuepool.web.assembly import assemble
    from queuepool.web.source import Source

    # An invalid request is a line of its log
    logging.getLogger("uvicorn.error").addFilter(FewLines(logging.WARNING))
    page = assemble(settings, Source())
    with closing(_listening(settings)) as doors:
        page.guard.on_user = doors.know
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
            loop="asyncio",  # others would not ask the doors
            backlog=BACKLOG,
            h11_max_incomplete_event_size=64 * 1024,
        )
        said(address_of(settings, doors.getsockname()[1]))
        uvicorn.Server(config).run(sockets=[doors])


def address_of(settings: WebSettings, port: int) -> str:
    """Return the address for a browser."""
    scheme = "http" if settings.tls_cert is None else "https"
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{name}:{port}/"


def _listening(settings: WebSettings) -> Doors:
    if settings.port is not None:
        return Doors.at(settings.host, settings.port)
    try:
        return Doors.at(settings.host, USUAL_PORT)
    except ConfigurationError:  # taken
        return Doors.at(settings.host, 0)
