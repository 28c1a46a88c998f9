"""Records that a stranger wrote: dead jobs whose ids, groups, names and errors are anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from unicodedata import category

import redis

from queuepool.client.pool import QueuePool
from queuepool.protocol import codec

NASTY = (
    "\x00nul \x07bell \x08back \x1b[31mred \x1b]0;title\x07 \rover \nforged line \x7fdel \x85nel "
    "\x9b2J \u202ertl \u2066iso\u2069 \u2028ls \u2029ps \u200bzero \ufefffeff"
)
NOT_UTF8 = b"\xff\xfe id \x1b[2J\r\n\\x41"


def body_of(
    group: bytes = b"g", task: str = "send", payload: Any = None, options: Any = None
) -> bytes:
    """Return the body of a job that was enqueued in 2026."""
    parts = [task, payload or {}, *([options] if options else [])]
    return b"1219a3b2c4d5e" + codec.encode_tail(7, group) + json.dumps(parts).encode()


def plant_dead(
    pool: QueuePool,
    job_id: bytes,
    *,
    partition: int = 0,
    body: bytes | None = None,
    error: bytes = b"",
    died: str = "1795000000000",
    attempts: bytes | None = None,
    crashes: bytes | None = None,
) -> None:
    """Write a dead job as it would lie on the server, with anything in its parts."""
    base = pool.config.keyspace.partition(partition)
    url = pool.config.topology.servers[pool.config.topology.server_of(partition)]
    with redis.Redis.from_url(url) as client:
        client.zadd(base + b":dead", {job_id: died})
        client.hset(base + b":j", job_id, body_of() if body is None else body)
        for part, value in ((b":er", error), (b":at", attempts), (b":cr", crashes)):
            if value:
                client.hset(base + part, job_id, value)


def controls(text: str, *, allowed: Sequence[str] = ("\n",)) -> list[str]:
    """Return the characters of an output that could steer a terminal, or forge a line.

    Blanks of any width (Unicode's Zs) do neither.
    """
    return [c for c in text if c not in allowed and not (c.isprintable() or category(c) == "Zs")]
