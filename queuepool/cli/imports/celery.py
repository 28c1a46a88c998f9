r"""Celery, with Redis as its broker (kombu's virtual transport). Checked with Celery 5.7.

    <queue>          LIST    messages, pushed left and popped right: no priority, or 0
    <queue>\x06\x163 LIST    the same of priority 3, 6, 9: the higher, the later
    unacked          HASH    what workers hold, also what waits for its ETA there

A message is JSON: headers (task, id, eta, expires, retries, timelimit) and a body, base64 of JSON:
[args, kwargs, {callbacks, errbacks, chain, chord}]. Before version 4, all of it is in the body.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from queuepool.cli.imports.foreign import (
    Entry,
    Foreign,
    Reason,
    RefusedError,
    arguments_of,
    inflated,
    job_id_of,
    moment_of,
    read_json,
    text_of,
    whole_of,
)
from queuepool.cli.imports.kombu import plain
from queuepool.cli.imports.source import Source, Walk

KIND = "celery"
QUEUE = "celery"
KNOWN = b"_kombu.binding.*"  # a key of each queue
_STEPS = (3, 6, 9)
_SEPARATOR = "\x06\x16"
_ZLIB = ("application/x-gzip", "gzip", "zlib")
_LINKS = ("callbacks", "errbacks", "chain", "chord")


def places(queue: str) -> dict[bytes, str]:
    """Return where jobs of a queue wait, and the type of each place."""
    names = (queue, *(f"{queue}{_SEPARATOR}{step}" for step in _STEPS))
    return {name.encode(): "list" for name in names}


def others(_queue: str) -> dict[str, bytes]:
    """Return places of jobs that are not moved."""
    return {"held by workers": b"unacked"}


def walks(source: Source, queue: str) -> Iterator[Walk]:
    """Yield the places in order."""
    for place in places(queue):
        yield Walk(source, place, kind="list", from_tail=True)


def entries(_source: Source, queue: str, _walk: Walk, page: list[tuple[bytes, int]]) -> list[Entry]:
    """Return what the members of a page mean."""
    return [_entry(queue, member) for member, _ in page]


def _entry(queue: str, member: bytes) -> Entry:
    found: Foreign | RefusedError
    name = b""
    try:
        message = read_json(member)
        if not isinstance(message, dict):
            raise RefusedError(Reason.DAMAGED)
        name = _id_of(message)
        found = read(message)
    except RefusedError as error:
        found = error
    return Entry(member=member, job_id=job_id_of(KIND, queue, name, member), found=found)


def _id_of(message: Mapping[str, Any]) -> bytes:
    for part, name in (("headers", "id"), ("properties", "correlation_id")):
        fields = message.get(part)
        value = fields.get(name) if isinstance(fields, dict) else None
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
    return b""


def read(message: Mapping[str, Any]) -> Foreign:
    """Return the job of a message. Raises RefusedError."""
    headers, properties = message.get("headers"), message.get("properties")
    if not isinstance(headers, dict) or not isinstance(properties, dict):
        raise RefusedError(Reason.DAMAGED)
    form = message.get("content-type")
    if form == "application/x-python-serialize":
        raise RefusedError(Reason.PICKLED)
    if form != "application/json":
        raise RefusedError(Reason.SERIALIZED, text_of(form))
    body = plain(read_json(_body(message, headers, properties)))
    if isinstance(body, dict):  # version 1 of the protocol
        known: Mapping[str, Any] = body
        args, kwargs = arguments_of(body.get("args", []), body.get("kwargs", {}))
        links = [body.get(name) for name in (*_LINKS, "taskset")]
    elif isinstance(body, list) and len(body) == 3 and isinstance(body[2], dict):
        known = headers
        args, kwargs = arguments_of(body[0], body[1])
        links = [body[2].get(name) for name in _LINKS]
    else:
        raise RefusedError(Reason.DAMAGED)
    if any(links):
        raise RefusedError(Reason.LINKED)
    limits = known.get("timelimit")
    hard = limits[0] if isinstance(limits, list) and limits else None
    return Foreign(
        task=text_of(known.get("task")),
        args=args,
        kwargs=kwargs,
        due_ms=moment_of(known.get("eta")),
        expires_ms=moment_of(known.get("expires")),
        priority=whole_of(properties.get("priority")),
        timeout_s=hard if isinstance(hard, (int, float)) and hard > 0 else None,
    )


def _body(
    message: Mapping[str, Any], headers: Mapping[str, Any], properties: Mapping[str, Any]
) -> bytes:
    body = message.get("body")
    if not isinstance(body, str):
        raise RefusedError(Reason.DAMAGED)
    raw = body.encode("utf-8", "surrogatepass")
    if properties.get("body_encoding") == "base64":
        try:
            raw = base64.b64decode(raw, validate=True)
        except (binascii.Error, ValueError):
            raise RefusedError(Reason.DAMAGED) from None
    compression = headers.get("compression")
    if compression is None:
        return raw
    if compression not in _ZLIB:
        raise RefusedError(Reason.COMPRESSED)
    return inflated(raw)
