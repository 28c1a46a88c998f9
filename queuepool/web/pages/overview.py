"""The overview: verdict, curves, partitions as a heat strip, what changed last, what fails."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.web.desk import Desk, reason_of, sentence_of
from queuepool.web.drawing import words
from queuepool.web.drawing.charts import Chart, Line, chart
from queuepool.web.live.board import POINTS, STEP_S, Look, name_of
from queuepool.web.live.hub import Patch
from queuepool.web.pages import moves

_CELLS = 64  # up to so many, cells of the strip are large
_ERRORS, _GROUPS, _TENANTS, _DECISIONS = 5, 6, 6, 8
_SAMPLE = 2_000
_LONGEST_S = 2.0  # that the page waits for one part of it
STALE_S = 60.0  # rather show what was so than wait for a thousand partitions
_CHARTS = (
    ("backlog", "Backlog", "jobs", (Line("waiting", "backlog", "a", filled=True),), words.short),
    ("rate", "Throughput", "jobs/s", (
        Line("ended", "per_s", "a", filled=True), Line("failed", "failed_per_s", "bad"),
    ), words.short),
    ("wait", "Longest wait", "", (
        Line("worst partition", "oldest", "a"), Line("median partition", "oldest_median", "b"),
    ), words.seconds),
    ("workers", "Workers", "", (
        Line("wanted", "target", "b"), Line("running", "running", "a"), Line("busy", "busy", "c"),
    ), words.short),
)  # fmt: skip


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        look = desk.board.look
        known: dict[str, Any] = {
            "look": look,
            "charts": charts_of(desk),
            "tiles": tiles(look),
            "cells": cells(look),
            "large": len(look.places) <= _CELLS,
            "move": await moves.latest(desk),
            **await _asked(desk),
        }
        return desk.page(request, "overview.html", **known)

    async def live(request: Request) -> Response:
        return desk.live(request, "overview", lambda: _patch(desk))

    async def pause(request: Request) -> Response:
        return await _switch_all(desk, request, on=True)

    async def resume(request: Request) -> Response:
        return await _switch_all(desk, request, on=False)

    return [
        Route("/", show),
        Route("/live", live),
        Route("/pause", pause, methods=["POST"]),
        Route("/resume", resume, methods=["POST"]),
    ]


async def _switch_all(desk: Desk, request: Request, *, on: bool) -> Response:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    reason = reason_of(request)

    def do() -> str:
        client = desk.source.client
        if on:
            changed = client.Hold(api.HoldRequest(all=True, reason=reason)).changed
            return (
                f"All partitions are held; {changed} were not held before. Running jobs continue."
            )
        changed = client.Release(api.ReleaseRequest(all=True, reason=reason)).changed
        return f"All partitions run; {changed} were held."

    return await desk.act(request, "pause all" if on else "resume all", "all", do, "/")


def charts_of(desk: Desk) -> list[Chart]:
    """Return the curves of the whole queue."""
    past = desk.board.totals()
    return [
        chart(
            f"c-{name}", title, lines, past, end_s=chart_end(desk), step_s=STEP_S, points=POINTS,
            unit=unit, shown=shown,
        )
        for name, title, unit, lines, shown in _CHARTS
    ]  # fmt: skip


def chart_end(desk: Desk) -> float:
    """Return where charts end: the end of a step, so that curves move once in a step."""
    at_s = (desk.board.look.at_s or time.time()) - desk.board.origin_s
    return (at_s // STEP_S + 1) * STEP_S


def tiles(look: Look) -> dict[str, str]:
    """Return the numbers on top."""
    workers = [p.workers for p in look.places]
    eta = look.cluster.eta if look.cluster is not None and look.cluster.HasField("eta") else None
    waiting = look.sum("backlog")
    return {
        "backlog": words.count(waiting),
        "in-flight": words.count(look.sum("in_flight")),
        "delayed": words.count(look.sum("delayed")),
        "dead": words.count(look.sum("dead")),
        "rate": words.rate(sum(p.throughput_per_s for p in look.places)),
        "workers": words.count(sum(w.running for w in workers)),
        "busy": words.count(sum(w.busy for w in workers)),
        "waits": words.count(look.sum("held") + look.sum("capped") + look.sum("parked")),
        "eta": f"{words.seconds(eta.likely_s)}" if eta else "-",
    }


def cells(look: Look) -> list[tuple[str, str, str]]:
    """Return (name, level, backlog) of each partition and pool, for the strip."""
    return [(name_of(p), level(p), words.short(p.backlog)) for p in look.places]


def level(place: Any) -> str:
    """Return how much waits in a partition, from 0 to 5; x: nobody works there, p: it is held."""
    if place.stale or not place.HasField("owner"):
        return "x"
    if place.HasField("held_since_ms"):
        return "p"
    wait_s = place.oldest_waiting_ms / 1000
    return str(sum(wait_s >= edge for edge in (0.05, 1, 5, 30, 120)))


async def _patch(desk: Desk) -> Patch:
    look = desk.board.look
    found = {"strip%": " ".join(level(p) for p in look.places)}
    found |= {f"t-{name}": text for name, text in tiles(look).items()}
    for one in charts_of(desk):
        found |= one.patch()
    if len(look.places) <= _CELLS:
        found |= {f"b-{name}": backlog for name, _, backlog in cells(look)}
    return found


async def _asked(desk: Desk) -> dict[str, Any]:
    """Return what is asked for, once in some seconds for all who look."""
    found: dict[str, Any] = {"problems": []}
    questions: dict[str, tuple[float, Callable[[], list[Any]]]] = {
        "decisions": (2.0, lambda: _decisions(desk)),
        "groups": (5.0, lambda: _groups(desk)),
        "tenants": (5.0, lambda: largest_tenants(desk, _TENANTS)),
        "errors": (10.0, lambda: desk.source.reads.inspect.errors(sample=_SAMPLE)[:_ERRORS]),
    }
    answers = await asyncio.gather(
        *(
            asyncio.wait_for(desk.cached(f"overview {name}", *asked, stale_s=STALE_S), _LONGEST_S)
            for name, asked in questions.items()
        ),
        return_exceptions=True,
    )
    for name, answer in zip(questions, answers, strict=True):
        if isinstance(answer, Exception):  # the rest is shown nevertheless
            found[name] = []
            found["problems"].append(f"{name}: {sentence_of(answer)}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found[name] = answer
    return found


def _decisions(desk: Desk) -> list[Any]:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    answer = desk.source.client.ListDecisions(api.ListDecisionsRequest(page_size=50))
    moved = [d for d in answer.decisions if d.target != d.previous_target]
    return moved[:_DECISIONS]


def largest_tenants(desk: Desk, most: int) -> list[Any]:
    """Return the tenants with the most ready jobs, of those next in turn."""
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    return list(desk.source.client.ListTenants(api.ListTenantsRequest(most=most)).tenants)


def _groups(desk: Desk) -> list[tuple[str, str, int]]:
    """Return (key, tenant, running jobs) of groups that run most, of the jobs that run."""
    counts = Counter(one.job.group for one in desk.source.reads.inspect.running(most=1000))
    return [(words.key(group), words.tenant(group), n) for group, n in counts.most_common(_GROUPS)]
