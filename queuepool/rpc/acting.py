"""Who acts, told to a coordinator beside a call, so that the log names a person. Imports no grpc.

    with acting("ada@desk", "command") as act:
        client.Hold(...)
    act.logged          # whether the coordinator keeps it in the log

A coordinator believes it, as it believes an operator's reason; it also keeps where the call came
from, and the names in its certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

BY: Final = "queuepool-by-bin"  # bytes, since names have more than ASCII
LOGGED: Final = "queuepool-logged"
_LONGEST = 1_000  # bytes


@dataclass
class Acting:
    """An act of somebody. via: by what. logged: whether a coordinator keeps it in the log."""

    who: str
    via: str
    why: str = ""
    logged: bool = False

    @property
    def entry(self) -> tuple[str, bytes]:
        """Return the metadata of a call."""
        told = "\n".join(" ".join(text.split()) for text in (self.who, self.via, self.why))
        return BY, told.encode(errors="backslashreplace")[:_LONGEST]


_current: ContextVar[Acting | None] = ContextVar("acting", default=None)


@contextmanager
def acting(who: str, via: str, why: str = "") -> Iterator[Acting]:
    """Tell the coordinators that are called in this block who acts."""
    act = Acting(who, via, why)
    token = _current.set(act)
    try:
        yield act
    finally:
        _current.reset(token)


def current() -> Acting | None:
    """Return who acts at the moment, if that is known."""
    return _current.get()


def reason() -> str:
    """Return the reason of who acts at the moment."""
    act = current()
    return "" if act is None else act.why


def told_by(metadata: Any) -> Acting | None:
    """Return who acts, as the metadata of a call say; None if they do not."""
    for key, value in metadata or ():
        if key == BY and isinstance(value, bytes):
            who, via, why, *_ = [*value[:_LONGEST].decode("utf-8", "replace").split("\n"), "", ""]
            return Acting(who, via, why) if who else None
    return None
