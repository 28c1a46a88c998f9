"""Finding jobs: by state, task, group, error, time or id, with an address that can be shared."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from queuepool.client.inspect_steps import Where
from queuepool.errors import InvalidInputError, QueuePoolError
from queuepool.errors.escaping import key_bytes_of
from queuepool.models import JobState
from queuepool.models.moments import parse_moment
from queuepool.web.desk import Desk, RefusedError, sentence_of
from queuepool.web.drawing.paging import number_of, paged
from queuepool.web.pages import jobs

STATES = ("ready", "parked", "delayed", "in-flight", "dead")
FILTERS = ("state", "task", "key", "tenant", "error", "since", "until", "partition")
_SHOWN, _MOST = 50, 1_000
_LONGEST_S, _LOOK = 3.0, 2_000  # to look for jobs; at how many at once


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        asked = request.query_params
        if asked.get("q", "").strip():
            return await _searched(desk, request, asked["q"].strip())
        given = {name: asked[name].strip() for name in FILTERS if asked.get(name, "").strip()}
        most = min(number_of(asked) * _SHOWN, _MOST)
        known, looked = list[Any](), 0  # looked: at how many jobs, if there was no time for more
        problem = ""
        if given:
            try:
                known, looked = await desk.off_loop(lambda: _find(desk, given, most))
            except (QueuePoolError, ValueError) as error:
                problem = sentence_of(error)
        here = given | {"page": asked.get("page", "")}
        more = bool(looked) or len(known) > most
        found, pages = paged(known[:_MOST], _SHOWN, here, more=more)
        return desk.page(
            request, "find.html", given={name: given.get(name, "") for name in FILTERS},
            searched=bool(given), found=found, pages=pages, looked=looked,
            problem=problem, states=STATES, acts=acts_for(given),
        )  # fmt: skip

    return [Route("/find", show)]


def acts_for(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return what can be done with all jobs that match."""
    if given.get("state") == "dead":
        return ("replay", "discard")
    return ("cancel",) if given.get("state") in ("ready", "parked", "delayed") else ()


def where_of(given: Mapping[str, str]) -> tuple[str | None, Where]:
    """Return the state and the filters as the library takes them. Raises RefusedError."""
    now = datetime.now(UTC)
    try:
        times = {
            name: parse_moment(given[name], now, UTC)
            for name in ("since", "until")
            if given.get(name)
        }
    except ValueError as error:
        raise RefusedError(str(error)) from None
    partition = given.get("partition", "")
    if partition and not (partition.isascii() and partition.isdecimal() and len(partition) < 6):
        raise RefusedError("a partition is a number")
    where = {
        "task": given.get("task") or None,
        "partition_key": key_bytes_of(given["key"]) if given.get("key") else None,
        "tenant": given.get("tenant") or None,
        "error": given.get("error") or None,
        "partition": int(partition) if partition else None,
        **times,
    }
    state = given.get("state") or None
    if state is not None and state not in STATES:
        raise RefusedError(f"a state is one of {', '.join(STATES)}")
    return state, cast("Where", {name: value for name, value in where.items() if value is not None})


def _find(desk: Desk, given: Mapping[str, str], most: int) -> tuple[list[Any], int]:
    """Return jobs that match, one more than `most` if there are more.

    Also, if that took too long, at how many jobs it looked instead of all.
    """
    state, where = where_of(given)
    pool, end_s = desk.source.reads, time.monotonic() + _LONGEST_S
    walk = pool.carry_out(pool.inspect.walk(state, where))
    found: list[Any] = []
    while len(found) <= most and not walk.is_over:
        found += pool.carry_out(walk.page(most + 1 - len(found), look=_LOOK))
        if time.monotonic() >= end_s and not walk.is_over:
            return found, walk.looked
    return found, 0


async def _searched(desk: Desk, request: Request, text: str) -> Response:
    """Lead to what a few words mean: a job's id, a partition key, or else an error's text."""
    root = request.scope.get("root_path", "")

    def meaning() -> str:
        try:
            if desk.source.reads.status(text).state is not JobState.UNKNOWN:
                return jobs.address(text)
        except InvalidInputError:
            pass  # no id looks like that
        try:
            status = desk.source.reads.group(key_bytes_of(text)).status()
            if status.total or status.has_settings:
                return "/group?" + urlencode({"key": text})
        except InvalidInputError:
            pass
        return "/find?" + urlencode({"state": "dead", "error": text})

    return RedirectResponse(root + await desk.off_loop(meaning), 303)
