"""Limits: who is throttled until when; set, pause, remove them."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import grpc
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.models import Limit, LimitStatus
from queuepool.models.durations import parse_duration
from queuepool.models.limits import allows
from queuepool.web.desk import Desk, RefusedError, fields, is_away, reason_of
from queuepool.web.drawing.paging import paged
from queuepool.web.source import NoCoordinatorError

_SHOWN, _READ, _AT_ONCE = 50, 1_000, 200


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        known, more = await desk.cached("limits", 2.0, lambda: _list(desk))
        asked = request.query_params
        wanted = asked.get("name", "").strip()
        named = [one for one in known if wanted in one.name]
        found, pages = paged(named, _SHOWN, asked, more=more)
        return desk.page(
            request, "limits.html", found=found, pages=pages, wanted=wanted, allows=allows
        )

    async def act(request: Request) -> Response:
        do = _ACTS.get(request.path_params["what"])
        if do is None:
            raise HTTPException(404, "there is no such action")
        asked, reason = fields(request), reason_of(request)
        name = asked.get("limit", "").strip()
        return await desk.act(
            request, f"{request.path_params['what']} limit", name,
            lambda: do(desk, name, asked, reason), "/limits",
        )  # fmt: skip

    return [Route("/limits", show), Route("/limits/act/{what}", act, methods=["POST"])]


def _list(desk: Desk) -> tuple[list[LimitStatus], bool]:
    """Return the limits, those for which most jobs wait first, and whether more were not read.

    A coordinator is asked if one answers: that costs the servers least.
    """
    try:
        found, more = _of_coordinator(desk)
    except (NoCoordinatorError, grpc.RpcError) as error:
        if not is_away(error):
            raise
        found = list(islice(desk.source.reads.limits.list(), _READ + 1))
        found, more = found[:_READ], len(found) > _READ
    return sorted(found, key=lambda one: (-one.parked, one.name)), more


def _of_coordinator(desk: Desk) -> tuple[list[LimitStatus], bool]:
    from queuepool.rpc.limits import status_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    if not desk.board.look.is_fresh(time.time()):  # do not wait for one that is silent
        raise NoCoordinatorError
    found, token = list[LimitStatus](), ""
    while len(found) < _READ:
        request = api.ListLimitsRequest(page_size=_AT_ONCE, page_token=token)
        answer = desk.source.client.ListLimits(request)
        found += map(status_of, answer.limits)
        if not (token := answer.next_page_token):
            break
    return found, bool(token)


def _set(desk: Desk, name: str, asked: Any, reason: str) -> str:
    from queuepool.rpc.limits import definition_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    def whole(field: str) -> int | None:
        text = asked.get(field, "").strip()
        return int(text) if text else None

    try:
        per = asked.get("per", "").strip()
        limit = Limit(
            name, rate=whole("rate"), per_s=parse_duration(per) if per else 1.0,
            burst=whole("burst"), concurrency=whole("concurrency"),
        )  # fmt: skip
    except ValueError as error:
        raise RefusedError(f"nothing was set: {error}") from None
    request = api.SetLimitRequest(limit=name, definition=definition_of(limit), reason=reason)
    changed = desk.source.client.SetLimit(request).changed
    return f"Limit {name} allows {allows(limit)}." if changed else "It had these settings already."


def _pause(desk: Desk, name: str, _asked: Any, reason: str) -> str:
    return _switch(desk, name, reason, on=True)


def _resume(desk: Desk, name: str, _asked: Any, reason: str) -> str:
    return _switch(desk, name, reason, on=False)


def _switch(desk: Desk, name: str, reason: str, *, on: bool) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.PauseLimitRequest(limit=name, paused=on, reason=reason)
    changed = desk.source.client.PauseLimit(request).changed
    done = "is paused" if on else "is no longer paused, nor waiting for"
    return f"Limit {name} {done}." if changed else "It had these settings already."


def _remove(desk: Desk, name: str, _asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.RemoveLimitRequest(limit=name, reason=reason)
    changed = desk.source.client.RemoveLimit(request).changed
    return f"The values set for {name} have been removed." if changed else "Nothing was set."


_ACTS = {"set": _set, "pause": _pause, "resume": _resume, "remove": _remove}
