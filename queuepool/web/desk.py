"""What all pages share: the board, the source, templates, and how an act is done and told."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from queuepool import __version__
from queuepool.client import log
from queuepool.errors import QueuePoolError
from queuepool.models.log import LogEntry, LogKind
from queuepool.rpc.acting import acting
from queuepool.web.answers import Answers
from queuepool.web.auth.guard import FORM_FIELD
from queuepool.web.drawing import words
from queuepool.web.live.board import Board
from queuepool.web.live.hub import Hub, Patch, Render, TooManyWatchersError
from queuepool.web.live.watcher import Watcher
from queuepool.web.settings import WebSettings
from queuepool.web.settings import words as parts
from queuepool.web.source import NoCoordinatorError, Source
from queuepool.web.verdict import patch_of, verdict_of

T = TypeVar("T")
_KEEP_S = 2.0  # for the log, before the answer to an act goes out without it
STATIC = Path(__file__).with_name("static")
_audit = logging.getLogger("queuepool.web.audit")
_log = logging.getLogger("queuepool.web")
NAV = (
    ("", "Overview"),
    ("groups", "Groups"),
    ("find", "Jobs"),
    ("errors", "Errors"),
    ("scaling", "Scaling"),
    ("limits", "Limits"),
    ("schedules", "Schedules"),
    ("flows", "Flows"),
    ("log", "Log"),
    ("system", "System"),
)


class RefusedError(QueuePoolError):
    """What was typed into a form cannot be done."""


class Desk:
    """One for each application. Pages call it from the event loop."""

    def __init__(self, settings: WebSettings, source: Source) -> None:
        self.settings, self.source = settings, source
        self.board, self.hub = Board(), Hub(self._unread)
        self.watcher = Watcher(self.board, source.connect, self.hub.changed)
        self.masked = tuple(parts(settings.masked))
        self.at_end: list[Callable[[], None]] = []
        self._answers = Answers()
        self._templates = Environment(
            loader=PackageLoader("queuepool.web"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        named = ("count", "short", "rate", "seconds", "moment", "clock", "distance", "key",
                 "key_of_link", "tenant", "clean", "lines", "as_json", "size")  # fmt: skip
        self._templates.filters |= {name: getattr(words, name) for name in named}
        files = sorted(STATIC.iterdir())
        self._stamp = sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:10]

    def start(self) -> None:
        """Begin to follow the coordinator; a later call does nothing."""
        self.hub.bind()
        self.watcher.start()

    def stop(self) -> None:
        """End streams and connections."""
        self.hub.close()
        self._answers.close()
        for end in self.at_end:
            end()
        self.watcher.stop()
        self.source.close()

    # -- show ------------------------------------------------------------------------------------

    def page(self, request: Request, template: str, code: int = 200, /, **known: Any) -> Response:
        """Return a page."""
        state = request.state
        root = request.scope.get("root_path", "")
        guard = state.guard
        note = guard.seals.read_note(request.cookies.get(f"{guard.cookie}_note", ""))
        user = state.user
        text = self.part(
            template,
            **known,
            root=root,
            path=request.url.path.removeprefix(root).strip("/"),
            user=user,
            may_act=user is not None and user.may_act,
            form_field=FORM_FIELD,
            form_token=guard.seals.form_token(state.seed, "" if user is None else user.name),
            nav=NAV,
            note=note,
            verdict=verdict_of(self.board.look, time.time()),
            version=__version__,
            stamp=self._stamp,
        )
        answer = HTMLResponse(text, code)
        if note is not None:
            answer.headers.append("set-cookie", guard.cookie_text(request, "note", "", 0))
        return answer

    def part(self, template: str, /, **known: Any) -> Markup:
        """Return a template as safe text."""
        return Markup(self._templates.get_template(template).render(**known))  # noqa: S704 - escaped

    def live(
        self, request: Request, name: str, render: Render, every_s: float | None = None
    ) -> Response:
        """Return a stream of updates; each has the first line as well."""

        async def whole() -> Patch:
            found = await render()
            return {**self.first_line(), **found}

        try:
            events = self.hub.stream(name, whole, every_s, request.state.user.name)
        except TooManyWatchersError:
            return Response("too many viewers already\n", 503, {"retry-after": "10"})
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    def first_line(self, unread: str = "") -> dict[str, str]:
        """Return the first line as an update. unread: what of the page cannot be read, and why."""
        return patch_of(verdict_of(self.board.look, time.time(), unread))

    def _unread(self, name: str, error: Exception, last_s: float | None) -> Patch:
        text = sentence_of(error)
        trace = None if _is_expected(error) else error
        _log.warning("%s cannot be updated: %s", words.clean(name, 200), text, exc_info=trace)
        since = f" since {words.clock(round(last_s * 1000))}" if last_s else ""
        return self.first_line(f"this page could not be updated{since}: {text}")

    # -- ask -------------------------------------------------------------------------------------

    async def off_loop(self, ask: Callable[[], T]) -> T:
        """Return what a blocking call returns."""
        return await run_in_threadpool(ask)

    async def cached(
        self, name: str, keep_s: float, ask: Callable[[], T], *, stale_s: float = 0.0
    ) -> T:
        """Return what a blocking call returned lately, so that many watchers cost as one."""
        return await self._answers.get(name, keep_s, ask, stale_s=stale_s)

    def forget(self) -> None:
        """Forget what was asked lately: it has changed."""
        self._answers.forget()

    # -- act -------------------------------------------------------------------------------------

    async def act(
        self, request: Request, what: str, subject: str, do: Callable[[], str], back: str
    ) -> Response:
        """Do what an operator asked for, write it down, and return to a page that tells it.

        do: returns what happened, in a sentence. back: the path of the page.
        """
        who = request.state.user.name
        why = words.clean(request.state.form.get("reason", ""), 200)
        with acting(who, "page", why) as act:
            try:
                text, kind = await self.off_loop(do), "done"
            except Exception as error:
                text, kind = sentence_of(error), "failed"
                if not _is_expected(error):
                    _log.exception("%s failed", what)
        line = {
            "who": who,
            "subject": words.clean(subject, 200),
            "why": why,
            "outcome": kind if kind == "done" else words.clean(text, 200),
        }
        _audit.info("%s", what, extra=line)
        if not act.logged:
            outcome = text if kind == "done" else f"failed: {text}"
            text += await self._keep(
                LogEntry(
                    kind=LogKind.ACT, what=what, subject=subject, who=who, via="page", why=why,
                    outcome=outcome,
                )
            )  # fmt: skip
        self.forget()
        return self.back(request, back, kind, text)

    async def _keep(self, entry: LogEntry) -> str:
        """Write an entry into the log of the queue; return what to say if that failed."""

        def write() -> None:
            self.source.pool.carry_out(log.write([entry]))

        try:
            await asyncio.wait_for(self.off_loop(write), _KEEP_S)
        except Exception as error:  # whatever it is: the act itself is done
            told = f"no answer within {_KEEP_S:g} s" if isinstance(error, TimeoutError) else error
            _log.warning("an action could not be written to the log of the queue: %s", told)
            return f" (It could not be written to the log: {words.clean(str(told), 200)})"
        return ""

    def back(self, request: Request, path: str, kind: str, text: str) -> Response:
        """Return a redirection to a page of ours that shows a note."""
        guard = request.state.guard
        answer = RedirectResponse(f"{request.scope.get('root_path', '')}{path}", 303)
        note = guard.seals.note(kind, words.clean(text, 600))
        answer.headers.append("set-cookie", guard.cookie_text(request, "note", note, 60))
        return answer


def reason_of(request: Request) -> str:
    """Return why an operator acts, with who it is: for the record of a coordinator."""
    why = words.clean(request.state.form.get("reason", "").strip(), 120)
    return f"{why + ' ' if why else ''}(by {request.state.user.name} on the page)"


def sentence_of(error: Exception) -> str:
    """Return what went wrong, for people."""
    if isinstance(error, QueuePoolError | ValueError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    import grpc

    if isinstance(error, grpc.RpcError):
        refused = f"the coordinator refused: {error.details() or ''}"
        return "no coordinator responds" if is_away(error) else refused
    return f"{type(error).__name__}: {error}"


def is_away(error: Exception) -> bool:
    """Return whether an error says that there is no coordinator, or that it does not answer."""
    import grpc

    away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    if isinstance(error, grpc.RpcError):
        return error.code() in away
    return isinstance(error, NoCoordinatorError)


def _is_expected(error: Exception) -> bool:
    import grpc

    return isinstance(error, QueuePoolError | ValueError | grpc.RpcError)


def fields(request: Request) -> Mapping[str, str]:
    """Return what was typed into a form."""
    found: dict[str, str] = request.state.form
    return found
