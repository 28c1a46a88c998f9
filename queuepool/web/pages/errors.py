"""Why jobs fail: errors of one cause together, the commonest first, and what to do with them."""

from __future__ import annotations

import time
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.models import JobState
from queuepool.models.log import LogKind
from queuepool.web.desk import Desk
from queuepool.web.drawing import words
from queuepool.web.drawing.paging import paged
from queuepool.web.drawing.trends import Releases, Trends, bars, trends
from queuepool.web.pages.log import read_soon
from queuepool.web.pages.overview import STALE_S

_SHOWN, _LATEST = 40, 1000


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        found = await desk.cached("errors", 3.0, desk.source.reads.inspect.errors, stale_s=STALE_S)
        lately = await desk.cached("trends", 5.0, lambda: _trends(desk), stale_s=STALE_S)
        shown, pages = paged(found, _SHOWN, request.query_params)
        most = max((max(lately.of(one.fingerprint)) for one in shown), default=1)
        return desk.page(
            request, "errors.html", found=shown, pages=pages,
            exact=all(one.is_exact for one in found), trends=lately,
            span=words.seconds(lately.span_s),
            bars=lambda name: bars(lately.of(name), most), releases=await _releases(desk),
            dead=sum(one.dead for one in found), retrying=sum(one.retrying for one in found),
        )  # fmt: skip

    return [Route("/errors", show)]


def _trends(desk: Desk) -> Trends:
    found = list(islice(desk.source.reads.inspect.find(JobState.DEAD), _LATEST + 1))
    now_ms = round(time.time() * 1000)
    return trends(found[:_LATEST], now_ms, are_all=len(found) <= _LATEST)


async def _releases(desk: Desk) -> Releases:
    return Releases((await read_soon(desk, "releases", [LogKind.OWNER]))[::-1])
