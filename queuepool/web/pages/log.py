"""The log: who did what and why, and what happened."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.errors import QueuePoolError
from queuepool.models.log import LogEntry, LogKind
from queuepool.web.desk import Desk

_SHOWN, _ACTS = 300, 20
_ACTS_S = 2.0  # the system is shown also while the servers are away


def routes(desk: Desk) -> list[Route]:
    """Return the address of this page."""

    async def show(request: Request) -> Response:
        kind = request.query_params.get("kind", "")
        if kind and kind not in {one.value for one in LogKind}:
            raise HTTPException(400, "there is no such kind of entries")
        found = await desk.cached(f"log {kind}", 1.0, lambda: _read(desk, kind, _SHOWN))
        return desk.page(
            request, "log.html", found=found, kind=kind, kinds=[one.value for one in LogKind],
            most=_SHOWN,
        )  # fmt: skip

    return [Route("/log", show)]


async def acts_of(desk: Desk) -> list[LogEntry]:
    """Return what people did lately, the latest first; nothing if that cannot be read soon."""
    asked = desk.cached("acts", 1.0, lambda: _read(desk, LogKind.ACT, _ACTS))
    try:
        return await asyncio.wait_for(asked, _ACTS_S)
    except (QueuePoolError, TimeoutError):
        return []


def _read(desk: Desk, kind: str, most: int) -> list[LogEntry]:
    return desk.source.pool.log(kinds=[kind] if kind else [], most=most)[::-1]
