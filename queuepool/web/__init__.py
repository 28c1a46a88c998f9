"""The web page: what a queue does, live, and what operators do about it.

    queuepool web                                   its own process
    app.mount("/queues", queuepool.web.app())       in an application of Starlette or FastAPI

Needs the extra `web`; nothing of it is imported before it is used. See docs/page.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from queuepool.client.pool import QueuePool
    from queuepool.web.auth.users import User

EXTRA = "queuepool[web]"


def app(
    *,
    pool: QueuePool | None = None,
    user: Callable[[Request], User | None] | None = None,
    hosts: str | None = None,
    coordinator: str | None = None,
) -> ASGIApp:
    """Return the page as an ASGI application, to be mounted or served.

    pool: the queue, instead of that of QUEUEPOOL_URL and other variables. user: who asks, as the
    application knows them, None for nobody: `User(name, ApiRole.VIEWER)`; without it a token or a
    proxy tells (QUEUEPOOL_WEB_TOKEN, QUEUEPOOL_WEB_USER_HEADER). hosts: names by which browsers
    may ask for it, separated by commas, besides those of this machine; * for any.
    coordinator: HOST:PORT, instead of QUEUEPOOL_GRPC. Raises ConfigurationError.
    """
    from queuepool.web.assembly import assemble
    from queuepool.web.settings import load_settings
    from queuepool.web.source import Source

    given: dict[str, Any] = {} if hosts is None else {"hosts": hosts}
    return assemble(load_settings(given), Source(pool, coordinator), user)


def __getattr__(name: str) -> Any:
    """Return User and ApiRole, which are imported only here."""
    if name == "User":
        from queuepool.web.auth.users import User

        return User
    if name == "ApiRole":
        from queuepool.rpc.auth import ApiRole

        return ApiRole
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
