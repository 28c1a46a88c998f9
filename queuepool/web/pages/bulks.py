"""Acts on many jobs: first how many, then doing it, watched and stopped."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

from markupsafe import escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.web.bulk import WORDS, Bulk, Bulks, count, said_of
from queuepool.web.desk import Desk, RefusedError, fields, sentence_of
from queuepool.web.drawing import words
from queuepool.web.live.hub import Patch
from queuepool.web.pages.find import FILTERS


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of these pages."""
    pages = _Pages(desk)
    return [
        Route("/bulk", pages.preview, methods=["POST"]),
        Route("/bulk/begin", pages.begin, methods=["POST"]),
        Route("/bulk/{name}", pages.show),
        Route("/bulk/{name}/live", pages.live),
        Route("/bulk/{name}/stop", pages.stop, methods=["POST"]),
    ]


class _Pages:
    def __init__(self, desk: Desk) -> None:
        self._desk, self._bulks = desk, Bulks()
        desk.at_end.append(self._bulks.stop_all)

    async def preview(self, request: Request) -> Response:
        asked = fields(request)
        given, what = _given(asked), asked.get("what", "")
        if given.get("state") != "delayed":  # of these it is the time at which they are due
            given.setdefault("until", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}+00:00")
        problem, wanted = "", 0
        try:
            if what not in WORDS:
                raise RefusedError("choose what to do")
            wanted = await self._desk.off_loop(lambda: count(self._desk.source.reads, what, given))
        except Exception as error:  # shown where it was typed
            problem = sentence_of(error)
        back = "/find?" + urlencode(given)
        return self._desk.page(
            request, "bulk_preview.html", 400 if problem else 200, given=given, what=what,
            wanted=wanted, problem=problem, back=back,
        )  # fmt: skip

    async def begin(self, request: Request) -> Response:
        asked = fields(request)
        given, what, by = _given(asked), asked.get("what", ""), request.state.user.name
        why = words.clean(asked.get("reason", ""), 200)
        made: list[Bulk] = []

        def do() -> str:
            rate, pool = _rate(asked.get("rate", "")), self._desk.source.pool
            bulk = self._bulks.begin(pool, what, given, rate, by, why)
            made.append(bulk)
            return f"{bulk.wanted:,} jobs are being {WORDS[what]} (act {bulk.name})."

        try:
            answer = await self._desk.act(request, said_of(what), urlencode(given), do, "/find")
        finally:
            for bulk in made:
                bulk.begin_logged.set()
        if made:
            root = request.scope.get("root_path", "")
            answer.headers["location"] = f"{root}/bulk/{made[0].name}"
        return answer

    def _found(self, request: Request) -> Bulk:
        found = self._bulks.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404, "unknown action: the page has been restarted since")
        return found

    async def show(self, request: Request) -> Response:
        return self._desk.page(request, "bulk.html", bulk=self._found(request), past=WORDS)

    async def live(self, request: Request) -> Response:
        bulk = self._found(request)

        async def render() -> Patch:
            return _patch(bulk)

        return self._desk.live(request, f"bulk {bulk.name}", render, 0.5)

    async def stop(self, request: Request) -> Response:
        bulk = self._found(request)

        def do() -> str:
            if bulk.state != "running":
                raise RefusedError(f"it had already ended: {bulk.text}")
            bulk.stop(request.state.user.name)
            return f"Stopped; {bulk.changed:,} jobs were {WORDS[bulk.what]}."

        back = f"/bulk/{bulk.name}"
        return await self._desk.act(request, f"stop {bulk.what}", f"act {bulk.name}", do, back)


def _given(asked: Mapping[str, str]) -> dict[str, str]:
    return {name: asked[name].strip() for name in FILTERS if asked.get(name, "").strip()}


def _rate(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.01 <= rate <= 1e6:
        raise RefusedError("a rate is in jobs per second, at least 0.01")
    return rate


def _patch(bulk: Bulk) -> Patch:
    passed_s = max(time.time() - bulk.began_s, 0.1)
    found = {
        "k-changed": words.count(bulk.changed),
        "k-state": bulk.state,
        "k-share": f"{bulk.share:.0%}",
        "k-rate": words.rate(bulk.changed / passed_s) if bulk.state == "running" else "-",
        "k-bar@width": f"{1000 * bulk.share:.0f}",
        "k-text": str(escape(words.clean(bulk.text, 500))),
    }
    return found if bulk.state == "running" else found | {"k-acts@hidden": ""}
