"""One partition, or a pool of it: backlog and workers with the decisions on the curve."""

from __future__ import annotations

import asyncio
from typing import Any

from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.models.durations import parse_duration
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.web.desk import Desk, RefusedError, fields, reason_of, sentence_of
from queuepool.web.drawing import words
from queuepool.web.drawing.charts import WIDTH, Chart, Line, chart
from queuepool.web.live.board import POINTS, STEP_S, name_of
from queuepool.web.live.hub import Patch
from queuepool.web.pages.log import of_partition
from queuepool.web.pages.overview import chart_end

_CHARTS = (
    ("backlog", "Backlog", (Line("waiting", "backlog", "a", filled=True),), words.short),
    ("workers", "Workers", (
        Line("wanted", "target", "b"), Line("running", "running", "a"), Line("busy", "busy", "c"),
    ), words.short),
    ("rate", "Jobs a second", (Line("ended", "per_s", "a", filled=True),), words.short),
    ("wait", "Wait of the oldest job", (Line("oldest", "oldest", "a"),), words.seconds),
)  # fmt: skip
_RUNNING, _DECISIONS = 12, 50
_SOON_S = 2.0  # the rest does not wait longer for one part
_MARKED = ("backlog", "workers")


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        place, name = _found(desk, request)
        known = await _asked(desk, place)
        marks = {one: Markup(_marks(desk, known["decisions"])) for one in _MARKED}  # noqa: S704
        return desk.page(
            request, "partition.html", place=place, name=name, tiles=tiles(place),
            lanes=lanes(place), charts=charts_of(desk, name), marks=marks,
            lease=place.owner.lease_remaining_ms / 1000,
            past=await of_partition(desk, name), **known,
        )  # fmt: skip

    async def live(request: Request) -> Response:
        _, name = _found(desk, request)
        return desk.live(request, f"partition {name}", lambda: _rendered(desk, name))

    async def act(request: Request) -> Response:
        place, name = _found(desk, request)
        what = request.path_params["what"]
        if what not in _ACTS:
            raise HTTPException(404, "there is no such action")
        asked, reason = fields(request), reason_of(request)
        return await desk.act(
            request, "scale --auto" if what == "automatic" else what, f"partition {name}",
            lambda: _ACTS[what](desk, place, asked, reason), f"/partition/{name}",
        )  # fmt: skip

    found = []
    for path in ("/partition/{number:int}", "/partition/{number:int}/{pool}"):
        acting = Route(f"{path}/act/{{what}}", act, methods=["POST"])
        found += [Route(f"{path}/live", live), acting, Route(path, show)]
    return found


async def _rendered(desk: Desk, name: str) -> Patch:
    place = desk.board.look.index.get(name)
    if place is None:
        return desk.first_line(f"partition {name} is not observed any more")
    decisions, unread = await _latest(desk, place)
    return _patch(desk, place, name, decisions) | desk.first_line(unread)


async def _latest(desk: Desk, place: Any) -> tuple[list[Any] | None, str]:
    """Return the decisions, None if they cannot be read; and what is old on the page, and why."""
    name = name_of(place)
    unread = f"partition {name} has not been observed recently" if place.stale else ""
    asked = desk.cached(f"decisions {name}", 2.0, lambda: _decisions(desk, place))
    try:
        return await asyncio.wait_for(asked, _SOON_S), unread
    except Exception as error:  # the rest moves nevertheless
        if desk.board.look.is_live:  # else the first line says so already
            unread = unread or f"decisions cannot be read: {sentence_of(error)}"
        return None, unread


def _found(desk: Desk, request: Request) -> tuple[Any, str]:
    params = request.path_params
    name = place_text(params["number"], params.get("pool", DEFAULT_POOL))
    place = desk.board.look.index.get(name)
    if place is None:
        raise HTTPException(404, f"there is no partition {name}, or it has not been observed yet")
    return place, name


def tiles(p: Any) -> dict[str, str]:
    """Return the numbers on top."""
    eta = p.eta if p.HasField("eta") else None
    return {
        "backlog": words.count(p.backlog),
        "in-flight": words.count(p.in_flight),
        "rate": words.rate(p.throughput_per_s),
        "workers": f"{p.workers.running} of {p.workers.target}",
        "oldest": words.seconds(p.oldest_waiting_ms / 1000),
        "service": words.seconds(p.service_s) if p.service_s else "-",
        "dead": words.count(p.dead),
        "eta": words.seconds(eta.likely_s) if eta else "-",
    }


def lanes(p: Any) -> list[tuple[str, str, str]]:
    """Return (id, why jobs are where they are, how many)."""
    ready = p.ready
    rows = [
        ("critical", "ready, tier critical", ready.critical),
        ("high", "ready, tier high", ready.high),
        ("default", "ready, tier default", ready.default_tier),
        ("low", "ready, tier low", ready.low),
        ("parked", "parked: their limits allow no start", p.parked),
        ("capped", "capped: their group runs its maximum", p.capped),
        ("held", "held with their group or partition", p.held),
        ("delayed", "delayed: scheduled, or between two attempts", p.delayed - p.set_aside),
        ("aside", "set aside: no consumer has their task", p.set_aside),
    ]
    return [(name, why, words.count(n)) for name, why, n in rows]


