"""Flows: batches of jobs with a continuation, as a tree with counts; cancel them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.client.questions import ask_everywhere
from queuepool.models.flows import BatchState
from queuepool.verbs.flows import verbs as flow
from queuepool.web.desk import Desk
from queuepool.web.pages.overview import STALE_S

_SHOWN, _PAGE = 100, 200


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of these pages."""

    async def index(request: Request) -> Response:
        found, total = await desk.cached("flows", 2.0, lambda: _list(desk), stale_s=STALE_S)
        return desk.page(request, "flows.html", found=found, total=total)

    async def show(request: Request) -> Response:
        name = request.query_params.get("name", "")
        tree = await desk.off_loop(lambda: desk.source.pool.batch(name).tree())
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


def _list(desk: Desk) -> tuple[list[Any], int]:
    found: list[Any] = []
    total = 0
    steps = ask_everywhere(desk.source.pool.config, lambda _: flow.batches(0, _PAGE))
    for there, lines in desk.source.pool.carry_out(steps):
        total += there
        shown = [line for line in lines if line.part not in ("s", "g")]
        total -= len(lines) - len(shown)
        found += shown[: _SHOWN - len(found)]
    return found, total
