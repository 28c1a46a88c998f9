"""What a server must be able and willing to do: found out by doing it, never by a version.

Valkey calls itself Redis 7.2.4 and managed services call themselves anything, so each function
that the scripts use is tried once, on keys of its own that expire within a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import redis

from queuepool.verbs.scripts import names, script

_LUA = b"#!lua flags=allow-oom\nreturn redis.call('PING')"
_KEEP_MS = 60_000

Probe = tuple[str, tuple[Any, ...]]


class Trouble(StrEnum):
    """Why a probe failed."""

    MISSING = "missing"  # this server does not know the function
    FORBIDDEN = "forbidden"  # the user may not call it, or not on these keys
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failure:
    """A function that does not work. text: the server's own words."""

    function: str
    trouble: Trouble
    text: str


def commands(base: bytes) -> list[Probe]:
    """Return (function, call) for everything the library does, on fresh keys under `base`."""
    own = base + b":probe:" + os.urandom(6).hex().encode() + b":"
    h, l, z, s, x, k = (own + kind for kind in (b"h", b"l", b"z", b"s", b"x", b"k"))  # noqa: E741
    calls: list[Probe] = [
        ("TIME", ("TIME",)),
        ("SET", ("SET", k, "1", "PX", _KEEP_MS)),
        ("GET", ("GET", k)),
        ("EXISTS", ("EXISTS", k)),
        ("TYPE", ("TYPE", k)),
        ("PERSIST", ("PERSIST", k)),
        ("PEXPIRE", ("PEXPIRE", k, _KEEP_MS)),
        ("PTTL", ("PTTL", k)),
        ("UNLINK", ("UNLINK", k)),
        ("HSET", ("HSET", h, "a", "1")),
        ("HSETNX", ("HSETNX", h, "a", "1")),
        ("HINCRBY", ("HINCRBY", h, "a", 1)),
        ("HGET", ("HGET", h, "a")),
        ("HMGET", ("HMGET", h, "a", "b")),
        ("HGETALL", ("HGETALL", h)),
        ("HEXISTS", ("HEXISTS", h, "a")),
        ("HSTRLEN", ("HSTRLEN", h, "a")),
        ("HKEYS", ("HKEYS", h)),
        ("HLEN", ("HLEN", h)),
        ("HSCAN", ("HSCAN", h, 0)),
        ("HDEL", ("HDEL", h, "a")),
        ("RPUSH", ("RPUSH", l, "a", "b", "c")),
        ("LPUSH", ("LPUSH", l, "0")),
        ("LLEN", ("LLEN", l)),
        ("LINDEX", ("LINDEX", l, 0)),
        ("LRANGE", ("LRANGE", l, 0, -1)),
        ("LPOS (Redis 6.0.6)", ("LPOS", l, "b")),
        ("LPOP with a count (Redis 6.2)", ("LPOP", l, 1)),
        ("BLPOP", ("BLPOP", l, 0.01)),
        ("ZADD", ("ZADD", z, 1, "a", 2, "b")),
        ("ZCARD", ("ZCARD", z)),
        ("ZCOUNT", ("ZCOUNT", z, "-inf", "+inf")),
        ("ZSCORE", ("ZSCORE", z, "a")),
        ("ZMSCORE (Redis 6.2)", ("ZMSCORE", z, "a", "b")),
        ("ZRANGE", ("ZRANGE", z, 0, -1)),
        ("ZRANGEBYSCORE", ("ZRANGEBYSCORE", z, "-inf", "+inf")),
        ("ZREVRANGE", ("ZREVRANGE", z, 0, 0)),
        ("ZREVRANGEBYSCORE", ("ZREVRANGEBYSCORE", z, "+inf", "-inf")),
        ("ZSCAN", ("ZSCAN", z, 0)),
        ("ZREM", ("ZREM", z, "a")),
        ("SADD", ("SADD", s, "a")),
        ("SCARD", ("SCARD", s)),
        ("SSCAN", ("SSCAN", s, 0)),
        ("SREM", ("SREM", s, "b")),
        ("SMISMEMBER (Redis 6.2)", ("SMISMEMBER", s, "a", "b")),
        ("XADD", ("XADD", x, "MAXLEN", "~", 10, "1-1", "a", "1")),
        ("XRANGE", ("XRANGE", x, "-", "+")),
        ("XREVRANGE", ("XREVRANGE", x, "+", "-", "COUNT", 1)),
        ("INFO", ("INFO", "server")),
        ("scripts with flags (#!lua, Redis 7.0)", ("SCRIPT", "LOAD", _LUA)),
    ]
    loads: list[Probe] = [
        (f"SCRIPT LOAD {n}", ("SCRIPT", "LOAD", script(n).source)) for n in names()
    ]
    ends: list[Probe] = [("PEXPIRE", ("PEXPIRE", key, _KEEP_MS)) for key in (h, l, z, s, x, k)]
    return [*calls, *ends, *loads, ("EVALSHA", ("EVALSHA", script("observe").sha, 1, base))]


def probe(client: Any, base: bytes) -> list[Failure]:
    """Try everything, one call after the other; return what failed."""
    failures = []
    for function, call in commands(base):
        try:
            client.execute_command(*call)
        except redis.ResponseError as error:
            failures.append(Failure(function, judge(str(error)), str(error)[:300]))
    return failures


def judge(text: str) -> Trouble:
    """Return what an error reply to a probe means."""
    lowered = text.lower()
    if "noperm" in lowered or "no permissions" in lowered or "can't run this command" in lowered:
        return Trouble.FORBIDDEN
    unknown = ("unknown", "syntax error", "wrong number of arguments", "unexpected symbol")
    if any(word in lowered for word in unknown):
        return Trouble.MISSING
    return Trouble.OTHER


def functions(failures: Iterable[Failure], trouble: Trouble) -> list[str]:
    """Return the names of what failed for one reason, the loading of scripts as one."""
    found = list(dict.fromkeys(f.function for f in failures if f.trouble is trouble))
    loads = [name for name in found if name.startswith("SCRIPT LOAD")]
    rest = [name for name in found if name not in loads]
    return [*rest, f"SCRIPT LOAD ({len(loads)} scripts)"] if loads else rest