def charts_of(desk: Desk, name: str) -> list[Chart]:
    """Return the curves of a partition."""
    past = desk.board.past_of(name)
    return [
        chart(
            f"p-{one}", title, lines, past, end_s=chart_end(desk), step_s=STEP_S, points=POINTS,
            shown=shown,
        )
        for one, title, lines, shown in _CHARTS
    ]  # fmt: skip


def _marks(desk: Desk, decisions: list[Any]) -> str:
    """Return a line on the curve for each change of the worker count, with its sentence."""
    end_s = chart_end(desk) + desk.board.origin_s
    span_s = STEP_S * (POINTS - 1)
    found = []
    for d in decisions:
        x = round(WIDTH * (1 - (end_s - STEP_S / 2 - d.at_ms / 1000) / span_s))
        if d.target == d.previous_target or not 0 <= x <= WIDTH:
            continue
        text = f"{words.clock(d.at_ms)}: {d.previous_target} to {d.target}. {d.reason}"
        ends = f'x1="{x}" y1="0" x2="{x}" y2="100"'
        found.append(
            f'<g class="mark"><title>{escape(words.clean(text, 200))}</title>'
            f'<line class="touch" {ends}/><line {ends}/></g>'
        )
    return "".join(found[:12])


def _patch(desk: Desk, place: Any, name: str, decisions: list[Any] | None) -> dict[str, str]:
    found = {f"t-{one}": text for one, text in tiles(place).items()}
    found |= {f"l-{one}": n for one, _, n in lanes(place)}
    for one in charts_of(desk, name):
        found |= one.patch()
    if decisions is not None:
        found |= {f"p-{one}-marks": _marks(desk, decisions) for one in _MARKED}
    return found


async def _asked(desk: Desk, place: Any) -> dict[str, Any]:
    name = name_of(place)
    questions = {"decisions": _decisions, "why": _why, "running": _running}

    async def answer(part: str) -> tuple[list[Any], list[str]]:
        asked = desk.cached(f"{part} {name}", 2.0, lambda: questions[part](desk, place))
        try:
            return await asyncio.wait_for(asked, _SOON_S), []
        except Exception as error:  # the rest is shown nevertheless
            return [], [f"{part}: {sentence_of(error)}"]

    answers = await asyncio.gather(*map(answer, questions))
    found = {part: known for part, (known, _) in zip(questions, answers, strict=True)}
    return found | {"problems": [one for _, problems in answers for one in problems]}


def _decisions(desk: Desk, place: Any) -> list[Any]:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.ListDecisionsRequest(
        partition=place.partition, page_size=_DECISIONS, pool=place.pool
    )
    return list(desk.source.client.ListDecisions(request).decisions)


def _why(desk: Desk, place: Any) -> list[str]:
    import grpc

    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.ExplainRequest(partition=place.partition, pool=place.pool)
    try:
        found = desk.source.client.Explain(request).explanations
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return []
        raise
    return list(found[0].sentences) if found else []


def _running(desk: Desk, place: Any) -> list[Any]:
    wanted = place.pool or DEFAULT_POOL
    found = desk.source.reads.inspect.running(partition=place.partition, most=200)
    return [one for one in found if (one.job.pool or DEFAULT_POOL) == wanted][:_RUNNING]


def _scale(desk: Desk, place: Any, asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    try:
        workers, ttl_s = int(asked.get("workers", "")), parse_duration(asked.get("for", "10m"))
    except ValueError as error:
        raise RefusedError(f"nothing was set: {error}") from None
    request = api.SetWorkersRequest(
        partition=place.partition, workers=max(workers, 0), ttl_s=ttl_s, reason=reason,
        pool=place.pool,
    )  # fmt: skip
    answer = desk.source.client.SetWorkers(request)
    until = words.moment(answer.manual_until_ms)
    return f"Partition {name_of(place)} has {answer.workers} workers until {until}."


def _automatic(desk: Desk, place: Any, _asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.ClearWorkersRequest(partition=place.partition, reason=reason, pool=place.pool)
    desk.source.client.ClearWorkers(request)
    return f"Automatic scaling resumed for partition {name_of(place)}."


def _hold(desk: Desk, place: Any, _asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.HoldRequest(partition=place.partition, reason=reason, pool=place.pool)
    changed = desk.source.client.Hold(request).changed
    held = f"Partition {name_of(place)} is held"
    return f"{held}; running jobs continue." if changed else f"{held} already."


def _release(desk: Desk, place: Any, _asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.ReleaseRequest(partition=place.partition, reason=reason, pool=place.pool)
    changed = desk.source.client.Release(request).changed
    return f"Partition {name_of(place)} {'runs again' if changed else 'was not held'}."


_ACTS = {"scale": _scale, "automatic": _automatic, "hold": _hold, "release": _release}
