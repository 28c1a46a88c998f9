"""Puts the page together: pages, guard, static files."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from queuepool.errors import (
    ConfigurationError,
    InvalidInputError,
    QueuePoolError,
    UnavailableError,
)
from queuepool.web.auth.guard import Guard
from queuepool.web.auth.users import User
from queuepool.web.desk import STATIC, Desk, sentence_of
from queuepool.web.pages import (
    bulks,
    errors,
    find,
    flows,
    groups,
    jobs,
    limits,
    log,
    login,
    overview,
    partition,
    scaling,
    schedules,
    system,
)
from queuepool.web.settings import WebSettings
from queuepool.web.source import NoCoordinatorError, Source

PAGES = (
    *(login, overview, partition, groups, jobs, find, errors, bulks),
    *(scaling, limits, schedules, flows, log, system),
)


class Page:
    """The application. Follows the queue from its first request on, or from its server's start."""

    def __init__(self, desk: Desk, guard: Guard) -> None:
        self.desk, self.guard = desk, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.desk.start()  # a mounted application is not told of the start
        await self.guard(scope, receive, send)


def assemble(
    settings: WebSettings, source: Source, user: Callable[[Request], User | None] | None = None
) -> Page:
    """Return the application. Raises ConfigurationError if nobody could sign in."""
    if user is None and not settings.knows_users:
        raise ConfigurationError(
            "nobody could sign in: set QUEUEPOOL_WEB_TOKEN or QUEUEPOOL_WEB_USER_HEADER, or pass "
            "user= a function that returns a User"
        )
    desk = Desk(settings, source)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.start()
        yield
        desk.stop()

    async def failed(request: Request, error: Exception) -> Response:
        text = error.detail if isinstance(error, HTTPException) else sentence_of(error)
        return desk.page(request, "problem.html", _status_of(error), title=text)

    routes = [Route("/static/{name}", _static)]
    for module in PAGES:
        routes += module.routes(desk)
    handlers: dict[Any, Any] = dict.fromkeys(
        (HTTPException, QueuePoolError, grpc.RpcError, Exception), failed
    )
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Page(desk, Guard(app, settings, user))


def _status_of(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return error.status_code
    if isinstance(error, InvalidInputError):
        return 400
    is_away = isinstance(error, UnavailableError | NoCoordinatorError | grpc.RpcError)
    return 503 if is_away else 500


async def _static(request: Request) -> Response:
    path = STATIC / request.path_params["name"]
    if path.parent != STATIC or not path.is_file():
        raise HTTPException(404, "there is no such file")
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    keep = "public, max-age=31536000, immutable" if request.url.query else "no-cache"
    return FileResponse(path, media_type=kind, headers={"cache-control": keep})
