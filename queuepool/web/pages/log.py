"""The log: operator actions and events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.errors import QueuePoolError
from queuepool.models.log import LogEntry, LogKind
from queuepool.web.desk import Desk
from queuepool.web.drawing.paging import paged

_SHOWN, _ACTS, _HERE, _LOOKED_AT = 60, 20, 20, 1_000
_SOON_S = 2.0  # the other pages are shown also while the servers are away


def routes(desk: Desk) -> list[Route]:
    """Return the address of this page."""

    async def show(request: Request) -> Response:
        kind = request.query_params.get("kind", "")
        if kind and kind not in {one.value for one in LogKind}:
            raise HTTPException(400, "there is no such kind of entries")
        kinds = [kind] if kind else []
        known = await desk.cached(f"log {kind}", 1.0, lambda: _read(desk, kinds, _LOOKED_AT))
        found, pages = paged(known, _SHOWN, request.query_params, more=len(known) == _LOOKED_AT)
        return desk.page(
            request, "log.html", found=found, kind=kind, all_kinds=[one.value for one in LogKind],
            pages=pages,
        )  # fmt: skip

    return [Route("/log", show)]


async def acts_of(desk: Desk) -> list[LogEntry]:
    """Return what people did lately, the latest first; nothing if that cannot be read soon."""
    return await _soon(desk, "acts", lambda: _read(desk, [LogKind.ACT], _ACTS))


async def read_soon(desk: Desk, name: str, kinds: Collection[str]) -> list[LogEntry]:
    """Return entries of some kinds, the latest first; nothing if they cannot be read soon."""
    return await _soon(desk, name, lambda: _read(desk, kinds, _LOOKED_AT))


async def of_partition(desk: Desk, name: str) -> list[LogEntry]:
    """Return who owned a partition, what was done to it and found there, the latest first.

    Its worker counts stand in its decisions. Of changes of many partitions at once there is one
    entry for all, which is not here.
    """
    kinds = (LogKind.ACT, LogKind.FINDING, LogKind.OWNER)
    found = await read_soon(desk, "places", kinds)
    subject = f"partition {name}"
    begun = (f"{subject}:", f"{subject} ")
    here = [one for one in found if one.subject == subject or one.subject.startswith(begun)]
    return here[:_HERE]


async def _soon(desk: Desk, name: str, ask: Callable[[], list[LogEntry]]) -> list[LogEntry]:
    try:
        return await asyncio.wait_for(desk.cached(f"log of {name}", 1.0, ask), _SOON_S)
    except (QueuePoolError, TimeoutError):
        return []


def _read(desk: Desk, kinds: Collection[str], most: int) -> list[LogEntry]:
    return desk.source.reads.log(kinds=kinds, most=most)[::-1]
