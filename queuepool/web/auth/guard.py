"""Stands before all pages: hosts, users, forms, rates, and the headers of every answer."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, quote

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queuepool.rpc.auth import ApiRole
from queuepool.web.auth.rates import Rates
from queuepool.web.auth.seals import Seals
from queuepool.web.auth.users import SESSION_S, Tokens, User, shown_name
from queuepool.web.settings import WebSettings, words

FORM_FIELD: Final = "_form"
_MOST_FORM = 3 * 1024**2
_MOST_OF_STRANGERS = 16 * 1024  # they only sign in
_OPEN = ("/login", "/static/")
_LOCAL = ("127.0.0.1", "localhost", "::1")
_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_audit = logging.getLogger("queuepool.web.audit")


class _RefusedError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Guard:
    """An ASGI application around the pages. Handlers find `user`, `form`, `seed` in the state.

    on_user: called with the client's address of each request of a user.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: WebSettings,
        user: Callable[[Request], User | None] | None = None,
    ) -> None:
        self._app, self._settings, self._given = app, settings, user
        self.tokens = Tokens(settings.tokens("token"), settings.tokens("viewer_token"))
        secret = settings.secret.get_secret_value().encode() if settings.secret else b""
        self.seals = Seals(secret or (self.tokens.seed if self.tokens else secrets.token_bytes(32)))
        self._proxies = frozenset(words(settings.trusted_proxies))
        self._operators = frozenset(words(settings.operators))
        hosts = words(settings.hosts)
        self._hosts = None if "*" in hosts else frozenset((*_LOCAL, settings.host, *hosts))
        self.cookie = f"queuepool_{self.seals.form_token('', 'cookie')[:8]}"
        self.on_user: Callable[[object], None] = lambda _address: None
        self._logins, self._acts = Rates(10, 0.2), Rates(60, 2.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        set_cookie: list[str] = []

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
                for cookie in set_cookie:
                    headers.append("set-cookie", cookie)
            await send(message)

        try:
            answer = await self._admit(request, set_cookie)
        except _RefusedError as refused:
            answer = PlainTextResponse(refused.text + "\n", refused.status)
        if answer is not None:
            await answer(scope, receive, sending)
            return
        await self._app(scope, receive, sending)

    async def _admit(self, request: Request, set_cookie: list[str]) -> Response | None:
        """Return an answer instead of the page's, None to go on. Raises _RefusedError."""
        self._check_host(request)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        seed = request.cookies.get(f"{self.cookie}_seed", "")
        if not seed:
            seed = self.seals.new_seed()
            set_cookie.append(self.cookie_text(request, "seed", seed, 30 * 86400))
        user = self.user_of(request)
        request.state.user, request.state.seed, request.state.form = user, seed, {}
        request.state.guard = self
        if user is not None:
            self.on_user(request.scope.get("client"))
        is_open = path.startswith(_OPEN)
        if request.method not in ("GET", "HEAD", "POST"):
            raise _RefusedError(405, "use GET or POST")
        if request.method == "POST":
            await self._check_post(request, user, path)
        if user is not None or is_open:
            return None
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            root = request.scope.get("root_path", "")
            asked = path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{root}/login?next={quote(asked)}", 303)
        raise _RefusedError(401, "sign in first")

    def _check_host(self, request: Request) -> None:
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.strip("[]").lower()
        if self._hosts is not None and name not in self._hosts:
            raise _RefusedError(421, "this host name is not allowed: set QUEUEPOOL_WEB_HOSTS to it")

    async def _check_post(self, request: Request, user: User | None, path: str) -> None:
        if not _is_own(request):
            raise _RefusedError(403, "the form came from another site")
        most = _MOST_OF_STRANGERS if user is None else _MOST_FORM
        request.state.form = form = await _form(request, most)
        name = "" if user is None or path == "/login" else user.name
        if not self.seals.is_form_token(form.get(FORM_FIELD, ""), request.state.seed, name):
            raise _RefusedError(403, "the form belongs to another session: reload the page")
        client = request.client.host if request.client else ""
        if path == "/login":
            if not self._logins.take(client):
                raise _RefusedError(429, "too many attempts to sign in: wait a minute")
        elif user is None:
            raise _RefusedError(401, "sign in first")
        elif not user.may_act and path != "/logout":
            _audit.warning(
                "refused", extra={"who": user.name, "what": path, "why": "viewers change nothing"}
            )
            raise _RefusedError(403, "viewers change nothing")
        elif not self._acts.take(user.name):
            raise _RefusedError(429, "too many actions: wait a moment")

    def user_of(self, request: Request) -> User | None:
        """Return who asks, as the application, a proxy or a session tells."""
        if self._given is not None:
            return self._given(request)
        if self._settings.user_header:
            client = request.client.host if request.client else ""
            named = request.headers.getlist(self._settings.user_header)
            if client in self._proxies and len(named) == 1 and named[0]:
                role = ApiRole.OPERATOR if named[0] in self._operators else ApiRole.VIEWER
                return User(shown_name(named[0]), role)
        return self.tokens.open(request.cookies.get(self.cookie, ""))

    def cookie_text(self, request: Request, part: str, value: str, age_s: int = SESSION_S) -> str:
        """Return a Set-Cookie header. part: "" for the session."""
        name = f"{self.cookie}_{part}" if part else self.cookie
        cookie: SimpleCookie = SimpleCookie()
        cookie[name] = value
        morsel = cookie[name]
        morsel["path"] = request.scope.get("root_path", "") or "/"
        morsel["max-age"] = str(age_s)
        morsel["httponly"], morsel["samesite"] = True, "Strict"
        if request.url.scheme == "https" or self._proxied_https(request):
            morsel["secure"] = True
        return morsel.OutputString()

    def _proxied_https(self, request: Request) -> bool:
        client = request.client.host if request.client else ""
        return client in self._proxies and request.headers.get("x-forwarded-proto") == "https"


def _is_own(request: Request) -> bool:
    """Return whether a browser says that the request comes from our own pages, or says nothing."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")


async def _form(request: Request, most: int) -> dict[str, str]:
    """Return the fields of a form; of a name that comes twice the last. Raises _RefusedError."""
    if "application/x-www-form-urlencoded" not in request.headers.get("content-type", ""):
        raise _RefusedError(415, "send a form")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise _RefusedError(413, "the form is too large")
    except ClientDisconnect:
        raise _RefusedError(400, "the form was cut off") from None  # nobody reads this
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=1000))
    except ValueError as error:
        raise _RefusedError(400, f"the form cannot be read: {error}") from None
