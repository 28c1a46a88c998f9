"""Parsing of requests, and the bytes of replies. Pure.

Only the request line is parsed, and of the header whether it accepts OpenMetrics; it must end
within MAX_HEAD_BYTES. No part of a request is repeated in a reply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD_BYTES = 8192  # request line and header together
TEXT = "text/plain; charset=utf-8"
_END = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"([A-Za-z!#$%&'*+.^_`|~-]{1,32}) ([\x21-\x7e]+) HTTP/([0-9])\.[0-9]")
_OPEN_METRICS = re.compile(rb"\naccept:[^\r\n]*application/openmetrics-text", re.IGNORECASE)
_AUTHORITY = re.compile(r"https?://[^/?#]*", re.IGNORECASE)  # proxies name the server in the path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply; the connection ends with it."""

    status: int
    body: bytes
    kind: str = TEXT
    allow: str = ""  # the allowed methods, for status 405


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A client's request. path has neither host nor query.

    open_metrics: whether the client names that format, which has exemplars.
    """

    path: str
    wants_body: bool  # GET; HEAD gets the same reply without it
    open_metrics: bool = False


def read_head(received: bytes | bytearray) -> Request | Reply | None:
    """Return the request, the reply that rejects it, or None if it is incomplete."""
    head = bytes(received).lstrip(b"\r\n")  # empty lines before a request are allowed
    end = _END.search(head)
    if len(received) > MAX_HEAD_BYTES and (end is None or end.end() > MAX_HEAD_BYTES):
        return _refusal(431, f"the request header exceeds {MAX_HEAD_BYTES} bytes")
    if end is None:
        return None
    line = _LINE.fullmatch(head[: end.start()].split(b"\n", 1)[0].rstrip(b"\r"))
    if line is None:
        return _refusal(400, "this is not an HTTP/1 request")
    method, target, version = (part.decode("ascii") for part in line.groups())
    if version != "1":
        return _refusal(505, "only HTTP/1.0 and HTTP/1.1 are supported")
    if method not in {"GET", "HEAD"}:
        return _refusal(405, "try GET", allow="GET, HEAD")
    path = _AUTHORITY.sub("", target, count=1) if not target.startswith("/") else target
    return Request(
        path=re.split("[?#]", path, maxsplit=1)[0] or "/",
        wants_body=method == "GET",
        open_metrics=_OPEN_METRICS.search(head, 0, end.end()) is not None,
    )


def encode(reply: Reply, *, date: str, with_body: bool = True) -> list[bytes]:
    """Return the parts to send, in order; the body is not copied. date: in RFC 9110 format."""
    fields = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        f"Date: {date}",
        f"Content-Type: {reply.kind}",
        f"Content-Length: {len(reply.body)}",
        "Connection: close",
    ]
    if reply.allow:
        fields.append(f"Allow: {reply.allow}")
    head = ("\r\n".join(fields) + "\r\n\r\n").encode("ascii")
    return [head, reply.body] if with_body and reply.body else [head]


def _refusal(status: int, text: str, *, allow: str = "") -> Reply:
    return Reply(status=status, body=f"{text}\n".encode(), allow=allow)
