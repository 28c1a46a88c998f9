"""Why jobs fail: errors of one cause together, the commonest first, and what to do with them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.web.desk import Desk

_SHOWN = 100


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        found = await desk.cached("errors", 3.0, desk.source.pool.inspect.errors)
        most = max((one.jobs for one in found), default=1)
        return desk.page(
            request, "errors.html", found=found[:_SHOWN], left_out=max(0, len(found) - _SHOWN),
            most=most, exact=all(one.is_exact for one in found),
            dead=sum(one.dead for one in found), retrying=sum(one.retrying for one in found),
        )  # fmt: skip

    return [Route("/errors", show)]
