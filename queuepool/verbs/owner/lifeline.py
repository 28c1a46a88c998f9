"""A process's lifeline: a connection that its kernel closes when it ends. Pure.

Its text is the run id of the server, the id of the connection there, and a number of the boot and
namespace in which the process has its pid ("" if unknown), joined by colons. A server never gives
an id twice in a run, so a connection that is not listed in that run is closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from queuepool.errors import QueuePoolError
from queuepool.verbs import Verb

_RUN_ID = re.compile(rb"^run_id:([0-9a-f]{1,64})\r?$", re.MULTILINE)
_LINE = re.compile(r"([0-9a-f]{1,64}):([1-9][0-9]{0,18}):([0-9]{0,20})")


def read_lifeline(ask: Callable[[Sequence[bytes]], Any], namespace: str = "") -> str:
    """Return the lifeline that a connection is, "" if the server does not tell.

    ask: sends a command on that connection, and returns its reply, or an error.
    """
    number, info = ask((b"CLIENT", b"ID")), ask((b"INFO", b"server"))
    run = _RUN_ID.search(info) if isinstance(info, bytes) else None
    if not run or not isinstance(number, int):
        return ""
    return f"{run[1].decode()}:{number}:{namespace}"


def namespace_of(lifeline: str) -> str:
    """Return the namespace of the pid, "" if it is unknown."""
    found = _LINE.fullmatch(lifeline)
    return found[3] if found else ""


def inspect(lifeline: str) -> list[Verb[Any]]:
    """Return what to ask the server about a lifeline, for `is_cut`; nothing if it is unknown."""
    found = _LINE.fullmatch(lifeline)
    if not found:
        return []
    listing: Verb[Any] = Verb("", [b"CLIENT", b"LIST", b"ID", found[2]], lambda r: r)
    return [listing, Verb("", [b"INFO", b"server"], lambda r: r)]


def is_cut(lifeline: str, verbs: Sequence[Verb[Any]], replies: Sequence[Any]) -> bool:
    """Return whether that connection is surely closed."""
    try:
        listed, info = (verb.read(reply) for verb, reply in zip(verbs, replies, strict=True))
    except (QueuePoolError, ValueError):
        return False
    found = _LINE.fullmatch(lifeline)
    run = _RUN_ID.search(info) if isinstance(info, bytes) else None
    if not found or not run or not isinstance(listed, bytes):
        return False
    return run[1].decode() == found[1] and not re.search(rb"\bid=%d\b" % int(found[2]), listed)
