"""Flows: batches of jobs with a continuation, as a tree with counts; cancel them."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.client.flows.listing import listed
from queuepool.models.flows import BatchLine, BatchState
from queuepool.web.desk import Desk
from queuepool.web.pages.overview import STALE_S

_SHOWN = 100


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of these pages."""

    def first() -> tuple[list[BatchLine], int]:
        pool = desk.source.reads
        return pool.carry_out(listed(pool.config, _SHOWN))

    async def index(request: Request) -> Response:
        found, more = await desk.cached("flows", 2.0, first, stale_s=STALE_S)
        return desk.page(request, "flows.html", found=found, more=more)

    async def show(request: Request) -> Response:
        name = request.query_params.get("name", "")
        tree = await desk.off_loop(lambda: desk.source.reads.batch(name).tree())
        if tree.status.state is BatchState.UNKNOWN:
            raise HTTPException(404, "there is no such batch: it has expired or never existed")
        return desk.page(request, "flow.html", tree=tree, address=_address(name))

    async def cancel(request: Request) -> Response:
        name = request.query_params.get("name", "")

        def do() -> str:
            jobs = desk.source.pool.batch(name).cancel()
            return f"The batch is cancelled; {jobs:,} jobs were cancelled or asked to stop."

        return await desk.act(request, "flow cancel", f"batch {name}", do, _address(name))

    return [
        Route("/flows", index),
        Route("/flow", show),
        Route("/flow/cancel", cancel, methods=["POST"]),
    ]


def _address(name: str) -> str:
    return "/flow?" + urlencode({"name": name})
