"""One verb per script: the layout of its arguments, and the meaning of its reply. Pure.

A verb is bound to nothing: `server.run(base_key, [verb, ...])` sends any number of them in one
round trip, on a sync, an asyncio or an in-memory server alike.

    produce  enqueue, status, cancel, group       what applications need
    confirm  WAIT, WAITAOF and what they need     whether an enqueue is durable
    own      acquire ... claim ... finish         what the owner of a partition needs
    operate  observe, dead, replay, audit         what operators and the coordinator need
    lead     lead, command, checkpoint, record    what the leading coordinator needs
    route    route, peek                          how many partitions there are
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from queuepool.errors import FencedError, QueuePoolError, UndecodableError

T = TypeVar("T")
Argument = bytes | str | int | float

__all__ = ["Argument", "Verb", "fenced", "fields", "is_fenced", "number"]

_NUMBER = re.compile(rb"-?[0-9]{1,15}")  # valid counts have fewer digits, and survive a float
_PLAIN_DIGITS = 15


class Verb(msgspec.Struct, Generic[T], frozen=True, eq=False):
    """A script's name, its arguments after the base key, and the reading of its reply.

    script "": a plain server command; its words are the arguments.
    """

    script: str
    args: Sequence[Argument]
    parse: Callable[[Any], T]

    def read(self, reply: Any) -> T:
        """Return the reply as a typed value. Raises the reply if it is an error.

        Raises UndecodableError if a record in it is damaged.
        """
        if isinstance(reply, QueuePoolError):
            raise reply
        try:
            return self.parse(reply)
        except QueuePoolError:
            raise
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise UndecodableError(
                f"{self.script or 'a command'} returned an unreadable reply "
                f"({type(error).__name__}: {error}): "
                "another program or version may have written to these keys; run `queuepool "
                "check`"
            ) from error


def is_fenced(reply: Any) -> bool:
    """Return whether a reply rejects a replaced owner."""
    return type(reply) is list and bool(reply) and reply[0] == b"FENCED"


def fenced(reply: Any, what: str, epoch: int) -> Any:
    """Return the reply, or raise FencedError if there is a newer owner."""
    if is_fenced(reply):
        raise FencedError(what=what, epoch=epoch, current=number(reply[1]))
    return reply


class _Names(dict[bytes, str]):
    """Names of fields as text. A coordinator reads some fifty from each partition, in each cycle.

    Those that other programs wrote may be long or many: they are not kept.
    """

    def __missing__(self, name: bytes) -> str:
        text = name.decode("utf-8", "replace")
        if len(name) <= _LONGEST_NAME and len(self) < _MOST_NAMES:
            self[name] = text
        return text


_LONGEST_NAME, _MOST_NAMES = 40, 1000
_text_of = _Names().__getitem__


def fields(flat: Sequence[bytes]) -> dict[str, bytes]:
    """Return a flat [field, value, ...] reply as a dict with text keys, whatever their bytes."""
    return dict(zip(map(_text_of, flat[::2]), flat[1::2], strict=True))


def number(raw: bytes | int | None, default: int = 0) -> int:
    """Return a stored number; the default if it is missing or invalid."""
    if raw is None:
        return default
    if type(raw) is bytes and raw.isdigit() and len(raw) <= _PLAIN_DIGITS:  # nearly always
        return int(raw)
    if isinstance(raw, int):
        return raw
    return int(raw) if _NUMBER.fullmatch(raw) else default
