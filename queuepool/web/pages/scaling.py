"""How worker counts are decided: what holds, decisions, what-if, the shadow; mode and limits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from queuepool.models.eta import Eta, last_of, part_with, workers_within
from queuepool.web.desk import Desk, RefusedError, fields, reason_of, sentence_of
from queuepool.web.drawing import words
from queuepool.web.live.board import name_of

MODES = ("auto", "hold", "hold-up", "hold-down", "manual")
PROFILES = ("", "quiet", "normal", "spike", "extreme")
_SHOWN = 60
_LONGEST_S = 2.0  # that the page waits for one part of it


async def _known(desk: Desk, pool: str) -> dict[str, Any]:
    known: dict[str, Any] = {"policy": None, "decisions": [], "problems": []}
    questions = {"policy": _policy, "decisions": _decisions}
    answers = await asyncio.gather(
        *(
            asyncio.wait_for(
                desk.cached(f"scaling {name} {pool}", 1.5, partial(ask, desk, pool)), _LONGEST_S
            )
            for name, ask in questions.items()
        ),
        return_exceptions=True,
    )
    for name, answer in zip(questions, answers, strict=True):
        if isinstance(answer, Exception):  # the rest is shown nevertheless
            known["problems"].append(f"{name}: {sentence_of(answer)}")
        else:
            known[name] = answer
    return known


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        pool = request.query_params.get("pool", "")
        known = await _known(desk, pool)
        look = desk.board.look
        shadow = look.cluster.shadow if look.cluster and look.cluster.HasField("shadow") else None
        most = _most(known["policy"], look)
        values = dict(known["policy"].record.values) if known["policy"] else {}
        usual = dict.fromkeys(("min_workers", "max_workers", "budget", "profile"), "")
        return desk.page(
            request, "scaling.html", pool=pool, modes=MODES, profiles=PROFILES, shadow=shadow,
            answers=answers(look, most), most=most, record_values=usual | values,
            record_values_shown=sorted(values.items()), **known,
        )  # fmt: skip

    async def what_if(request: Request) -> Response:
        text = request.query_params.get("most", "")
        most = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 64
        found = answers(desk.board.look, max(most, 1))
        return HTMLResponse(desk.part("answers.html", answers=found))

    async def change(request: Request) -> Response:
        asked, reason = fields(request), reason_of(request)
        return await desk.act(
            request, "set scaling", asked.get("name", asked.get("pool", "")),
            lambda: _set(desk, asked, reason), _address(asked.get("pool", "")),
        )  # fmt: skip

    return [
        Route("/scaling", show),
        Route("/scaling/what-if", what_if),
        Route("/scaling/set", change, methods=["POST"]),
    ]


def _address(pool: str) -> str:
    return "/scaling" + (f"?{urlencode({'pool': pool})}" if pool else "")


def _policy(desk: Desk, pool: str) -> Any:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    return desk.source.client.GetPolicy(api.GetPolicyRequest(pool=pool))


def _decisions(desk: Desk, pool: str) -> list[Any]:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    request = api.ListDecisionsRequest(page_size=_SHOWN, pool=pool)
    return list(desk.source.client.ListDecisions(request).decisions)


def _most(policy: Any, look: Any) -> int:
    if policy is not None and policy.HasField("in_force") and policy.in_force.limits.max_workers:
        return int(policy.in_force.limits.max_workers)
    return int(look.cluster.limits.max_workers) if look.cluster else 64


def answers(look: Any, most: int) -> list[tuple[str, str, str, str]]:
    """Return (case, jobs, workers, when they end) of now, and with another maximum."""
    found = []
    for case, bound in (("now", None), (f"with at most {most:,} a partition", most)):
        jobs = [p.backlog + p.in_flight for p in look.places]
        counts = [
            workers_within(bound, max(p.workers.target, p.workers.running), left, p.service_s)
            for p, left in zip(look.places, jobs, strict=True)
        ]
        parts = (
            part_with(left, n, p.service_s)
            for p, left, n in zip(look.places, jobs, counts, strict=True)
        )
        why = _unknown(look.places)
        ends = f"unknown: {why}" if why else _range(last_of(parts) if jobs else None)
        found.append((case, words.count(sum(jobs)), words.count(sum(counts)), ends))
    return found


def _unknown(places: Sequence[Any]) -> str:
    """Return why nobody knows when the jobs of all places end: who cannot be read, or is idle."""
    for p in places:
        if p.error or p.stale:
            return f"partition {name_of(p)} cannot be read"
    for p in places:
        owned = p.HasField("owner") and p.owner.lease_remaining_ms > 0
        if p.backlog + p.in_flight and not owned:
            return f"partition {name_of(p)} has no owner"
    return ""


def _range(eta: Eta | None) -> str:
    if eta is None:
        return "unknown: no job has ended recently"
    return f"{words.seconds(eta.low_s)} to {words.seconds(eta.high_s)}"


def _set(desk: Desk, asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    names = ("mode", "profile", "min_workers", "max_workers", "budget", "schedule", "shadow")
    changes = {name: asked[name].strip() for name in names if name in asked}
    if asked.get("name", "").strip():
        changes[asked["name"].strip()] = asked.get("value", "").strip()
    if not changes:
        raise RefusedError("nothing was set: the form was empty")
    version = asked.get("version", "")  # where a form sets several: another tab may be older
    request = api.SetPolicyRequest(
        changes=changes, reason=reason, pool=asked.get("pool", ""),
        version=int(version) if version.isdecimal() else None,
    )  # fmt: skip
    answer = desk.source.client.SetPolicy(request)
    before, after = dict(answer.before.values), dict(answer.after.values)
    moved = [
        f"{name}: {before.get(name, 'not set')} → {after.get(name, 'not set')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    return "; ".join(moved) or "It had these settings already."
