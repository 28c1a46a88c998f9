"""Groups: those at work, and one of them with its progress, its errors and its settings."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.client.group import TaskGroup
from queuepool.client.pool import QueuePool
from queuepool.errors import UnavailableError
from queuepool.errors.escaping import key_bytes_of
from queuepool.models import GroupStatus
from queuepool.models.eta import Eta
from queuepool.models.history import PastRun
from queuepool.models.tenants import key_in
from queuepool.routing.slots import key_bytes
from queuepool.verbs.operator import finding
from queuepool.web.desk import Desk, RefusedError, fields, reason_of, sentence_of
from queuepool.web.drawing import words
from queuepool.web.live.hub import Patch
from queuepool.web.pages.overview import STALE_S, largest_tenants

_LISTED, _ERRORS, _TENANTS = 30, 5, 10
_LOOK_S = 2.0
_LONGEST_S = 2.0  # that the page waits for one part of it
_PARTS = (
    ("done", "done", ("done",)),
    ("flight", "running", ("in_flight",)),
    ("waits", "waiting", ("ready", "parked", "delayed")),
    ("lost", "dead", ("dead", "evicted", "discarded")),
    ("other", "cancelled or expired", ("cancelled", "expired")),
)


async def _known(desk: Desk) -> dict[str, Any]:
    known: dict[str, Any] = {"problems": []}
    for name, ask in (("groups", _at_work), ("tenants", partial(largest_tenants, most=_TENANTS))):
        try:
            asked = desk.cached(f"groups {name}", 3.0, partial(ask, desk), stale_s=STALE_S)
            known[name] = await asyncio.wait_for(asked, _LONGEST_S)
        except Exception as error:  # the rest is shown nevertheless
            known[name] = []
            known["problems"].append(sentence_of(error))
    return known


async def _show(desk: Desk, request: Request) -> Response:
    key, tenant = _asked(request)
    address = _address(key, tenant)  # also tells groups of tenants apart
    group = await desk.off_loop(lambda: _group(desk.source.reads, key, tenant))
    status = await desk.off_loop(lambda: _known_status(group, key))
    errors = await desk.cached(f"errors of {address}", 5.0, lambda: _errors(desk, key, tenant))
    number = group.partition.number
    lanes = await desk.cached(f"lanes of {number}", 2.0, lambda: _lanes(group))
    runs = await desk.cached(f"runs of {address}", 5.0, lambda: _runs(group))
    return desk.page(
        request, "group.html", key=key, tenant=tenant, status=status, errors=errors,
        partition=number, lanes=lanes, times=times_of(runs), bars=bars(status),
        progress=f"{status.progress:.1%}", address=address, states=states(status),
    )  # fmt: skip


async def _live(desk: Desk, request: Request) -> Response:
    key, tenant = _asked(request)
    group = await desk.off_loop(lambda: _group(desk.source.reads, key, tenant))
    with suppress(UnavailableError):  # the page tells that, and goes on later
        await desk.off_loop(lambda: _known_status(group, key))
    past: list[tuple[float, int]] = []

    async def render() -> Patch:
        eta, status = await desk.off_loop(lambda: (group.eta(over_s=1.0), group.status()))
        past.append((time.monotonic(), status.total - status.left))
        del past[:-10]
        return _patch(status, eta, _rate(past))

    return desk.live(request, _address(key, tenant), render, _LOOK_S)


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of these pages."""

    async def index(request: Request) -> Response:
        return desk.page(request, "groups.html", **await _known(desk))

    async def show(request: Request) -> Response:
        return await _show(desk, request)

    async def live(request: Request) -> Response:
        return await _live(desk, request)

    async def act(request: Request) -> Response:
        key, tenant = _asked(request)
        do = _ACTS.get(request.path_params["what"])
        if do is None:
            raise HTTPException(404, "there is no such action")
        asked, reason = fields(request), reason_of(request)
        return await desk.act(
            request, f"{request.path_params['what']} group", f"{tenant} {key}".strip(),
            lambda: do(desk, key, tenant, asked, reason), _address(key, tenant),
        )  # fmt: skip

    return [
        Route("/groups", index),
        Route("/group", show),
        Route("/group/live", live),
        Route("/group/act/{what}", act, methods=["POST"]),
    ]


def _asked(request: Request) -> tuple[str, str]:
    key = request.query_params.get("key", "")
    if not key:
        raise HTTPException(400, "name the group: ?key=...")
    return key, request.query_params.get("tenant", "")


def _address(key: str, tenant: str) -> str:
    return "/group?" + urlencode({"key": key} | ({"tenant": tenant} if tenant else {}))


def _group(pool: QueuePool, key: str, tenant: str) -> TaskGroup:
    return pool.group(key_bytes_of(key), tenant=tenant or None)


def _known_status(group: TaskGroup, key: str) -> GroupStatus:
    status = group.status()
    if status.total == 0 and not status.has_settings:
        raise HTTPException(404, f"no jobs are known of the group {words.clean(key, 200)}")
    return status


def _at_work(desk: Desk) -> list[tuple[str, str, int]]:
    counts = Counter(one.job.group for one in desk.source.reads.inspect.running(most=5000))
    return [(words.key(g), words.tenant(g), n) for g, n in counts.most_common(_LISTED)]


