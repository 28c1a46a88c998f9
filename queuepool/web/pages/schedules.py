"""Schedules with their next times; pause, run, remove them."""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.web.desk import Desk, RefusedError, fields
from queuepool.web.drawing.paging import paged

_NEXT = 5
_SHOWN = 40


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        found = await desk.cached("schedules", 1.0, desk.source.reads.schedules.list)
        now_ms, wanted = round(time.time() * 1000), request.query_params.get("name", "").strip()
        named = [one for one in found if wanted in one.name]
        shown, pages = paged(named, _SHOWN, request.query_params)
        rows = [(one, [] if one.paused_ms else one.next(_NEXT, now_ms)) for one in shown]
        return desk.page(request, "schedules.html", rows=rows, wanted=wanted, pages=pages)

    async def act(request: Request) -> Response:
        what, name = request.path_params["what"], fields(request).get("name", "")
        if what not in ("pause", "resume", "run", "remove"):
            raise HTTPException(404, "there is no such action")
        return await desk.act(
            request,
            f"schedule {what}",
            f"schedule {name}",
            lambda: _do(desk, what, name),
            "/schedules",
        )

    return [Route("/schedules", show), Route("/schedules/act/{what}", act, methods=["POST"])]


def _do(desk: Desk, what: str, name: str) -> str:
    schedules = desk.source.pool.schedules
    if what == "run":
        enqueued = schedules.run(name)
        if enqueued.status != "accepted":
            raise RefusedError(f"nothing was enqueued: {enqueued.status}")
        return f"Job {enqueued.job_id} is enqueued."
    changed = {
        "pause": schedules.pause, "resume": schedules.resume, "remove": schedules.remove,
    }[what](name)  # fmt: skip
    past = {"pause": "paused", "resume": "resumed", "remove": "removed"}[what]
    return f"Schedule {name} is {past}." if changed else "It had these settings already."
