"""The system: servers, who owns what, versions, and what was done on this page."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.client.checkup import ask_servers
from queuepool.errors import QueuePoolError
from queuepool.models.advice import Advice
from queuepool.models.doctor import ServerFigures
from queuepool.models.places import DEFAULT_POOL
from queuepool.settings.changed import changed
from queuepool.web.desk import Desk, RefusedError, fields
from queuepool.web.drawing.paging import paged
from queuepool.web.live.board import name_of
from queuepool.web.pages import moves
from queuepool.web.pages.log import acts_of
from queuepool.web.pages.overview import STALE_S

_SOON_S = 2.0
_SHOWN = 50  # consumers


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        look, wanted = desk.board.look, request.query_params.get("consumer", "").strip()
        found = [one for one in consumers(look.places) if wanted in one["name"]]
        shown, pages = paged(found, _SHOWN, request.query_params)
        return desk.page(
            request, "system.html", look=look, consumers=shown, wanted=wanted, pages=pages,
            servers=servers(look), memory=await memory(desk), acts=await acts_of(desk),
            move=await moves.latest(desk), advice=await advice(desk),
            up_s=time.time() - desk.board.origin_s,
            watchers=desk.hub.watchers, settings=changed(desk.settings),
        )  # fmt: skip

    async def drain(request: Request) -> Response:
        name = fields(request).get("consumer", "")
        return await desk.act(
            request, "drain", f"consumer {name}", lambda: _drain(desk, name), "/system"
        )

    return [Route("/system", show), Route("/system/drain", drain, methods=["POST"])]


def consumers(places: Any) -> list[dict[str, Any]]:
    """Return who owns partitions, with all that it has; those that drain come first."""
    owned = defaultdict(list)
    for place in places:
        if place.HasField("owner"):
            owned[place.owner.id or place.owner.host].append(place)
    return [
        {
            "name": name,
            "places": [name_of(p) for p in some],
            "running": sum(p.workers.running for p in some),
            "busy": sum(p.workers.busy for p in some),
            "draining": _drains(some),
            "version": " ".join(sorted({p.owner.version for p in some if p.owner.version})),
            "lease_s": min(p.owner.lease_remaining_ms for p in some) / 1000,
        }
        for name, some in sorted(owned.items(), key=lambda one: (not _drains(one[1]), one[0]))
    ]


def _drains(places: list[Any]) -> bool:
    return any(place.draining for place in places)


def servers(look: Any) -> list[dict[str, Any]]:
    """Return the servers with what is on them."""
    if look.cluster is None:
        return []
    on: dict[str, list[Any]] = defaultdict(list)
    for place in look.places:
        on[place.server].append(place)
    return [
        {
            "name": server.name,
            "reachable": server.reachable,
            "partitions": server.partitions,
            "jobs": sum(_jobs(p) for p in on[server.name]),
            "rate": sum(p.throughput_per_s for p in on[server.name]),
        }
        for server in look.cluster.servers
    ]


def _drain(desk: Desk, name: str) -> str:
    """Ask a process to end, by each partition that it owned as far as was seen."""
    owned = [p for p in desk.board.look.places if p.HasField("owner") and p.owner.id == name]
    if not owned and desk.board.look.problem:
        raise RefusedError(
            f"{desk.board.look.problem}: nobody says which partitions this consumer owns"
        )
    if not owned:
        raise RefusedError("this consumer owns no partition any more")
    pool = desk.source.pool
    asked = [
        pool.partition(p.partition, p.pool or DEFAULT_POOL).drain(p.owner.epoch) for p in owned
    ]
    if not any(asked):
        raise RefusedError("other consumers own its partitions by now; nothing was changed")
    busy = sum(p.workers.busy for p in owned)
    return f"Consumer {name} drains: its {busy:,} running jobs end, and another may take over."


async def memory(desk: Desk) -> dict[str, ServerFigures]:
    """Return what each server tells of its memory and its disk; nothing if they do not answer."""

    def ask() -> dict[str, ServerFigures]:
        pool = desk.source.reads
        return {one.name: one for one in pool.carry_out(ask_servers(pool.config))}

    try:
        return await asyncio.wait_for(desk.cached("memory", 5.0, ask), _SOON_S)
    except (QueuePoolError, TimeoutError):
        return {}


async def advice(desk: Desk) -> tuple[Advice, ...]:
    """Return what the coordinator advises to change; nothing if it does not say in time."""
    try:
        asked = desk.cached("advice", 5.0, lambda: _advised(desk), stale_s=STALE_S)
        return await asyncio.wait_for(asked, _SOON_S)
    except Exception:  # also an earlier release's; the rest is shown nevertheless
        return ()


def _advised(desk: Desk) -> tuple[Advice, ...]:
    from queuepool.rpc.advice import advised_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    return advised_of(desk.source.client.Advise(api.AdviseRequest())).advice


def _jobs(p: Any) -> int:
    return int(p.backlog + p.delayed + p.in_flight + p.dead + p.held + p.capped + p.parked)
