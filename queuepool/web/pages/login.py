"""Signing in with a token, and out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from queuepool.web.desk import Desk, fields


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        if request.state.user is not None:
            return RedirectResponse(_inside(request, request.query_params.get("next", "")), 303)
        return _form(request, "")

    def _form(request: Request, problem: str, status: int = 200) -> Response:
        wanted = fields(request).get("next") or request.query_params.get("next", "/")
        return desk.page(request, "login.html", status, next=wanted, problem=problem)

    async def enter(request: Request) -> Response:
        guard, token = request.state.guard, fields(request).get("token", "").strip()
        if guard.tokens.user(token) is None:
            return _form(request, "Unknown token.", 403)
        answer = RedirectResponse(_inside(request, fields(request).get("next", "")), 303)
        session = guard.cookie_text(request, "", guard.tokens.session(token))
        answer.headers.append("set-cookie", session)
        return answer

    async def leave(request: Request) -> Response:
        answer = RedirectResponse(f"{request.scope.get('root_path', '')}/login", 303)
        answer.headers.append("set-cookie", request.state.guard.cookie_text(request, "", "", 0))
        return answer

    return [
        Route("/login", show),
        Route("/login", enter, methods=["POST"]),
        Route("/logout", leave, methods=["POST"]),
    ]


def _inside(request: Request, wanted: str) -> str:
    """Return the address of a page of ours, whatever is wanted."""
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    plain = wanted if is_ours and wanted.isprintable() else "/"
    return f"{request.scope.get('root_path', '')}{plain}"
