"""What a server must support and permit: found out by trying, never from a version.

Valkey reports Redis 7.2.4, and managed services report anything, so each function that the scripts
use is tried once, on separate keys that expire within a minute.
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

    MISSING = "missing"  # this server lacks the function
    FORBIDDEN = "forbidden"  # the user may not call it, or not on these keys
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failure:
    """A function that does not work. text: the server's own words."""

    function: str
    trouble: Trouble
    text: str


# (function, the kind of key it is tried on, what follows the key), in this order
_KEYED: tuple[tuple[Any, ...], ...] = (
    ("SET", "k", "1", "PX", _KEEP_MS),
    ("GET", "k"),
    ("EXISTS", "k"),
    ("TYPE", "k"),
    ("SETBIT", "k", 0, 1),
    ("GETBIT", "k", 0),
    ("SETRANGE", "k", 0, "a"),
    ("GETRANGE", "k", 0, -1),
    ("STRLEN", "k"),
    ("PERSIST", "k"),
    ("PEXPIRE", "k", _KEEP_MS),
    ("PTTL", "k"),
    ("UNLINK", "k"),
    ("HSET", "h", "a", "1"),
    ("HSETNX", "h", "a", "1"),
    ("HINCRBY", "h", "a", 1),
    ("HGET", "h", "a"),
    ("HMGET", "h", "a", "b"),
    ("HGETALL", "h"),
    ("HEXISTS", "h", "a"),
    ("HSTRLEN", "h", "a"),
    ("HKEYS", "h"),
    ("HLEN", "h"),
    ("HSCAN", "h", 0),
    ("HDEL", "h", "a"),
    ("RPUSH", "l", "a", "b", "c"),
    ("LPUSH", "l", "0"),
    ("LLEN", "l"),
    ("LINDEX", "l", 0),
    ("LRANGE", "l", 0, -1),
    ("LINSERT", "l", "BEFORE", "b", "a"),
    ("LREM", "l", 1, "a"),
    ("LPOS (Redis 6.0.6)", "l", "b"),
    ("LPOP with a count (Redis 6.2)", "l", 1),
    ("RPOP with a count (Redis 6.2)", "l", 1),
    ("BLPOP", "l", 0.01),
    ("ZADD", "z", 1, "a", 2, "b"),
    ("ZCARD", "z"),
    ("ZCOUNT", "z", "-inf", "+inf"),
    ("ZSCORE", "z", "a"),
    ("ZRANK", "z", "a"),
    ("ZMSCORE (Redis 6.2)", "z", "a", "b"),
    ("ZRANGE", "z", 0, -1),
    ("ZRANGEBYLEX", "z", "-", "+"),
    ("ZRANGEBYSCORE", "z", "-inf", "+inf"),
    ("ZRANDMEMBER (Redis 6.2)", "z", 1),
    ("ZREVRANGE", "z", 0, 0),
    ("ZREVRANGEBYSCORE", "z", "+inf", "-inf"),
    ("ZSCAN", "z", 0),
    ("ZREM", "z", "a"),
    ("SADD", "s", "a"),
    ("SISMEMBER", "s", "a"),
    ("SCARD", "s"),
    ("SSCAN", "s", 0),
    ("SRANDMEMBER", "s", 1),
    ("SREM", "s", "b"),
    ("SMISMEMBER (Redis 6.2)", "s", "a", "b"),
    ("XADD", "x", "MAXLEN", "~", 10, "1-1", "a", "1"),
    ("XLEN", "x"),
    ("XRANGE", "x", "-", "+"),
    ("XREVRANGE", "x", "+", "-", "COUNT", 1),
    ("XDEL", "x", "1-1"),
)  # fmt: skip


def commands(base: bytes) -> list[Probe]:
    """Return (function, call) for everything the library does, on fresh keys under `base`."""
    own = base + b":probe:" + os.urandom(6).hex().encode() + b":"
    keyed: list[Probe] = [
        (function, (function.split(" ")[0], own + kind.encode(), *rest))
        for function, kind, *rest in _KEYED
    ]
    ends: list[Probe] = [
        ("PEXPIRE", ("PEXPIRE", own + kind.encode(), _KEEP_MS))
        for kind in dict.fromkeys(kind for _, kind, *_ in _KEYED)
    ]
    loads: list[Probe] = [(f"SCRIPT LOAD {n}", ("SCRIPT", "LOAD", script(n).code)) for n in names()]
    return [
        ("TIME", ("TIME",)),
        *keyed,
        ("INFO", ("INFO", "server")),
        ("scripts with flags (#!lua, Redis 7.0)", ("SCRIPT", "LOAD", _LUA)),
        *ends,
        *loads,
        ("EVALSHA", ("EVALSHA", script("observe").sha, 1, base)),
    ]


def probe(client: Any, base: bytes) -> list[Failure]:
    """Try everything, one call after another; return what failed."""
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
    """Return the names of functions that failed for one reason; script loading counts as one."""
    found = list(dict.fromkeys(f.function for f in failures if f.trouble is trouble))
    loads = [name for name in found if name.startswith("SCRIPT LOAD")]
    rest = [name for name in found if name not in loads]
    return [*rest, f"SCRIPT LOAD ({len(loads)} scripts)"] if loads else rest