def _errors(desk: Desk, key: str, tenant: str) -> list[Any]:
    found = desk.source.reads.inspect.find(
        "dead", partition_key=key_bytes_of(key), tenant=tenant or None
    )
    return [job for job, _ in zip(found, range(_ERRORS), strict=False)]


def _lanes(group: TaskGroup) -> int:
    """Return how many lanes, or tenants with lanes, take turns in the partition of a group."""
    return sum(group.partition.observe().lanes)


def _runs(group: TaskGroup) -> list[PastRun]:
    """Return the latest executions of the group that are on record, if consumers keep any."""
    _, runs = group.partition.run(finding.history(None, 0, 200))
    wanted = {words.key(group.group), key_in(group.group).decode("utf-8", "replace")}
    return [run for run in runs if run.group in wanted]


def times_of(runs: list[PastRun]) -> list[tuple[str, str, str]]:
    """Return (what, half of the jobs, 99 of 100) of waits and runs; nothing without a history."""
    if not runs:
        return []
    found = []
    for name, values in (("wait", [r.waited_s for r in runs]), ("run", [r.ran_s for r in runs])):
        ordered = sorted(values)
        p50, p99 = (
            ordered[len(ordered) // 2],
            ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
        )
        found.append((name, words.seconds(p50), words.seconds(p99)))
    return found


def bars(status: GroupStatus) -> list[tuple[str, float, float]]:
    """Return (style, begin, width) of the parts of the progress bar, of 1,000."""
    found, begin = [], 0.0
    for style, _, names in _PARTS:
        width = 1000 * sum(getattr(status, name) for name in names) / max(status.total, 1)
        found.append((style, round(begin, 1), round(width, 1)))
        begin += width
    return found


def states(status: GroupStatus) -> list[tuple[str, str, str, str]]:
    """Return (style, id, what, how many) of each state."""
    found = []
    for style, _, names in _PARTS:
        found += [
            (style, name, name.replace("_", " "), words.count(getattr(status, name)))
            for name in names
        ]
    return found


def _rate(past: list[tuple[float, int]]) -> float:
    (first_s, before), (last_s, now) = past[0], past[-1]
    return max(0.0, (now - before) / (last_s - first_s)) if last_s > first_s else 0.0


def _patch(status: GroupStatus, eta: Eta | None, rate: float) -> Patch:
    found = {f"s-{name}": n for _, name, _, n in states(status)}
    for style, begin, width in bars(status):
        found |= {f"bar-{style}@x": str(begin), f"bar-{style}@width": str(width)}
    ends = "-"
    if eta is not None and status.left:
        ends = f"{words.seconds(eta.low_s)} to {words.seconds(eta.high_s)}"
    return found | {
        "g-total": words.count(status.total),
        "g-left": words.count(status.left),
        "g-progress": f"{status.progress:.1%}",
        "g-rate": words.rate(rate),
        "g-eta": ends,
    }


# -- acts ------------------------------------------------------------------------------------------


def _switch(desk: Desk, key: str, tenant: str, reason: str, *, on: bool) -> bool:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    if tenant:  # the API takes keys alone
        group = _group(desk.source.pool, key, tenant)
        return group.hold() if on else group.release()
    raw, client = key_bytes(key_bytes_of(key)), desk.source.client
    if on:
        return bool(client.Hold(api.HoldRequest(partition_key=raw, reason=reason)).changed)
    return bool(client.Release(api.ReleaseRequest(partition_key=raw, reason=reason)).changed)


def _hold(desk: Desk, key: str, tenant: str, _asked: Any, reason: str) -> str:
    changed = _switch(desk, key, tenant, reason, on=True)
    return "The group is held; running jobs continue." if changed else "It was already held."


def _release(desk: Desk, key: str, tenant: str, _asked: Any, reason: str) -> str:
    changed = _switch(desk, key, tenant, reason, on=False)
    return "The group runs again." if changed else "The group was not held."


def _cancel(desk: Desk, key: str, tenant: str, _asked: Any, _reason: str) -> str:
    cancelled, asked = _group(desk.source.pool, key, tenant).cancel()
    return f"{cancelled:,} jobs were cancelled; {asked:,} running ones were asked to stop."


def _configure(desk: Desk, key: str, tenant: str, asked: Any, reason: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    wanted: dict[str, Any] = {}
    try:
        for name in ("max_running", "weight"):
            if asked.get(name, "").strip():
                wanted[name] = int(asked[name])
    except ValueError:
        raise RefusedError("nothing was set: write whole numbers") from None
    if asked.get("serial") in ("yes", "no"):
        wanted["serial"] = asked["serial"] == "yes"
    if asked.get("tier"):
        wanted["tier"] = asked["tier"]
    if not wanted:
        raise RefusedError("nothing was set: the form was empty")
    if tenant:
        changed = _group(desk.source.pool, key, tenant).configure(**wanted)
    else:
        request = api.ConfigureGroupRequest(
            partition_key=key_bytes(key_bytes_of(key)), reason=reason, **wanted
        )
        changed = desk.source.client.ConfigureGroup(request).changed
    return "The group is configured." if changed else "It had these settings already."


_ACTS = {"hold": _hold, "release": _release, "cancel": _cancel, "configure": _configure}
